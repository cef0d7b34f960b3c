//! What the configuration means for the engine. Pure, but for the places and the environment that it is given.

use std::time::Duration;

use jiff::Timestamp;
use ostler_codex::binary::{Cache, Environment, Settings};
use ostler_config::Config;
use ostler_config::settings as config;
use ostler_engine::{
    Allowed, Approver, Binaries, EngineSettings, Homes, OwnConfig, OwnServer, PoolSettings,
    PoolWaits, Retention, StoredSecrets, WorktreeSettings,
};
use ostler_model::ask::Sandboxing;
use ostler_model::policy::{Effect, Folder, HostPattern, Matcher, Rule, RuleError, Scope, Words};
use ostler_model::task::{
    Approval, Budget, CodexChoice, OnCrash, Sandbox, SandboxMode, TaskSettings, Unattended,
};
use ostler_model::thread::OnStall;
use ostler_model::{RuleId, TaskState};
use ostler_server::{PrivateFiles, Usual};
use serde_json::Value;

use super::notify_settings;
use crate::commands::keeper::READY_DEADLINE;
use crate::failure::{Exit, Failure};
use crate::folder_trust;
use crate::overlay;
use crate::places::{self, Places};
use crate::running::own_program;
use crate::stored_secrets;

/// The MCP server that offers our tools to Codex: `ostler tools-mcp`, by this name in Codex's config.
const OWN_SERVER: &str = "ostler-tools";
const OWN_SERVER_COMMAND: &str = "tools-mcp";

pub(super) fn engine(places: &Places, config: &Config) -> Result<EngineSettings, Failure> {
    let environment = places::environment();
    let codex = &config.codex;
    let limits = &config.limits;
    let binaries = Binaries::new(
        Settings { path: codex.path.clone(), version: codex.version.clone() },
        Cache::new(places.codex_cache()),
        Environment::new(environment.clone()),
    );
    let pass = config.environment.pass.iter().map(|name| name.as_str().to_owned());
    Ok(EngineSettings {
        pool: PoolSettings {
            keepers: places.keepers(),
            program: own_program()?,
            environment,
            keep: pass.collect(),
            stored: stored(places),
            binaries,
            threads_per_server: number(limits.threads_per_app_server),
            memory_per_server: limits.memory_per_app_server.map(|size| size.bytes()),
            open_files_per_server: Some(limits.open_files_per_app_server.into()),
            idle_server: limits.idle_app_server,
            ready_deadline: READY_DEADLINE,
            waits: PoolWaits::default(),
        },
        running: number(limits.running),
        running_per_pool: number(limits.running_per_pool),
        queued: number(limits.queued),
        idle_thread: limits.idle_thread,
        approver: approver(&config.approver),
        own_server: Some(own_server()?),
        written_server: overlay::written_server,
        trust: Some(folder_trust::file(places)),
        rules: rules(&config.policy)?,
        allowed: Allowed {
            danger_full_access: config.tasks.allow_danger_full_access,
            approval_never: config.tasks.allow_approval_never,
            config: config.tasks.allow_config.clone(),
            homes: homes(places, config),
            own_config: migrated(places, config)?,
        },
        changes: places.changes(),
        worktrees: WorktreeSettings {
            folder: config.worktree.folder.clone(),
            branch_prefix: config.worktree.branch_prefix.as_str().to_owned(),
        },
        notify: notify_settings::notify(config)?,
    })
}

/// The secrets that `ostler migrate` has stored for its servers.
fn stored(places: &Places) -> StoredSecrets {
    let places = places.clone();
    StoredSecrets::new(move |home, config| stored_secrets::given(&places, home, config))
}

/// The servers that `ostler migrate` keeps: those that tasks have by default, and those of this moment, which a chat brings along; and our
/// own, for whomever it works.
fn migrated(places: &Places, config: &Config) -> Result<OwnConfig, Failure> {
    let own = own_server()?;
    let usual = usual(places, config).settings.config;
    let places = places.clone();
    Ok(OwnConfig::new(move |key, value| {
        let is_it = |known: &String| known == value;
        (own.is_brought_by(key, value) && says_only_for_whom(value))
            || usual.get(key).is_some_and(is_it)
            || overlay::overrides(&places).get(key).is_some_and(is_it)
    }))
}

