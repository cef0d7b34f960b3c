//! The text of the units. Pure.

use std::ffi::OsString;
use std::path::Path;

use ostler_config::settings::Daemon;

use crate::failure::{Exit, Failure};

pub(super) const SERVICE: &str = "ostler.service";
pub(super) const SOCKET: &str = "ostler.socket";

/// The first words of every unit of ours: without them a file is not overwritten and not removed.
pub(super) const MARK: &str = "# Written by `ostler service install`";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    pub(super) text: String,
}

/// The socket, on which the manager listens also while no daemon runs, and the service behind it.
pub(super) fn units(
    program: &Path,
    daemon: &Daemon,
    variables: impl Iterator<Item = (&'static str, OsString)>,
) -> Result<[Unit; 2], Failure> {
    let program = quoted(text(program.as_os_str())?).replace('$', "$$");
    let listen = text(daemon.socket.as_os_str())?.replace('%', "%%");
    let watchdog = daemon
        .watchdog
        .map_or_else(String::new, |limit| format!("WatchdogSec={}\n", limit.as_secs()));
    let mut environment = String::new();
    for (name, value) in variables {
        let setting = quoted(&format!("{name}={}", text(&value)?));
        environment.push_str(&format!("Environment={setting}\n"));
    }
    let socket = format!(
        "{MARK}; `ostler service uninstall` removes it.\n\
         [Unit]\n\
         Description=Where Ostler's daemon is reached\n\
         \n\
         [Socket]\n\
         ListenStream={listen}\n\
         SocketMode=0600\n\
         DirectoryMode=0700\n\
         \n\
         [Install]\n\
         WantedBy=sockets.target\n"
    );
    let service = format!(
        "{MARK}; `ostler service uninstall` removes it.\n\
         [Unit]\n\
         Description=Ostler keeps OpenAI Codex at work\n\
         Requires={SOCKET}\n\
         After={SOCKET}\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={program} serve\n\
         ExecReload=kill -HUP $MAINPID\n\
         {watchdog}\
         Restart=on-failure\n\
         RestartSec=1\n\
         # Keepers and their turns outlive the daemon, also where they could not get a scope of their own.\n\
         KillMode=process\n\
         TimeoutStopSec=30\n\
         UMask=0077\n\
         {environment}\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    );
    Ok([Unit { name: SOCKET, text: socket }, Unit { name: SERVICE, text: service }])
}

fn text(value: &std::ffi::OsStr) -> Result<&str, Failure> {
    let text = value.to_str().filter(|text| !text.contains(char::is_control));
    text.ok_or_else(|| {
        let message = format!("{value:?} cannot stand in a unit file");
        Failure::new(Exit::Usage, message).hint("use a path of ordinary characters")
    })
}

/// As `systemd.syntax(7)` wants it; `%` begins a specifier.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_every_special_character_are_escaped() {
        let variables = [("PATH", OsString::from("/a \"b\":/c%d\\e"))].into_iter();
        let program = Path::new("/opt/my $tools/50%/ostler");
        let socket = "[daemon]\nsocket = \"/run/50%/s\"\nwatchdog = \"off\"\n";
        let config = ostler_config::parse(socket, &ostler_config::Surroundings::usual()).unwrap();
        let daemon = config.config.daemon;
        let [socket, service] = units(program, &daemon, variables).unwrap();
        assert!(!service.text.contains("WatchdogSec"), "{}", service.text);
        assert!(socket.text.contains("\nListenStream=/run/50%%/s\n"), "{}", socket.text);
        let start = "\nExecStart=\"/opt/my $$tools/50%%/ostler\" serve\n";
        assert!(service.text.contains(start), "{}", service.text);
        let path = "\nEnvironment=\"PATH=/a \\\"b\\\":/c%%d\\\\e\"\n";
        assert!(service.text.contains(path), "{}", service.text);
        let line = [("PATH", OsString::from("/a\nExecStartPre=/bin/x"))].into_iter();
        assert!(units(program, &daemon, line).is_err());
    }
}
