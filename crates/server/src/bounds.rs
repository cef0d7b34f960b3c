//! What an agent may have others do: nothing that it may not do itself.
//!
//! A task that an agent starts, forks or gives more to do works for that agent. With a wider sandbox, another folder to write in, or an MCP
//! server of the agent's own choice, which Codex starts outside of every sandbox, it would be a way around all that the agent is bound by.
//!
//! Which task an agent belongs to cannot be told for sure, only which app-server it runs below. So what it wishes for must be within
//! the rights of every task that is there at that moment; a task that is alone in its app-server (`isolate`) has its own as they are.

use std::path::{Path, PathBuf};

use ostler_engine::StoreError;
use ostler_model::AuditKind;
use ostler_model::task::{Approval, Sandbox, SandboxMode, TaskSettings};

use crate::caller::{Caller, Standing};
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;

/// Refuses an agent that wishes for a task with more rights than its own. The folders of what it may wish for are written out, so that
/// a link that it puts there later leads nowhere. The caller must have been looked at.
pub(crate) async fn check(
    office: &Office,
    caller: &Caller,
    wish: &mut TaskSettings,
) -> Result<(), Problem> {
    let Standing::Agent { why, .. } = &caller.standing else { return Ok(()) };
    let usual = office.usual();
    resolve(wish).await;
    let mut beyond = Vec::new();
    for own in &mut own(office, caller).await? {
        resolve(own).await;
        beyond.extend(excess(wish, own, &usual.settings));
    }
    if beyond.is_empty() {
        return Ok(());
    }
    beyond.sort();
    beyond.dedup();
    let detail = format!(
        "an agent may not have a task with more rights than its own: {}; the caller {why}",
        beyond.join(", ")
    );
    Err(Problem::new(Trouble::AgentRefused, detail).hint(
        "leave that out, or let a person start it; of several tasks in one app-server the least rights count, and `isolate` gives a task one of its own",
    ).audited(AuditKind::AgentRefused))
}

/// What the caller has itself; it must be within all of them.
async fn own(office: &Office, caller: &Caller) -> Result<Vec<TaskSettings>, StoreError> {
    let usual = &office.usual().settings;
    if let Standing::Agent { keeper: Some(keeper), .. } = &caller.standing {
        let tasks = office.engine.store().unfinished().await?.into_iter();
        let its = tasks.filter(|task| task.keeper.as_ref() == Some(keeper));
        let its: Vec<TaskSettings> = its.map(|task| task.settings).collect();
        if !its.is_empty() {
            return Ok(its);
        }
    }
    // A program with a token that cannot be looked at is more often in a container than in Codex's sandbox: it has what the
    // configuration gives to all.
    let is_unseen = caller.key.is_some() && caller.pid == 0;
    let sandbox = if is_unseen { usual.sandbox.clone() } else { Sandbox::default() };
    // Where it may write is not known, so no folder is too much for what it may at all.
    Ok(vec![TaskSettings { cwd: "/".to_owned(), sandbox, ..usual.clone() }])
}

async fn resolve(settings: &mut TaskSettings) {
    let Sandbox { writable_roots, .. } = &mut settings.sandbox;
    for folder in writable_roots.iter_mut().chain([&mut settings.cwd]) {
        // One that is not there is refused later, by whoever needs it.
        if let Ok(path) = tokio::fs::canonicalize(&folder).await
            && let Some(path) = path.to_str()
        {
            path.clone_into(folder);
        }
    }
}

