//! The bubblewrap that Codex brings along for its own sandbox.

use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::environment::{Environment, is_executable_file};
use super::platform::{Platform, native_binary};
use super::resolve::Settings;

/// It lies beside the folder of the native binary, in every version that has it.
const SHIPPED: &str = "codex-resources/bwrap";

/// Every one that a Codex known here brings along, in the order in which a Codex is chosen. No program is started to find them.
#[must_use]
pub fn shipped_bubblewraps(
    settings: &Settings,
    cache: &Cache,
    environment: &Environment,
) -> Vec<PathBuf> {
    let platform = Platform::current().ok();
    let native = |path: PathBuf| platform.and_then(|it| native_binary(&path, it).ok());
    let configured = settings.path.clone().and_then(native);
    let version = settings.version.as_ref().and_then(|version| cache.installed(version).ok()?);
    let on_path = environment.find_executable("codex").and_then(native);
    let listed = cache.list().unwrap_or_default().into_iter();
    let listed = listed.filter_map(|listed| Some(listed.state.ok()?.binary));
    let binaries = configured.into_iter().chain(version.map(|it| it.binary));
    let binaries = binaries.chain(on_path).chain(listed);
    let mut found: Vec<PathBuf> = Vec::new();
    for binary in binaries {
        if let Some(program) = beside(&binary)
            && !found.contains(&program)
        {
            found.push(program);
        }
    }
    found
}

fn beside(binary: &Path) -> Option<PathBuf> {
    let real = binary.canonicalize().ok()?;
    let folders = real.ancestors().skip(1).take(2);
    folders.map(|folder| folder.join(SHIPPED)).find(|program| is_executable_file(program))
}

#[cfg(test)]
mod tests {
    use ostler_testkit::write_script;

    use super::{Settings, shipped_bubblewraps};
    use crate::binary::{Cache, Environment};

    #[test]
    fn it_is_found_beside_a_codex_that_was_named_or_is_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["named/bin", "named/codex-resources", "path", "bare"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let put = |name: &str, text: &str| {
            write_script(&root.join(name), text, 0o755).unwrap();
            root.join(name)
        };
        let codex = put("named/bin/codex", "no script");
        let bwrap = put("named/codex-resources/bwrap", "");
        let bare = put("bare/codex", "no script");
        std::os::unix::fs::symlink(&codex, root.join("path/codex")).unwrap();
        let cache = Cache::new(root.join("cache"));
        let found = |path, on_path: &str| {
            let path_variable = root.join(on_path).into_os_string();
            let environment = Environment::new([("PATH".into(), path_variable)]);
            shipped_bubblewraps(&Settings { path, version: None }, &cache, &environment)
        };

        assert_eq!(found(Some(codex), "path"), std::slice::from_ref(&bwrap), "each once");
        assert_eq!(found(None, "path"), [bwrap], "through the link");
        assert_eq!(found(Some(bare), "bare"), [] as [std::path::PathBuf; 0]);
    }
}
