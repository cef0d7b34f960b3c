//! What a file says, and all that can be wrong with it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::time::Duration;

use ostler_config::settings::{
    Approval, AskKind, OnCrash, OnStall, PolicyRule, Sandbox, Scope, Tool, Unattended, Verdict,
};
use ostler_config::{Config, Invocation, Origin, Problem, Surroundings, parse};

fn surroundings() -> Surroundings {
    Surroundings {
        home: Some(PathBuf::from("/home/me")),
        state: PathBuf::from("/state"),
        runtime: PathBuf::from("/run/me"),
        codex_home: None,
        log: None,
    }
}

fn read(text: &str) -> Config {
    parse(text, &surroundings()).unwrap().config
}

/// All problems, a line each.
fn problems(text: &str) -> Vec<String> {
    let problems = parse(text, &surroundings()).unwrap_err();
    problems.iter().map(Problem::to_string).collect()
}

/// One line that is wrong in one way.
fn problem(section: &str, line: &str) -> String {
    let found = problems(&format!("[{section}]\n{line}\n"));
    assert_eq!(found.len(), 1, "{line}: {found:?}");
    found.concat().trim_start_matches("line 2: ").to_owned()
}

#[test]
fn an_empty_file_means_the_defaults() {
    let config = read("");
    assert_eq!(config, read("[codex]\n[tasks]\n[environment]\n"));
    assert_eq!(config.tasks.sandbox, Sandbox::ReadOnly);
    assert_eq!(config.tasks.on_crash, OnCrash::Continue);
    assert_eq!(config.tasks.budget_tokens, None);
    assert_eq!(config.limits.idle_thread, Duration::from_secs(60));
    assert_eq!(config.store.path, PathBuf::from("/state/ostler.db"));
    assert_eq!(config.daemon.socket, PathBuf::from("/run/me/daemon.sock"));
    assert_eq!(config.worktree.folder, PathBuf::from("/state/worktrees"));
    assert!(!config.tasks.allow_danger_full_access && !config.tasks.allow_approval_never);
    assert_eq!(config.policy, []);
}

#[test]
fn every_kind_of_value_is_read() {
    let config = read(
        r#"
        retention = { age = "off", size = "5GB", completed = 0 }
        codex.path = "~/bin/codex"
        codex.home = "~"
        [tasks]
        sandbox = "workspace-write"
        approval = 'untrusted'
        network = true
        model = "gpt"
        effort = "none"
        on_crash = "ask"
        unattended = "decline"
        escalate_after = "off"
        turn_timeout = "1h30m"
        on_stall = "fail"
        budget_tokens = 1_000_000
        [approver]
        command = ["~/bin/approve", "--fast"]
        kinds = ["command", "elicitation"]
        [daemon]
        log = "warn,ostler_codex=debug"
        [environment]
        pass = ["AWS_*"]
        "#,
    );
    assert_eq!(config.retention.age, None);
    assert_eq!(config.retention.size.map(ostler_config::Size::bytes), Some(5_000_000_000));
    assert_eq!(config.retention.completed, Some(0));
    assert_eq!(config.codex.path, Some(PathBuf::from("/home/me/bin/codex")));
    assert_eq!(config.codex.home, Some(PathBuf::from("/home/me")));
    let tasks = config.tasks;
    assert_eq!((tasks.sandbox, tasks.approval), (Sandbox::WorkspaceWrite, Approval::Untrusted));
    assert_eq!((tasks.model.as_deref(), tasks.effort.as_deref()), (Some("gpt"), Some("none")));
    assert_eq!((tasks.on_crash, tasks.unattended), (OnCrash::Ask, Unattended::Decline));
    assert_eq!((tasks.network, tasks.on_stall), (true, OnStall::Fail));
    assert_eq!(tasks.turn_timeout, Some(Duration::from_secs(5400)));
    assert_eq!((tasks.escalate_after, tasks.budget_tokens), (None, Some(1_000_000)));
    let approver = Invocation {
        program: "/home/me/bin/approve".to_owned(),
        arguments: vec!["--fast".to_owned()],
    };
    assert_eq!(config.approver.command, Some(approver));
    assert_eq!(config.approver.kinds, [AskKind::Command, AskKind::Elicitation]);
    assert_eq!(config.daemon.log.as_str(), "warn,ostler_codex=debug");
    let pass: Vec<&str> = config.environment.pass.iter().map(|name| name.as_str()).collect();
    assert_eq!(pass, ["AWS_*"]);
}

