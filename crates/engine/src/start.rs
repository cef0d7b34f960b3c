//! What a task is started with, checked before anything is written. All that is wrong is said at once.

mod home;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ostler_codex::thread::settings::{names_program, widens_nothing};
use ostler_model::Input;
use ostler_model::TaskId;
use ostler_model::task::{Approval, ForkedFrom, SandboxMode, TaskSettings};
use serde::Serialize;
use sha2::{Digest, Sha256};

pub use self::home::Homes;
use crate::refusal::{Problem, Refusal};
use crate::translate;

#[derive(Debug, Clone)]
pub struct StartTask {
    pub settings: TaskSettings,
    pub input: Input,
    /// Who starts it.
    pub by: String,
    /// The same start again is the same task.
    pub key: Option<String>,
    pub forked_from: Option<ForkedFrom>,
    /// Chosen before, where something is named after it.
    pub id: Option<TaskId>,
    /// Whether it works in a git worktree of its own, made from the repository that its folder is in.
    pub worktree: bool,
}

/// What the operator allows by name.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    pub danger_full_access: bool,
    pub approval_never: bool,
    /// Keys of Codex's configuration, each with all below it, that tasks may set although they name programs.
    pub config: Vec<String>,
    pub own_config: OwnConfig,
    pub homes: Homes,
}

/// Whether a key with this value is what the operator's own settings give to threads. It is asked each time: they change without us.
#[derive(Clone)]
pub struct OwnConfig(Arc<IsOwn>);

type IsOwn = dyn Fn(&str, &str) -> bool + Send + Sync;

impl OwnConfig {
    pub fn new(is_own: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_own))
    }
}

impl Default for OwnConfig {
    fn default() -> Self {
        Self::new(|_, _| false)
    }
}

impl fmt::Debug for OwnConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnConfig")
    }
}

impl Allowed {
    /// Those keys that would start programs, or lead elsewhere, and that the operator has not named.
    fn foreign_programs<'a>(&self, config: &'a BTreeMap<String, String>) -> Vec<&'a str> {
        let is_foreign = |(key, value): &(&String, &String)| {
            names_program(key) && !self.is_operator_s(key, value)
        };
        config.iter().filter(is_foreign).map(|(key, _)| key.as_str()).collect()
    }

    /// Those keys that are not known to leave a thread's rights as they are, and that the operator has not named.
    pub(crate) fn widening<'a>(&self, config: &'a BTreeMap<String, String>) -> Vec<&'a str> {
        let is_wide = |(key, value): &(&String, &String)| {
            !widens_nothing(key, value) && !self.is_operator_s(key, value)
        };
        config.iter().filter(is_wide).map(|(key, _)| key.as_str()).collect()
    }

    fn is_operator_s(&self, key: &str, value: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with('.');
        let is_named =
            self.config.iter().any(|known| key.strip_prefix(known.as_str()).is_some_and(below));
        is_named || (self.own_config.0)(key, value)
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    settings: &'a TaskSettings,
    input: &'a Input,
    forked_from: &'a Option<ForkedFrom>,
    worktree: bool,
}