/// What of a wish goes beyond these settings. What the configuration has for all tasks does not.
fn excess(wish: &TaskSettings, own: &TaskSettings, usual: &TaskSettings) -> Vec<String> {
    let mut beyond = Vec::new();
    let (wanted, had) = (&wish.sandbox, &own.sandbox);
    if rank(wanted.mode) > rank(had.mode) {
        beyond.push(format!("a sandbox that is wider than {}", name(had.mode)));
    } else if wanted.mode == SandboxMode::WorkspaceWrite && had.mode == SandboxMode::WorkspaceWrite
    {
        for folder in wanted.writable_roots.iter().chain([&wish.cwd]) {
            if !may_write(own, folder) {
                beyond.push(format!("to write in {folder}"));
            }
        }
    }
    if wanted.network && !had.network && had.mode != SandboxMode::DangerFullAccess {
        beyond.push("the network".to_owned());
    }
    if own.approval == Approval::Untrusted && wish.approval != Approval::Untrusted {
        beyond.push("to be asked about less".to_owned());
    }
    let is_known = |key: &String, value: &String| {
        [own, usual].iter().any(|settings| settings.config.get(key) == Some(value))
    };
    let strange = wish.config.iter().filter(|(key, value)| !is_known(key, value));
    beyond.extend(strange.map(|(key, _)| format!("the setting {key}")));
    if wish.codex.home != own.codex.home && wish.codex.home != usual.codex.home {
        beyond.push("another CODEX_HOME".to_owned());
    }
    beyond
}

/// The very folder, and none inside: what is inside an agent can replace by a link to anywhere, at any time.
fn may_write(own: &TaskSettings, folder: &str) -> bool {
    let plain = |folder: &str| Path::new(folder).components().collect::<PathBuf>();
    let mut folders = own.sandbox.writable_roots.iter().chain([&own.cwd]);
    own.cwd == "/" || folders.any(|known| plain(known) == plain(folder))
}

fn rank(mode: SandboxMode) -> u8 {
    match mode {
        SandboxMode::ReadOnly => 0,
        SandboxMode::WorkspaceWrite => 1,
        SandboxMode::DangerFullAccess => 2,
    }
}

fn name(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::DangerFullAccess => "danger-full-access",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(mode: SandboxMode, cwd: &str) -> TaskSettings {
        let sandbox = Sandbox { mode, ..Sandbox::default() };
        TaskSettings { cwd: cwd.to_owned(), sandbox, ..TaskSettings::default() }
    }

    #[test]
    fn nothing_goes_beyond_itself() {
        let usual = settings(SandboxMode::ReadOnly, "");
        for mode in
            [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess]
        {
            let mut own = settings(mode, "/inn");
            own.sandbox.writable_roots = vec!["/barn".to_owned()];
            own.config.insert("mcp_servers.x.command".to_owned(), "\"x\"".to_owned());
            own.codex.home = Some("/home/x".to_owned());
            assert_eq!(excess(&own, &own, &usual), [""; 0]);
            // Less is no more, and the folder does not matter for one that writes nothing.
            assert_eq!(excess(&settings(SandboxMode::ReadOnly, "/"), &own, &usual), [""; 0]);
        }
    }

    #[test]
    fn each_right_more_is_named() {
        let usual = settings(SandboxMode::ReadOnly, "");
        let own = settings(SandboxMode::WorkspaceWrite, "/inn");
        let with = |change: &dyn Fn(&mut TaskSettings)| {
            let mut wish = own.clone();
            change(&mut wish);
            excess(&wish, &own, &usual)
        };
        let full = with(&|wish| wish.sandbox.mode = SandboxMode::DangerFullAccess);
        assert_eq!(full, ["a sandbox that is wider than workspace-write"]);
        for folder in ["/", "/inn/stall", "/inn/..", "/inner"] {
            let elsewhere = with(&|wish| wish.cwd = folder.to_owned());
            assert_eq!(elsewhere, [format!("to write in {folder}")]);
            let beside = with(&|wish| wish.sandbox.writable_roots = vec![folder.to_owned()]);
            assert_eq!(beside, [format!("to write in {folder}")]);
        }
        assert_eq!(with(&|wish| wish.cwd = "/inn/".to_owned()), [""; 0]);
        assert_eq!(with(&|wish| wish.sandbox.network = true), ["the network"]);
        let server = "mcp_servers.x.command";
        let more = with(&|wish| drop(wish.config.insert(server.to_owned(), "\"sh\"".to_owned())));
        assert_eq!(more, ["the setting mcp_servers.x.command"]);
        let home = with(&|wish| wish.codex.home = Some("/inn/home".to_owned()));
        assert_eq!(home, ["another CODEX_HOME"]);
        let mut asked = own.clone();
        asked.approval = Approval::Untrusted;
        assert_eq!(excess(&own, &asked, &usual), ["to be asked about less"]);
    }
}
