//! Starting through the user's service manager, where there is one.
//!
//! A service manager ends everything in a service's control group when the service restarts. If such a service starts
//! a keeper, only a scope unit of its own takes the keeper out of that group.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::folder::KeeperId;

/// How to start a command in a scope of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) unit: String,
    program: PathBuf,
}

impl Scope {
    /// The service manager that `environment` leads to, if it can be reached.
    pub(super) fn find(environment: &[(OsString, OsString)], id: &KeeperId) -> Option<Self> {
        let runtime = variable(environment, "XDG_RUNTIME_DIR")?;
        let socket = fs::metadata(Path::new(runtime).join("systemd/private")).ok()?;
        if !socket.file_type().is_socket() {
            return None;
        }
        let path = variable(environment, "PATH")?;
        let program = std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("systemd-run"))
            .find(|candidate| is_executable(candidate))?;
        Some(Self { unit: format!("ostler-keeper-{id}.scope"), program })
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// What stands before the command itself.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let unit = format!("--unit={}", self.unit);
        let fixed = ["--user", "--scope", "--quiet", "--collect", &unit, "--"];
        fixed.map(OsString::from).to_vec()
    }
}

fn variable<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = environment.iter().find(|(candidate, _)| candidate == name);
    found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_scope_needs_the_manager_s_socket_and_its_program() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let id = KeeperId::parse("0123abcd").unwrap();
        let environment = [
            ("XDG_RUNTIME_DIR".into(), place.into()),
            ("PATH".into(), std::env::join_paths([Path::new("relative"), place]).unwrap()),
        ];
        let program = place.join("systemd-run");
        fs::write(&program, "").unwrap();
        assert_eq!(Scope::find(&environment, &id), None);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(Scope::find(&environment, &id), None);
        fs::create_dir(place.join("systemd")).unwrap();
        let _listener = UnixListener::bind(place.join("systemd/private")).unwrap();
        let scope = Scope::find(&environment, &id).unwrap();
        assert_eq!(scope.program(), program);
        assert_eq!(
            scope.arguments(),
            [
                "--user",
                "--scope",
                "--quiet",
                "--collect",
                "--unit=ostler-keeper-0123abcd.scope",
                "--"
            ]
        );
        assert_eq!(Scope::find(&environment[..1], &id), None);
    }
}