/// Whether a server is told nothing by its environment but for whom it works.
fn says_only_for_whom(server: &str) -> bool {
    let Ok(Value::Object(table)) = serde_json::from_str(server) else { return false };
    match table.get("env") {
        None => true,
        Some(Value::Object(variables)) => {
            variables.keys().all(|name| name == "OSTLER_CONVERSATION" || name == "OSTLER_TASK")
        }
        Some(_) => false,
    }
}

/// Our own tools, as Codex is told to start them.
pub(crate) fn own_server() -> Result<OwnServer, Failure> {
    Ok(OwnServer {
        name: OWN_SERVER.to_owned(),
        program: own_program()?,
        arguments: vec![OWN_SERVER_COMMAND.to_owned()],
    })
}

/// What holds for a task that says nothing else.
pub(crate) fn task_defaults(config: &Config) -> TaskSettings {
    let tasks = &config.tasks;
    TaskSettings {
        sandbox: Sandbox {
            mode: match tasks.sandbox {
                config::Sandbox::ReadOnly => SandboxMode::ReadOnly,
                config::Sandbox::WorkspaceWrite => SandboxMode::WorkspaceWrite,
            },
            writable_roots: Vec::new(),
            network: tasks.network,
        },
        approval: match tasks.approval {
            config::Approval::Untrusted => Approval::Untrusted,
            config::Approval::OnRequest => Approval::OnRequest,
        },
        model: tasks.model.clone(),
        effort: tasks.effort.clone(),
        codex: CodexChoice {
            version: None,
            home: config.codex.home.as_ref().map(|home| home.display().to_string()),
        },
        isolate: tasks.isolate,
        on_crash: match tasks.on_crash {
            config::OnCrash::Continue => OnCrash::Continue,
            config::OnCrash::Ask => OnCrash::Ask,
            config::OnCrash::Fail => OnCrash::Fail,
        },
        crash_limit: tasks.crash_limit,
        unattended: match tasks.unattended {
            config::Unattended::Wait => Unattended::Wait,
            config::Unattended::Decline => Unattended::Decline,
        },
        escalate_after_ms: tasks.escalate_after.map(milliseconds),
        turn_timeout_ms: tasks.turn_timeout.map(milliseconds),
        on_stall: match tasks.on_stall {
            config::OnStall::Warn => OnStall::Warn,
            config::OnStall::Interrupt => OnStall::Interrupt,
            config::OnStall::Fail => OnStall::Fail,
        },
        silence_ms: Some(milliseconds(tasks.silence)),
        outage_patience_ms: tasks.outage_patience.map(milliseconds),
        budget: Budget {
            tokens: tasks.budget_tokens,
            work_ms: tasks.budget_time.map(milliseconds),
            turns: tasks.budget_turns,
        },
        notify: notify_settings::usual(config),
        ..TaskSettings::default()
    }
}

/// What holds where a request says nothing.
pub(super) fn usual(places: &Places, config: &Config) -> Usual {
    let mut settings = task_defaults(config);
    if config.migrate.for_tasks {
        settings.config = overlay::overrides(places);
    }
    Usual {
        settings,
        worktree: config.tasks.worktree,
        retention: retention(config),
        mcp_may_decide: config.mcp.may_decide.clone(),
        private: private(places, config),
    }
}

/// What no task's files are given from.
fn private(places: &Places, config: &Config) -> PrivateFiles {
    let Homes { usual, named, mut own, .. } = homes(places, config);
    for end in ["", "-wal", "-shm"] {
        let mut file = config.store.path.clone().into_os_string();
        file.push(end);
        own.push(file.into());
    }
    PrivateFiles {
        codex_homes: named.into_iter().chain(usual).chain(places.default_codex_home()).collect(),
        own,
        works: config.worktree.folder.clone(),
    }
}

/// The Codex homes that tasks may be started in, and the folders in which none may write.
pub(crate) fn homes(places: &Places, config: &Config) -> Homes {
    let codex = &config.codex;
    let Places { config: settings, state, runtime, cache } = places.clone();
    Homes {
        usual: codex.home.clone().or_else(|| places.default_codex_home()),
        named: codex.homes.clone(),
        own: vec![settings, state, runtime, cache],
        worktrees: Some(config.worktree.folder.clone()),
        temporary: places::variable("TMPDIR").map(Into::into),
    }
}

