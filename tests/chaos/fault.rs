//! What can go wrong in a storm.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// SIGKILL to the daemon, which is started again.
    KillDaemon,
    /// SIGTERM to the daemon, as from `ostler daemon stop` and systemd.
    StopDaemon,
    /// SIGKILL to a keeper.
    KillKeeper,
    /// SIGKILL to a Codex.
    KillAppServer,
    /// SIGSTOP to a keeper, and SIGCONT some seconds later.
    FreezeKeeper,
    /// SIGSTOP to a Codex, and SIGCONT some seconds later.
    FreezeAppServer,
    /// The runtime folder is removed with all sockets in it.
    RemoveRuntimeFolder,
    /// Codex is replaced by a newer one, or by another file where no newer one is left.
    UpgradeCodex,
    /// SIGKILL to a Codex that is asked for its version.
    KillProbe,
    /// The model refuses the login until there is another one.
    ChangeLogin,
    /// The model cannot be reached, or answers with an error of its server, for some seconds.
    ModelOutage,
}

impl Fault {
    const ALL: [(Self, &str); 11] = [
        (Self::KillDaemon, "kill-daemon"),
        (Self::StopDaemon, "stop-daemon"),
        (Self::KillKeeper, "kill-keeper"),
        (Self::KillAppServer, "kill-app-server"),
        (Self::FreezeKeeper, "freeze-keeper"),
        (Self::FreezeAppServer, "freeze-app-server"),
        (Self::RemoveRuntimeFolder, "remove-runtime-folder"),
        (Self::UpgradeCodex, "upgrade-codex"),
        (Self::KillProbe, "kill-probe"),
        (Self::ChangeLogin, "change-login"),
        (Self::ModelOutage, "model-outage"),
    ];

    /// The faults named by `list`, separated by commas; `all` names every one.
    pub(crate) fn list(list: &str) -> Result<Vec<Self>, String> {
        if list == "all" {
            return Ok(Self::ALL.map(|(fault, _)| fault).to_vec());
        }
        list.split(',').map(Self::from_str).collect()
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        let names = Self::ALL.map(|(_, known)| known).join(", ");
        found
            .map(|(fault, _)| fault)
            .ok_or(format!("no fault {name:?}; there are {names}, and all"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.into_iter().find(|(fault, _)| fault == self).map(|(_, name)| name);
        f.write_str(name.unwrap_or("unknown"))
    }
}
