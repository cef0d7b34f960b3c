//! What Codex's own git calls must not start.
//!
//! Codex looks at the repository of a working folder with git, outside of its sandbox. Up to 0.130.0 these calls run a program that the
//! repository's configuration names as `core.fsmonitor`, and they take a bare repository that lies inside of a clone for the folder's own,
//! with its configuration. From 0.142.5 on Codex says itself what is said here.
//!
//! All versions run `git status` at every turn. For a submodule that git finds, it starts another git inside, which runs the filters of
//! that repository's own configuration; and a command in the sandbox can put a repository where a submodule belongs. No setting prevents
//! it: `diff.ignoreSubmodules` yields to a `.gitmodules`, which the command can write, too. An option of `status` does not. So the first
//! git on Codex's `PATH` is a script of ours that adds the option, and leaves what commands call as it is.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use crate::binary::Environment;
use crate::protocol::CodexVersion;
use crate::protocol::versions::R0_142_5;

const SETTINGS: [(&str, &str); 2] =
    [("core.fsmonitor", "false"), ("safe.bareRepository", "explicit")];

/// The end of it is the path of the real git. Codex marks the environment of the commands that it runs.
const SCRIPT: &str = r#"#!/bin/sh
# Written by ostler. The git calls of Codex itself, which are outside of its sandbox, do not look into submodules.
if [ -z "${CODEX_THREAD_ID-}${CODEX_SANDBOX-}${CODEX_SANDBOX_NETWORK_DISABLED-}" ]; then
  value= command=
  for word; do
    shift
    set -- "$@" "$word"
    if [ -n "$command" ]; then continue; fi
    if [ -n "$value" ]; then value=; continue; fi
    case $word in
      -c|-C|--git-dir|--work-tree|--namespace|--config-env|--attr-source) value=yes ;;
      -*) ;;
      status|diff) command=$word; set -- "$@" --ignore-submodules=dirty; export GIT_NO_LAZY_FETCH=1 ;;
      *) command=$word ;;
    esac
  done
fi
exec "#;

/// Puts the script into a folder and this folder first on the `PATH`. Without a git there is nothing to do.
pub(super) fn wrap(variables: &mut [(OsString, OsString)], folder: &Path) -> io::Result<()> {
    let Some(git) = Environment::new(variables.iter().cloned()).find_executable("git") else {
        return Ok(());
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let script = folder.join("git");
    let mut text = SCRIPT.as_bytes().to_vec();
    text.push(b'\'');
    for byte in git.as_os_str().as_bytes() {
        match byte {
            b'\'' => text.extend(br"'\''"),
            byte => text.push(*byte),
        }
    }
    text.extend(b"' \"$@\"\n");
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
    for (_, value) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
        let mut path = folder.as_os_str().to_owned();
        path.push(":");
        path.push(&*value);
        *value = path;
    }
    Ok(())
}

/// Adds the settings to the environment of a Codex that needs them, behind what is there. All below it has them, too.
pub(super) fn tame(variables: &mut Vec<(OsString, OsString)>, version: Option<&str>) {
    let version = version.and_then(CodexVersion::parse);
    if version.is_some_and(|version| version.is_at_least(R0_142_5)) {
        return;
    }
    let place = variables.iter().position(|(name, _)| name == "GIT_CONFIG_COUNT");
    let count = place.map(|place| variables.remove(place).1);
    let count = count.and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    for (at, (key, value)) in (count..).zip(SETTINGS) {
        variables.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    let all = (count + SETTINGS.len()).to_string();
    variables.push(("GIT_CONFIG_COUNT".into(), all.into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tamed(given: &[(&str, &str)], version: Option<&str>) -> Vec<String> {
        let mut variables: Vec<(OsString, OsString)> =
            given.iter().map(|(name, value)| (name.into(), value.into())).collect();
        tame(&mut variables, version);
        variables
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    /// In a folder with a quote in its name.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "git is where the test's own PATH says")]
    fn only_codex_s_own_calls_leave_submodules_alone() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let real = at("it's real/git");
        fs::create_dir(at("it's real")).unwrap();
        let found = Environment::new([("PATH".into(), std::env::var_os("PATH").unwrap())])
            .find_executable("git")
            .unwrap();
        std::os::unix::fs::symlink(found, real).unwrap();
        let mut variables = vec![(OsString::from("PATH"), at("it's real").into_os_string())];
        variables[0].1.push(":/usr/bin:/bin");
        wrap(&mut variables, &at("wrapped")).unwrap();
        assert!(variables[0].1.as_bytes().starts_with(at("wrapped").as_os_str().as_bytes()));

        let git = |marks: &[(&str, &str)], folder: &str, arguments: &[&str]| {
            let mut git = std::process::Command::new(at("wrapped/git"));
            git.args(arguments).current_dir(at(folder)).env_clear().envs(variables.clone());
            let done = git.env("HOME", place.path()).envs(marks.iter().copied()).output().unwrap();
            assert!(done.status.success(), "{arguments:?}: {done:?}");
            String::from_utf8(done.stdout).unwrap()
        };
        let user = ["-c", "user.name=status", "-c", "user.email=diff"];
        fs::create_dir_all(at("top/sub")).unwrap();
        for folder in ["top/sub", "top"] {
            git(&[], folder, &["init", "-q"]);
            fs::write(at(folder).join("file"), "one\n").unwrap();
            let modules = "[submodule \"s\"]\n\tpath = sub\n\turl = x\n\tignore = none\n";
            fs::write(at(folder).join(".gitmodules"), modules).unwrap();
            git(&[], folder, &["add", "."]);
            git(&[], folder, &[&user[..], &["commit", "-q", "-m", "status"]].concat());
        }
        fs::write(at("top/sub/file"), "two\n").unwrap();
        fs::write(at("top/file"), "two\n").unwrap();
        let own = ["-c", "core.fsmonitor=false", "status", "--porcelain"];
        assert_eq!(git(&[], "top", &own), " M file\n");
        assert_eq!(git(&[], "top", &["diff", "--name-only", "HEAD"]), "file\n");
        for mark in ["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"] {
            assert_eq!(git(&[(mark, "1")], "top", &own), " M file\n M sub\n");
        }
        // Who says it sees it.
        let asked = [&own[..], &["--ignore-submodules=none"]].concat();
        assert_eq!(git(&[], "top", &asked), " M file\n M sub\n");
    }

    #[test]
    fn an_old_codex_is_told_and_what_the_user_says_stays() {
        let own = ["GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false"];
        let bare = ["GIT_CONFIG_KEY_1=safe.bareRepository", "GIT_CONFIG_VALUE_1=explicit"];
        let all = [&own[..], &bare[..], &["GIT_CONFIG_COUNT=2"]].concat();
        assert_eq!(tamed(&[], Some("0.130.0")), all);
        assert_eq!(tamed(&[], None), all);
        assert_eq!(tamed(&[], Some("0.142.5")), [""; 0]);
        assert_eq!(tamed(&[], Some("0.169.0")), [""; 0]);
        let given =
            [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")];
        assert_eq!(
            tamed(&given, Some("0.130.0")),
            [
                "GIT_CONFIG_KEY_0=a.b",
                "GIT_CONFIG_VALUE_0=c",
                "GIT_CONFIG_KEY_1=core.fsmonitor",
                "GIT_CONFIG_VALUE_1=false",
                "GIT_CONFIG_KEY_2=safe.bareRepository",
                "GIT_CONFIG_VALUE_2=explicit",
                "GIT_CONFIG_COUNT=3",
            ]
        );
    }
}