#[test]
fn rules_are_read_in_their_order() {
    let config = read(
        r#"
        [[policy]]
        decision = "allow"
        command = ["cargo", "test"]
        cwd = "~/src"
        scope = "~/src/app"
        expires = 2030-01-31T18:00:00+01:00
        [[policy]]
        decision = "deny"
        tool = "files/read/all"
        "#,
    );
    let allow = PolicyRule {
        decision: Verdict::Allow,
        command: Some(vec!["cargo".to_owned(), "test".to_owned()]),
        cwd: Some(PathBuf::from("/home/me/src")),
        host: None,
        tool: None,
        scope: Scope::Directory(PathBuf::from("/home/me/src/app")),
        expires: Some("2030-01-31T17:00:00Z".parse().unwrap()),
    };
    let deny = PolicyRule {
        decision: Verdict::Deny,
        command: None,
        cwd: None,
        host: None,
        tool: Some(Tool { server: "files".to_owned(), name: "read/all".to_owned() }),
        scope: Scope::Everywhere,
        expires: None,
    };
    assert_eq!(config.policy, [allow, deny]);
}

#[test]
fn all_that_is_wrong_comes_at_once_and_in_order() {
    let text = r#"colour = 1
[codex]
version = 0.130.0
verison = "0.130.0"
path = "bin/codex"
[tasks]
sandbox = "read_only"
escalate_after = 30
running = 3
[limits]
running = 0
running = 5
[[policy]]
command = "cargo test"
[[policy]]
decision = "allow"
"#;
    let expected = [
        "line 1: colour is unknown; the sections are codex, tasks, limits, store, retention, approver, daemon, worktree, environment, policy",
        "line 3: invalid float, expected nothing; a text needs quotes",
        "line 4: codex.verison is unknown; did you mean version?",
        r#"line 5: codex.path must be an absolute path, or one that starts with ~/, not the text "bin/codex""#,
        r#"line 7: tasks.sandbox must be "read-only" or "workspace-write", not the text "read_only"; did you mean "read-only"?"#,
        r#"line 8: tasks.escalate_after must be a time such as "30s", "5m", "2h" or "7d", or "off", not the number 30; give it a unit: "30s""#,
        "line 9: tasks.running is unknown; it belongs into [limits]",
        "line 11: limits.running must be from 1 to 10000, not 0",
        "line 12: duplicate key",
        r#"line 13: policy[1] has no decision; write decision = "allow" or decision = "deny""#,
        "line 14: policy[1].command must be a list, each of it a text, not the text \"cargo test\"; write [\"cargo\", \"test\"]",
        "line 15: policy[2] fits everything; name a command, a host or a tool",
    ];
    assert_eq!(problems(text), expected);
}

#[test]
fn a_place_has_line_and_column() {
    let found = parse("[tasks]\n  sandbox = 'ä'\n", &surroundings()).unwrap_err();
    let expected = Problem {
        line: 2,
        column: 13,
        key: Some("tasks.sandbox".to_owned()),
        message: r#"must be "read-only" or "workspace-write", not the text "ä""#.to_owned(),
        advice: None,
    };
    assert_eq!(found, [expected]);
}