fn retention(config: &Config) -> Retention {
    let kept = &config.retention;
    let counts = [
        (TaskState::Completed, kept.completed),
        (TaskState::Failed, kept.failed),
        (TaskState::Cancelled, kept.cancelled),
    ];
    Retention {
        age_ms: kept.age.map(|age| i64::try_from(milliseconds(age)).unwrap_or(i64::MAX)),
        size_bytes: kept.size.map(|size| size.bytes()),
        tasks: counts
            .into_iter()
            .filter_map(|(state, most)| Some((state, u64::from(most?))))
            .collect(),
    }
}

fn approver(approver: &config::Approver) -> Option<Approver> {
    let program = approver.command.as_ref()?;
    let mut command = vec![program.program.clone()];
    command.extend(program.arguments.iter().cloned());
    // The engine's words for kinds are those of JSON.
    let kinds = approver.kinds.iter().map(|kind| kind.word().replace('-', "_"));
    Some(Approver { command, timeout: approver.timeout, kinds: kinds.collect() })
}

/// Every rule of the file, or all that is wrong with them.
fn rules(policy: &[config::PolicyRule]) -> Result<Vec<Rule>, Failure> {
    let mut rules = Vec::new();
    let mut problems = Vec::new();
    for (at, written) in policy.iter().enumerate() {
        let name = format!("{}{}", Rule::OF_FILE, at + 1);
        match rule(&name, written) {
            Ok(rule) => rules.push(rule),
            Err(error) => problems.push(format!("the {}. [[policy]]: {error}", at + 1)),
        }
    }
    match problems.is_empty() {
        true => Ok(rules),
        false => Err(Failure::new(Exit::Usage, problems.join("\n"))
            .hint("correct the file; `ostler config path` says where it is")),
    }
}

fn rule(name: &str, written: &config::PolicyRule) -> Result<Rule, String> {
    let told = |error: RuleError| error.to_string();
    let folder =
        |path: &std::path::Path| Folder::try_from(path.display().to_string()).map_err(told);
    let matcher = match (&written.command, &written.host, &written.tool, &written.files) {
        (Some(words), None, None, None) => {
            Matcher::CommandPrefix(Words::try_from(words.clone()).map_err(told)?)
        }
        (None, Some(host), None, None) => {
            Matcher::Host(HostPattern::try_from(host.as_str().to_owned()).map_err(told)?)
        }
        (None, None, Some(tool), None) => {
            Matcher::Tool { server: tool.server.clone(), tool: tool.name.clone() }
        }
        (None, None, None, Some(files)) => {
            // Paths of changes are followed before a rule judges them, so its own folder is, too.
            let followed = std::fs::canonicalize(files);
            Matcher::FilesBelow(folder(followed.as_deref().unwrap_or(files))?)
        }
        // Taken apart it would allow more than both together.
        _ => {
            return Err("it must name one of command, host, tool and files, and no two".to_owned());
        }
    };
    let effect = match written.decision {
        config::Verdict::Allow => Effect::Allow,
        config::Verdict::Deny => Effect::Deny,
    };
    let cwd = written.cwd.as_deref().map(folder).transpose()?;
    let scope = match &written.scope {
        config::Scope::Everywhere => Scope::Everywhere,
        config::Scope::Directory(path) => Scope::Directory(folder(path)?),
    };
    let expires_at = written.expires.map(Timestamp::as_millisecond);
    Ok(Rule {
        id: RuleId::new(name),
        effect,
        matcher,
        sandboxing: match written.outside_sandbox {
            true => Sandboxing::Outside,
            false => Rule::usual_sandboxing(),
        },
        cwd,
        scope,
        expires_at,
        made_by: "the configuration".to_owned(),
        made_at: 0,
        from_ask: None,
    })
}

