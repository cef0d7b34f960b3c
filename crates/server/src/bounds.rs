//! What an agent may have others do: nothing that it may not do itself.
//!
//! A task that an agent starts, forks or gives more to do works for that agent. With a wider sandbox, another folder to write in, or an MCP
//! server of the agent's own choice, which Codex starts outside of every sandbox, it would be a way around all that the agent is bound by.
//!
//! Which task an agent belongs to cannot be told for sure, only which app-server it runs below. So what it wishes for must be within
//! the rights of every task that is there at that moment; a task that is alone in its app-server (`isolate`) has its own as they are.
//!
//! Git runs outside of the sandbox in the folder of a task, by Codex and by us, with the programs that the repository there names. So
//! an agent gets no task in a folder where an agent could have made that repository, and no worktree.

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
    if !is_known_place(office, caller, &wish.cwd).await? {
        beyond.push(format!("to work in {}, whose repository may be made by an agent", wish.cwd));
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
        "leave that out, name the working folder or the repository of your own task, or let a person start it; of several tasks in one app-server the least rights count, and `isolate` gives a task one of its own",
    ).audited(AuditKind::AgentRefused))
}

/// Refuses a worktree to an agent: git checks the files out with the filters that the repository names, outside of every sandbox.
pub(crate) fn may_have_worktree(caller: &Caller) -> Result<(), Problem> {
    match &caller.standing {
        Standing::Agent { why, .. } => {
            let detail = format!("an agent may not have a git worktree made: the caller {why}");
            Err(Problem::new(Trouble::AgentRefused, detail)
                .hint("leave `worktree` out, or let a person start the task")
                .audited(AuditKind::AgentRefused))
        }
        Standing::Person => Ok(()),
    }
}

/// Whether no agent can have made the repository that git would find from this folder. A command in a sandbox can hardly be looked
/// at, so it may belong to any task that has not ended.
async fn is_known_place(office: &Office, caller: &Caller, cwd: &str) -> Result<bool, StoreError> {
    let own = own(office, caller).await?;
    if own.iter().all(|own| own.sandbox.mode == SandboxMode::DangerFullAccess) {
        return Ok(true);
    }
    let tasks = office.engine.store().unfinished().await?.into_iter();
    let mut tasks: Vec<TaskSettings> = tasks.map(|task| task.settings).collect();
    let is_below_none = matches!(caller.standing, Standing::Agent { keeper: None, .. });
    if tasks.is_empty() && is_below_none && office.engine.has_no_keeper().await {
        // Nothing of ours runs, so the caller is no agent of ours.
        return Ok(true);
    }
    for task in &mut tasks {
        resolve(task).await;
    }
    let cwd = PathBuf::from(cwd);
    let look = tokio::task::spawn_blocking(move || is_place_of(&cwd, &tasks));
    // A look that fails has found nothing.
    Ok(look.await.unwrap_or(false))
}

/// Whether it is the folder of one of these tasks, or in the same repository, and below nothing that one of them may write in: what is
/// there an agent can replace at any time.
fn is_place_of(cwd: &Path, tasks: &[TaskSettings]) -> bool {
    let is_below_writable = |task: &TaskSettings| {
        let roots = task.sandbox.writable_roots.iter().chain([&task.cwd]);
        let mut roots = roots.map(Path::new);
        task.sandbox.mode == SandboxMode::WorkspaceWrite
            && roots.any(|root| cwd.starts_with(root) && cwd != root)
    };
    let top = repository_of(cwd);
    let is_same = |task: &TaskSettings| {
        let other = Path::new(&task.cwd);
        cwd == other || (top.is_some() && top == repository_of(other))
    };
    cwd.is_dir() && tasks.iter().any(is_same) && !tasks.iter().any(is_below_writable)
}

/// The top of the repository that git finds from a folder. An empty `.git`, as Codex's sandbox leaves it in `/tmp`, is none.
fn repository_of(folder: &Path) -> Option<&Path> {
    let is_repository = |git: PathBuf| git.is_file() || git.join("HEAD").symlink_metadata().is_ok();
    folder.ancestors().find(|above| is_repository(above.join(".git")))
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
    // Where it may write is not known, so no folder is too much for what it may at all. A command of a task can see to it that it
    // is not found, so a program with a token has no more than that, unless `unseen_may_decide` makes it a person.
    let sandbox = Sandbox::default();
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
    fn a_repository_that_an_agent_can_make_is_no_place_for_its_task() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let at = |name: &str| top.join(name).display().to_string();
        for made in ["repo/.git", "repo/inn/nest/.git", "repo/docs", "other/.git", "plain/sub"] {
            std::fs::create_dir_all(top.join(made)).unwrap();
        }
        for made in ["repo", "repo/inn/nest", "other"] {
            std::fs::write(top.join(made).join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        // Codex's sandbox makes one where it lets commands write.
        std::fs::create_dir(top.join(".git")).unwrap();
        let tasks = [
            settings(SandboxMode::WorkspaceWrite, &at("repo/inn")),
            settings(SandboxMode::ReadOnly, &at("plain")),
        ];
        let is_place = |name: &str| is_place_of(&top.join(name), &tasks);
        for name in ["repo", "repo/inn", "repo/docs", "plain"] {
            assert!(is_place(name), "{name}");
        }
        for name in ["repo/inn/nest", "repo/inn/new", "repo/new", "other", "plain/sub", "."] {
            assert!(!is_place(name), "{name}");
        }
        // Another task may write there.
        let wide = settings(SandboxMode::WorkspaceWrite, &at("."));
        let wide = [tasks[0].clone(), wide];
        assert!(!is_place_of(&top.join("repo/docs"), &wide));
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
