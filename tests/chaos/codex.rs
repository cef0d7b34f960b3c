//! The Codex of a storm: it is replaced by newer ones while tasks are under way, and looks at its version can be killed.

use std::path::PathBuf;
use std::time::Duration;

use ostler_codex::binary::Platform;
use ostler_testkit::{NEWEST, codex_binary, write_script};
use tokio::time::{Instant, sleep};

/// Each is upgraded to the next. An older Codex never opens what a newer one made, so there is no way back.
const VERSIONS: [&str; 3] = ["0.142.5", "0.166.0", NEWEST];

/// Somebody wants an app-server every few hundred milliseconds, as long as tasks are under way.
const PROBED_WITHIN: Duration = Duration::from_secs(5);

/// A package as npm lays it out, whose native binary is a script that becomes the real one.
pub(crate) struct CodexPackage {
    folder: PathBuf,
    native: PathBuf,
    /// The versions that it has one after the other.
    versions: Vec<String>,
    /// Which of them it has.
    now: usize,
}

impl CodexPackage {
    pub(crate) fn install(folder: PathBuf, version: &str) -> Self {
        let newer = VERSIONS.into_iter().skip_while(|known| *known != version).skip(1);
        let versions = [version].into_iter().chain(newer).map(str::to_owned).collect();
        let package = folder.join("node_modules/@openai/codex");
        let triple = Platform::current().unwrap().triple;
        let native = package.join("vendor").join(triple).join("bin/codex");
        std::fs::create_dir_all(native.parent().unwrap()).unwrap();
        std::fs::create_dir_all(package.join("bin")).unwrap();
        std::fs::write(package.join("bin/codex.js"), "#!/usr/bin/env node\n").unwrap();
        let installed = Self { folder: package, native, versions, now: 0 };
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

    /// Whether the next `codex --version` was killed. It is asked for again because the file is another.
    pub(crate) async fn kill_probe(&self) -> bool {
        let flag = self.flag();
        std::fs::write(&flag, "").unwrap();
        self.put();
        let deadline = Instant::now() + PROBED_WITHIN;
        while flag.exists() && Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        // Whoever removes it has it.
        std::fs::remove_file(&flag).is_err()
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