#[test]
fn each_kind_of_mistake_is_answered_by_what_to_write() {
    for (section, line, expected) in [
        (
            "tasks",
            "sandbox = 'danger-full-access'",
            "tasks.sandbox must be \"read-only\" or \"workspace-write\", not the text \"danger-full-access\"; it is never \
             the default: set allow_danger_full_access = true here and name it when you start the task",
        ),
        (
            "tasks",
            "approval = 'never'",
            "tasks.approval must be \"untrusted\" or \"on-request\", not the text \"never\"; it is never the default: set \
             allow_approval_never = true here and name it when you start the task",
        ),
        ("tasks", "network = 'yes'", "tasks.network must be true or false, not the text \"yes\""),
        ("tasks", "model = ' '", "tasks.model is empty; leave it out, or write something"),
        (
            "tasks",
            "budget_turns = -1",
            "tasks.budget_turns must be a whole number, or \"off\", not the number -1",
        ),
        (
            "tasks",
            "turn_timeout = '60d'",
            "tasks.turn_timeout must be from \"1s\" to \"30d\", not \"60d\"",
        ),
        (
            "limits",
            "memory_per_app_server = '1MiB'",
            "limits.memory_per_app_server must be from \"256MiB\" to \"1TiB\", not \"1MiB\"",
        ),
        (
            "limits",
            "running_per_pool = 9",
            "limits.running_per_pool is more than limits.running, which is 8; lower it, or raise limits.running",
        ),
        (
            "retention",
            "size = 5",
            "retention.size must be a size such as \"512MiB\" or \"2GiB\", or \"off\", not the number 5",
        ),
        ("approver", "command = []", "approver.command is empty; leave it out, or name a program"),
        (
            "approver",
            "command = ['./approve']",
            "approver.command names its program by a relative path; write an absolute path, or one that starts with ~/, or \
             a name on PATH",
        ),
        (
            "approver",
            "kinds = ['command', 'comand', 3]",
            "approver.kinds[2] must be \"command\", \"file-change\", \"permissions\", \"user-input\" or \"elicitation\", \
             not the text \"comand\"; did you mean \"command\"?line 2: approver.kinds[3] must be \"command\", \
             \"file-change\", \"permissions\", \"user-input\" or \"elicitation\", not the number 3",
        ),
        (
            "environment",
            "pass = ['OSTLER_TOKEN']",
            "environment.pass[1] must be the name of a variable such as \"MY_PROVIDER_KEY\", not the text \"OSTLER_TOKEN\"",
        ),
        (
            "worktree",
            "branch_prefix = 'a b'",
            "worktree.branch_prefix must be the start of a branch name such as \"ostler/\", not the text \"a b\"",
        ),
        (
            "store",
            "path = 1.5",
            "store.path must be an absolute path, or one that starts with ~/, not the number 1.5",
        ),
    ] {
        let found = problems(&format!("[{section}]\n{line}\n")).concat();
        assert_eq!(found, format!("line 2: {expected}"));
    }
    let long = format!("socket = '/{}'", "x".repeat(107));
    assert_eq!(
        problem("daemon", &long),
        "daemon.socket has 108 bytes, and the system takes 107 for a socket; write a shorter path"
    );
}

#[test]
fn what_is_no_section_is_told_so() {
    for (text, expected) in [
        ("tasks = 3", "line 1: tasks is a section; write [tasks]"),
        ("[policy]\n", "line 1: policy is a section; write [[policy]]"),
        ("policy = [3]\n", "line 1: policy is a section; write [[policy]]"),
        ("[[codex]]\n", "line 1: codex is a section; write [codex]"),
        ("sandbox = 'read-only'\n", "line 1: sandbox is unknown; it belongs into [tasks]"),
        ("[polcy]\n", "line 1: polcy is unknown; did you mean [policy]?"),
    ] {
        assert_eq!(problems(text), [expected]);
    }
}