impl StartTask {
    /// Of all that was asked for, so that a key that is used for something else is noticed.
    pub(crate) fn digest(&self) -> String {
        let Self { settings, input, forked_from, worktree, .. } = self;
        let asked = Asked { settings, input, forked_from, worktree: *worktree };
        let asked = serde_json::to_vec(&asked).unwrap_or_default();
        Sha256::digest(asked).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// `problems` has what is wrong with whom it tells. `others` are the tasks that are not over.
pub(crate) fn check(
    wish: &StartTask,
    allowed: &Allowed,
    others: &[TaskSettings],
    mut problems: Vec<Problem>,
) -> Result<(), Refusal> {
    let mut problem =
        |what: &str, message: String| problems.push(Problem { what: what.to_owned(), message });
    if let Err(Refusal::Invalid { problems }) = check_input(&wish.input) {
        for found in problems {
            problem(&found.what, found.message);
        }
    }
    let settings = &wish.settings;
    check_folder("cwd", &settings.cwd, &mut problem);
    for root in &settings.sandbox.writable_roots {
        check_folder("writable_roots", root, &mut problem);
    }
    if settings.sandbox.mode == SandboxMode::DangerFullAccess && !allowed.danger_full_access {
        problem(
            "sandbox",
            "danger-full-access is not allowed here; the operator allows it with `allow_danger_full_access = true` \
             in [tasks]"
                .to_owned(),
        );
    }
    if settings.approval == Approval::Never && !allowed.approval_never {
        problem(
            "approval",
            "never is not allowed here; the operator allows it with `allow_approval_never = true` in [tasks]".to_owned(),
        );
    }
    // A copy has what its parent was allowed when that was started.
    if wish.forked_from.is_none() {
        for key in allowed.foreign_programs(&settings.config) {
            let message = format!(
                "{key} makes Codex start programs, run their tools unasked, or send what it knows elsewhere, outside of the sandbox; the \
                 operator allows it with `allow_config = [{key:?}]` in [tasks]"
            );
            problem("config", message);
        }
    }
    for (what, message) in allowed.homes.problems(settings, wish.worktree, others) {
        problem(what, message);
    }
    if settings.sandbox.mode != SandboxMode::WorkspaceWrite
        && !settings.sandbox.writable_roots.is_empty()
    {
        problem(
            "writable_roots",
            "more folders can be writable only with sandbox workspace-write".to_owned(),
        );
    }
    let budget = settings.budget;
    if budget.tokens == Some(0) || budget.work_ms == Some(0) || budget.turns == Some(0) {
        problem(
            "budget",
            "a budget of nothing lets nothing be done; leave it out or give a number".to_owned(),
        );
    }
    match translate::thread_settings(settings) {
        Err(error) => problem("config", error.to_string()),
        Ok(translated) => {
            if let Err(error) = translated.check() {
                problem("settings", error.to_string());
            }
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Invalid { problems }),
    }
}

pub(crate) fn check_input(input: &Input) -> Result<(), Refusal> {
    let checked = translate::turn_input(input).map_err(|error| error.to_string());
    let checked = checked.and_then(|input| input.check().map_err(|error| error.to_string()));
    checked.map_err(|message| Refusal::Invalid {
        problems: vec![Problem { what: "prompt".to_owned(), message }],
    })
}

fn check_folder(what: &str, folder: &str, problem: &mut impl FnMut(&str, String)) {
    let path = Path::new(folder);
    if !path.is_absolute() {
        problem(what, format!("{folder:?} is not absolute; write the whole path"));
    } else if !path.is_dir() {
        problem(what, format!("{folder} is no folder; make it first"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(keys: &[(&str, &str)]) -> BTreeMap<String, String> {
        keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_what_the_operator_names_or_gives_starts_programs() {
        let allowed = Allowed {
            config: vec!["notify".to_owned(), "mcp_servers.oats".to_owned()],
            own_config: OwnConfig::new(|key, value| (key, value) == ("mcp_servers.hay", "{}")),
            ..Allowed::default()
        };
        let asked = config(&[
            ("model_verbosity", "\"low\""),
            ("mcp_servers.hay", "{}"),
            ("mcp_servers.oats.command", "\"sh\""),
            ("notify", "[]"),
        ]);
        assert_eq!(allowed.foreign_programs(&asked), [""; 0]);
        let asked = config(&[
            ("mcp_servers.hay", "{\"command\":\"sh\"}"),
            ("mcp_servers.oatsmeal.command", "\"sh\""),
            ("hooks", "{}"),
        ]);
        let refused = ["hooks", "mcp_servers.hay", "mcp_servers.oatsmeal.command"];
        assert_eq!(allowed.foreign_programs(&asked), refused);
        let asked = config(&[
            ("features.apps", "true"),
            ("mcp_servers.hay", "{}"),
            ("mcp_servers.oats.enabled", "true"),
            ("mcp_servers.rye.enabled", "true"),
            ("model_verbosity", "\"low\""),
        ]);
        assert_eq!(allowed.widening(&asked), ["features.apps", "mcp_servers.rye.enabled"]);
    }
}
