//! The Codex of a storm: it is replaced by newer ones while tasks are under way, and looks at its version can be killed.

use std::path::{Path, PathBuf};

use ostler_codex::binary::Platform;
use ostler_testkit::{NEWEST, codex_binary, write_script};

/// Each is upgraded to the next. An older Codex never opens what a newer one made, so there is no way back.
const VERSIONS: [&str; 3] = ["0.142.5", "0.166.0", NEWEST];

/// A package as npm lays it out, whose native binary is a script that becomes the real one.
pub(crate) struct CodexPackage {
    folder: PathBuf,
    native: PathBuf,
    /// The versions that it has one after the other.
    versions: Vec<String>,
    /// Which of them it has.
    now: usize,
    /// Whether the next `codex --version` is to be killed, or was.
    is_armed: bool,
}

impl CodexPackage {
    pub(crate) fn install(folder: &Path, version: &str) -> Self {
        let newer = VERSIONS.into_iter().skip_while(|known| *known != version).skip(1);
        let versions = [version].into_iter().chain(newer).map(str::to_owned).collect();
        let package = folder.join("node_modules/@openai/codex");
        let triple = Platform::current().unwrap().triple;
        let native = package.join("vendor").join(triple).join("bin/codex");
        std::fs::create_dir_all(native.parent().unwrap()).unwrap();
        std::fs::create_dir_all(package.join("bin")).unwrap();
        std::fs::write(package.join("bin/codex.js"), "#!/usr/bin/env node\n").unwrap();
        let installed = Self { folder: package, native, versions, now: 0, is_armed: false };
        installed.put();
        installed
    }

    /// What `[codex] path` says.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join("bin/codex.js")
    }

    /// All versions that it has had.
    pub(crate) fn had(&self) -> &[String] {
        &self.versions[..=self.now]
    }

    /// Replaces the binary by the next version if this part of the storm is its, or else by another file of the same version.
    pub(crate) fn upgrade(&mut self, hits: u64, wanted: u64) {
        let due = self.versions.len() * hits as usize / wanted as usize;
        // After that too few tasks are started.
        let is_early = hits * 5 < wanted * 4;
        if is_early && self.now < due {
            self.now += 1;
        }
        self.put();
    }

    /// From now on the next `codex --version` is killed. It is asked for again because the file is another.
    pub(crate) fn arm_probe(&mut self) {
        if !self.is_armed {
            std::fs::write(self.flag(), "").unwrap();
            self.put();
            self.is_armed = true;
        }
    }

    /// Whether one has been killed since that was asked last.
    pub(crate) fn probe_was_killed(&mut self) -> bool {
        let was_killed = self.is_armed && !self.flag().exists();
        self.is_armed &= !was_killed;
        was_killed
    }

    /// The next one that is asked for its version removes it and dies.
    fn flag(&self) -> PathBuf {
        self.folder.join("probe-dies")
    }

    /// From one moment to the next, as an upgrade does.
    fn put(&self) {
        let binary = codex_binary(&self.versions[self.now]).unwrap();
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && rm '{}' 2>/dev/null && kill -KILL $$\nexec '{}' \"$@\"\n",
            self.flag().display(),
            binary.display()
        );
        let new = self.native.with_extension("new");
        write_script(&new, &text, 0o755).unwrap();
        std::fs::rename(&new, &self.native).unwrap();
    }
}