fn number(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use ostler_config::{Surroundings, parse};

    use super::*;

    fn config(text: &str) -> Config {
        parse(text, &surroundings()).unwrap().config
    }

    fn surroundings() -> Surroundings {
        Surroundings { home: Some("/home/ana".into()), ..Surroundings::usual() }
    }

    #[test]
    fn what_the_file_says_of_tasks_holds_for_a_task() {
        let config = config(
            "[tasks]\nsandbox = \"workspace-write\"\napproval = \"untrusted\"\nnetwork = true\nmodel = \"m\"\n\
             on_crash = \"ask\"\nunattended = \"decline\"\nescalate_after = \"1m\"\nbudget_turns = 3\nisolate = true\n\
             silence = \"45s\"\n\
             [codex]\nhome = \"~/codex\"\n",
        );
        let expected = TaskSettings {
            sandbox: Sandbox {
                mode: SandboxMode::WorkspaceWrite,
                writable_roots: Vec::new(),
                network: true,
            },
            approval: Approval::Untrusted,
            model: Some("m".to_owned()),
            codex: CodexChoice { version: None, home: Some("/home/ana/codex".to_owned()) },
            isolate: true,
            on_crash: OnCrash::Ask,
            unattended: Unattended::Decline,
            escalate_after_ms: Some(60_000),
            silence_ms: Some(45_000),
            budget: Budget { turns: Some(3), ..Budget::default() },
            ..TaskSettings::default()
        };
        assert_eq!(task_defaults(&config), expected);
    }

    #[test]
    fn our_own_server_is_known_for_whomever_it_works() {
        let own = OwnServer {
            name: OWN_SERVER.to_owned(),
            program: "/bin/sh".into(),
            arguments: vec![OWN_SERVER_COMMAND.to_owned()],
        };
        let is_own = |server: &str| {
            own.is_brought_by("mcp_servers.ostler-tools", server) && says_only_for_whom(server)
        };
        assert!(is_own(r#"{"command":"/bin/sh","args":["tools-mcp"]}"#));
        assert!(is_own(
            r#"{"args":["tools-mcp"],"command":"/bin/sh","env":{"OSTLER_CONVERSATION":"c","OSTLER_TASK":"t"}}"#
        ));
        for other in [
            r#"{"command":"/bin/ls","args":["tools-mcp"]}"#,
            r#"{"command":"/bin/sh","args":["-c","tools-mcp"]}"#,
            r#"{"command":"/bin/sh","args":["tools-mcp"],"env":{"OSTLER_HOME":"/x"}}"#,
            r#"{"command":"/bin/sh","args":["tools-mcp"],"env":["OSTLER_TASK"]}"#,
            r#"{"command":"/bin/sh","args":["tools-mcp"],"cwd":"/x"}"#,
            "[]",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn rules_of_the_file_decide_as_they_are_written() {
        let config = config(
            "[[policy]]\ndecision = \"allow\"\ncommand = [\"git\", \"status\"]\nscope = \"/work\"\n\
             [[policy]]\ndecision = \"deny\"\nhost = \"*.example.com\"\n",
        );
        let said: Vec<String> = rules(&config.policy).unwrap().iter().map(Rule::describe).collect();
        assert_eq!(
            said,
            [
                "allows every command that begins with `git status`, in the sandbox (what the sandbox stops, Codex may run again outside without asking), in /work and below, until somebody removes the rule",
                "refuses connections to *.example.com, everywhere, until somebody removes the rule",
            ]
        );
    }

    /// What the file may say of hosts and what a rule can be made of are two pieces of code.
    #[test]
    fn every_host_that_the_file_may_name_makes_a_rule_and_no_other_does() {
        let hosts = [
            "example.com",
            "Example.COM.",
            "localhost",
            "10.0.0.1",
            "[::1]",
            "a_b-c",
            "*.example.com",
            "*.example.com.",
            "",
            ".",
            "..",
            "a..b",
            "*.com",
            "*.0.1",
            "*",
            "a.*.b",
            "not a host",
            "https://example.com",
            "example.com/x",
            "ex\u{e4}mple.com",
            "*.",
            "*..com",
        ];
        for host in hosts {
            let text = format!("[[policy]]\ndecision = \"deny\"\nhost = {host:?}\n");
            let read = parse(&text, &surroundings());
            let makes_a_rule = HostPattern::try_from(host.to_owned()).is_ok();
            assert_eq!(read.is_ok(), makes_a_rule, "{host:?}");
            if let Ok(read) = read {
                assert!(rules(&read.config.policy).is_ok(), "{host:?}");
            }
        }
    }
}
