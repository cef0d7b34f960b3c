//! What a file says, and all that can be wrong with it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::time::Duration;

use ostler_config::settings::{
    Approval, AskKind, NotifyKind, OnCrash, OnStall, PolicyRule, Sandbox, Scope, Tool, Unattended,
    Verdict, Via, Wire,
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
        outside_sandbox = true
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
        outside_sandbox: true,
        cwd: Some(PathBuf::from("/home/me/src")),
        host: None,
        tool: None,
        files: None,
        scope: Scope::Directory(PathBuf::from("/home/me/src/app")),
        expires: Some("2030-01-31T17:00:00Z".parse().unwrap()),
    };
    let deny = PolicyRule {
        decision: Verdict::Deny,
        command: None,
        outside_sandbox: false,
        cwd: None,
        host: None,
        tool: Some(Tool { server: "files".to_owned(), name: "read/all".to_owned() }),
        files: None,
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
        "line 1: colour is unknown; the sections are codex, tasks, agent, web, browser, vision, images, speech, limits, store, retention, approver, daemon, server, mcp, worktree, environment, migrate, providers, notify, policy",
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
        "line 15: policy[2] fits everything; name a command, a host, a tool or files",
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
            "server",
            "listen = 'localhost:80'",
            "server.listen must be an address and a port such as \"127.0.0.1:8137\", not the text \"localhost:80\"",
        ),
        (
            "server",
            "listen = '0.0.0.0:80'",
            "server.listen can be reached by other machines, and what is said there could be read by others; set \
             server.tls_certificate and server.tls_key, or listen on 127.0.0.1",
        ),
        (
            "server",
            "tls_key = '/k'",
            "server.tls_key has no certificate; set server.tls_certificate, too",
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
        ("cwd = '/src'", "policy[1] fits everything; name a command, a host, a tool or files"),
        (
            "tool = 'a/b'\ncommand = ['x']",
            "policy[1] names more than one of command, host, tool and files; make a rule of each",
        ),
        (
            "host = 'example.com'\ncommand = ['curl']",
            "policy[1] names more than one of command, host, tool and files; make a rule of each",
        ),
        (
            "files = '/src'\ncommand = ['x']",
            "policy[1] names more than one of command, host, tool and files; make a rule of each",
        ),
        (
            "files = '/src/../etc'",
            "policy[1] has `..` in /src/../etc; write the whole path of the folder",
        ),
        (
            "command = ['x']\nscope = '/src/../etc'",
            "policy[1] has `..` in /src/../etc; write the whole path of the folder",
        ),
    ] {
        let text = format!("[[policy]]\ndecision = 'allow'\n{rule}\n");
        assert_eq!(problems(&text), [format!("line 1: {expected}")]);
    }
    assert_eq!(
        problems("[[policy]]\ndecision = 'deny'\nhost = 'https://example.com'\n"),
        [
            r#"line 3: policy[1].host must be a name such as "example.com", or "*.example.com" for those below it, not the text "https://example.com""#
        ]
    );
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