#[test]
fn rules_that_cannot_be_meant_are_refused() {
    for (rule, expected) in [
        ("command = []", "policy[1] has an empty command; write its first words"),
        (
            "command = ['cargo test', '-q']",
            r#"policy[1] has a command line for a program; write command = ["cargo", "test"]"#,
        ),
        ("cwd = '/src'", "policy[1] fits everything; name a command, a host or a tool"),
        (
            "tool = 'a/b'\ncommand = ['x']",
            "policy[1] fits nothing: a tool is no command; make two rules of it",
        ),
    ] {
        let text = format!("[[policy]]\ndecision = 'allow'\n{rule}\n");
        assert_eq!(problems(&text), [format!("line 1: {expected}")]);
    }
    let text = "[[policy]]\ndecision = 'allow'\nhost = 'x'\nexpires = 2030-01-31\nscope = 'x'\n";
    assert_eq!(
        problems("[[policy]]\ndecision = 'deny'\ntool = 'x'\n"),
        [
            r#"line 3: policy[1].tool must be a server and its tool such as "github/create_issue", not the text "x""#
        ]
    );
    assert_eq!(
        problems(text),
        [
            "line 4: policy[1].expires must be a time with its zone such as 2030-01-31T18:00:00Z, not the time 2030-01-31",
            r#"line 5: policy[1].scope must be "everywhere", or an absolute path, or one that starts with ~/, not the text "x""#,
        ]
    );
}

/// One mistake in the TOML must not show as ten.
#[test]
fn what_follows_from_a_mistake_is_not_told_besides() {
    let text = "[codex]\npath = bin/codex\n[approver]\ncommand = [1, 'a\n[tasks]\ny = 2\n";
    assert_eq!(
        problems(text),
        [
            "line 2: string values must be quoted, expected literal string",
            "line 4: invalid literal string, expected `'`"
        ]
    );
    // What stands below a header that cannot be read is not known; all else is read.
    let unclosed = "unclosed table, expected `]`";
    let wrong = "limits.running must be from 1 to 10000, not 0";
    let text = "[tasks\nsandbox = 'x'\n[limits]\nrunning = 0\n";
    assert_eq!(problems(text), [format!("line 1: {unclosed}"), format!("line 4: {wrong}")]);
    let text = "[limits]\nrunning = 0\n[tasks\nsandbox = 'x'\n";
    assert_eq!(problems(text), [format!("line 2: {wrong}"), format!("line 3: {unclosed}")]);
}

#[test]
fn the_environment_has_its_say_and_every_value_its_origin() {
    let around = Surroundings {
        codex_home: Some(PathBuf::from("/codex")),
        log: Some("trace".to_owned()),
        ..surroundings()
    };
    let reading = parse("[daemon]\nlog = 'info'\n\n[tasks]\nnetwork = true\n", &around).unwrap();
    assert_eq!(reading.config.codex.home, Some(PathBuf::from("/codex")));
    assert_eq!(reading.config.daemon.log.as_str(), "trace");
    assert_eq!(reading.origin("codex.home"), Origin::Environment { variable: "CODEX_HOME" });
    assert_eq!(reading.origin("daemon.log"), Origin::Environment { variable: "OSTLER_LOG" });
    assert_eq!(reading.origin("tasks.network"), Origin::File { line: 5 });
    assert_eq!(reading.origin("tasks.sandbox"), Origin::Default);

    let reading = parse("[codex]\nhome = '/mine'\n", &around).unwrap();
    assert_eq!(reading.config.codex.home, Some(PathBuf::from("/mine")));
    assert_eq!(reading.origin("codex.home"), Origin::File { line: 2 });
}

#[test]
fn without_a_home_a_tilde_is_a_problem() {
    let around = Surroundings { home: None, ..surroundings() };
    let found = parse("[codex]\npath = '~/codex'\n", &around).unwrap_err();
    let expected = "line 2: codex.path has a ~, but HOME is not set; write an absolute path";
    assert_eq!(found.iter().map(Problem::to_string).collect::<Vec<_>>(), [expected]);
}