#[test]
fn a_provider_says_where_its_key_is_and_never_the_key() {
    let config = read(
        r#"
        [agent]
        provider = "local"
        [providers.local]
        base_url = "http://127.0.0.1:11434/v1"
        wire = "chat"
        key_file = "~/key"
        headers = { X-Team = "MY_TEAM" }
        "#,
    );
    let local = config.provider("local").unwrap();
    assert_eq!(local.wire, Wire::Chat);
    assert_eq!(local.key_file, Some(PathBuf::from("/home/me/key")));
    assert_eq!(local.headers.0["X-Team"].as_str(), "MY_TEAM");
    let openai = config.provider("openai").unwrap();
    assert_eq!(openai.base_url.unwrap().as_str(), "https://api.openai.com/v1");
    assert_eq!(openai.key_env.unwrap().as_str(), "OPENAI_API_KEY");
    assert!(config.provider("codex").unwrap().codex_login);
    assert_eq!(config.provider("other"), None);

    let base = "[providers.x]\nbase_url = 'https://a/v1'\n";
    for (text, expected) in [
        (
            "[agent]\nprovider = 'opneai'\n".to_owned(),
            "line 2: agent.provider names no provider; did you mean openai?",
        ),
        (
            "[images]\nprovider = 'painter'\n".to_owned(),
            "line 2: images.provider names no provider; write [providers.painter] for it",
        ),
        (
            "[web]\nsearch = 'searxng'\n".to_owned(),
            "line 2: web.search has no place; set web.search_url, too",
        ),
        (
            "[web]\nallowed_hosts = ['wiki.internal', 'http://localhost:8080/']\n".to_owned(),
            "line 2: web.allowed_hosts names something else than a host; write it as it stands in an address, as in \
             \"wiki.internal\" or \"localhost:8080\"",
        ),
        (
            format!("{base}key_env = 'K'\nkey = 'sk-1'\n"),
            "line 4: providers.x.key must not stand here; name where it is instead, with key_env, key_file or key_command",
        ),
        (
            base.to_owned(),
            "line 1: providers.x has no key; write one of key_env, key_file, key_command and codex_login = true",
        ),
        (
            format!("{base}key_env = 'K'\ncodex_login = true\n"),
            "line 1: providers.x says more than once where its key is; keep one of key_env, key_file, key_command and \
             codex_login",
        ),
        (
            "[providers.x]\nkey_env = 'K'\n".to_owned(),
            "line 1: providers.x has no base_url; write where its API begins",
        ),
        (
            format!("{base}key_env = 'sk-proj-1'\n"),
            "line 3: providers.x.key_env must be the name of a variable such as \"MY_PROVIDER_KEY\", not the text \
             \"sk-proj-1\"",
        ),
        (
            "[providers.'a b']\nbase_url = 'https://a'\nkey_env = 'K'\n".to_owned(),
            "line 1: providers.a b has a name with other signs than letters, digits, - and _",
        ),
        (
            "[providers]\nx = 1\n".to_owned(),
            "line 2: providers.x is a section; write [providers.NAME]",
        ),
        (
            format!("{base}key_env = 'K'\nheaders = {{ X = 1 }}\n"),
            "line 4: providers.x.headers.X must be the name of a variable such as \"MY_PROVIDER_KEY\", not the number 1",
        ),
    ] {
        assert_eq!(problems(&text), [expected], "{text}");
    }
}

#[test]
fn a_target_says_how_it_is_told_and_never_a_secret() {
    let config = read(
        r#"
        [notify.ops]
        via = "webhook"
        url = "https://example.org/hook"
        secret_env = "OPS_SECRET"
        kinds = ["failed", "needs_approval"]
        default = true
        retry = "1m"
        [notify.phone]
        via = "ntfy"
        topic = "stable"
        "#,
    );
    let ops = &config.notify["ops"];
    assert_eq!((ops.via, ops.default, ops.private), (Some(Via::Webhook), true, false));
    assert_eq!(ops.kinds, [NotifyKind::Failed, NotifyKind::NeedsApproval]);
    assert_eq!(config.notify["phone"].kinds, NotifyKind::ALL);
    for (text, expected) in [
        (
            "[notify.x]\nurl = 'https://a'\n",
            "line 1: notify.x does not say how it is told; write via",
        ),
        (
            "[notify.x]\nvia = 'pigeon'\n",
            "line 2: notify.x.via must be \"local\", \"command\", \"webhook\", \"slack\", \"telegram\", \"feishu\" or \
             \"ntfy\", not the text \"pigeon\"",
        ),
        (
            "[notify.x]\nvia = 'webhook'\n",
            "line 1: notify.x is told via webhook; write url, or one of url_env, url_file and url_command",
        ),
        (
            "[notify.x]\nvia = 'webhook'\nurl = 'https://a'\nurl_env = 'U'\n",
            "line 1: notify.x says more than once where it is sent; keep one of url, url_env, url_file, url_command",
        ),
        (
            "[notify.x]\nvia = 'webhook'\nurl = 'https://a'\nsecret = 'whsec_1'\n",
            "line 4: notify.x.secret must not stand here; name where it is instead, with secret_env, secret_file or \
             secret_command",
        ),
        (
            "[notify.x]\nvia = 'local'\nurl = 'https://a'\n",
            "line 1: notify.x is told via local, which has no url; leave it out",
        ),
        (
            "[notify.x]\nvia = 'telegram'\nsecret_env = 'T'\n",
            "line 1: notify.x is told via telegram; write chat, and one of secret_env, secret_file and secret_command for the \
             bot's token",
        ),
        ("[notify.x]\nvia = 'ntfy'\n", "line 1: notify.x is told via ntfy; write topic"),
        (
            "[notify.x]\nvia = 'slack'\nchat = '#ops'\n",
            "line 1: notify.x is told via slack; write where its incoming webhook is with one of url_env, url_file and \
             url_command, or chat and where the bot's token is",
        ),
        ("[notify.x]\nvia = 'command'\n", "line 1: notify.x is told via command; write command"),
        (
            "[notify.none]\nvia = 'local'\n",
            "line 1: notify.none has a name that means nobody; choose another",
        ),
    ] {
        assert_eq!(problems(text), [expected], "{text}");
    }
}
