//! What is printed, word for word.

use std::fs;

use insta::assert_snapshot;

use super::world::World;

const BROKEN: &str = "\
[codex]
verison = \"0.130.0\"
[tasks]
sandbox = \"write\"
\tescalate_after = 30
[limits
running = 0
";

#[test]
fn without_a_file_the_defaults_hold() {
    let world = World::empty();
    assert_snapshot!(world.run(&["config", "path"]), @r"
    [HOME]/config/config.toml
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(world.run(&["config", "path", "--json"]), @r#"
    {"exists":false,"path":"[HOME]/config/config.toml"}
    --- stderr
    [HOME]/config/config.toml
    --- exit 0
    "#);
    assert_snapshot!(world.run(&["config", "check"]), @r"
    [HOME]/config/config.toml is not there, so the defaults hold
    --- stderr
    --- exit 0
    ");
    // How far the comments are to the right depends on how long the path of this home is.
    let shown = world.run(&["config", "show"]);
    let shown: Vec<&str> =
        shown.lines().map(|line| line.split("  # ").next().unwrap().trim_end()).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    [codex]
    # path is not set
    # version is not set
    # home is not set
    homes = []

    [tasks]
    sandbox = "read-only"
    approval = "on-request"
    network = false
    # model is not set
    # effort is not set
    on_crash = "continue"
    crash_limit = 3
    unattended = "wait"
    escalate_after = "30m"
    turn_timeout = "off"
    on_stall = "warn"
    silence = "2m"
    outage_patience = "1d"
    budget_tokens = "off"
    budget_time = "off"
    budget_turns = "off"
    isolate = false
    worktree = false
    allow_danger_full_access = false
    allow_approval_never = false
    allow_config = []

    [agent]
    runtime = "auto"
    provider = "openai"
    # model is not set
    # effort is not set
    # identity is not set
    context_window = 272000
    iterations = 90
    memory_nudge_interval = 10
    skill_nudge_interval = 10
    review = true
    # review_model is not set
    memory_notifications = "on"
    memory_approval = false
    show_commentary = true
    compression_threshold = 75
    codex_compaction = "native"
    codex_tools = "mcp"
    sandbox = "workspace-write"
    approval = "on-request"
    network = false
    writable_roots = []
    # memory_sync is not set

    [web]
    # search is not set
    # search_url is not set
    # search_key_env is not set
    # search_key_file is not set
    # search_key_command is not set
    allowed_hosts = []
    timeout = "30s"
    max_page = "5MiB"

    [browser]
    # program is not set
    sandbox = true
    timeout = "30s"

    [vision]
    # provider is not set
    # model is not set

    [images]
    # provider is not set
    model = "gpt-image-1"

    [speech]
    # provider is not set
    model = "gpt-4o-mini-tts"
    voice = "alloy"
    format = "mp3"

    [limits]
    running = 8
    running_per_pool = 8
    queued = 10000
    threads_per_app_server = 50
    idle_app_server = "5m"
    idle_thread = "1m"
    memory_per_app_server = "2GiB"
    open_files_per_app_server = 4096

    [store]
    path = "[HOME]/state/ostler.db"

    [retention]
    age = "90d"
    size = "10GiB"
    completed = 100000
    failed = 100000
    cancelled = 10000
    conversation_age = "365d"

    [approver]
    # command is not set
    timeout = "30s"
    kinds = ["command", "file-change", "permissions"]

    [daemon]
    socket = "[HOME]/run/daemon.sock"
    log = "info"
    watchdog = "1m"

    [server]
    # listen is not set
    hosts = []
    # tls_certificate is not set
    # tls_key is not set
    # public_url is not set
    unseen_may_decide = false

    [mcp]
    may_decide = []

    [worktree]
    folder = "[HOME]/state/worktrees"
    branch_prefix = "ostler/"

    [environment]
    pass = []

    [migrate]
    from = []
    for_tasks = false
    --- stderr
    --- exit 0
    "#);
}

#[test]
fn each_value_is_shown_with_its_origin() {
    let world = World::with_config(
        "[daemon]\nlog = 'info'\n[retention]\nage = '10d'\n[[policy]]\ndecision = 'allow'\n\
         command = ['cargo', 'test']\nexpires = 2030-01-31T18:00:00Z\n[[policy]]\ndecision = 'deny'\ntool = 'a/b'\n",
    );
    let around = [("CODEX_HOME", "/codex"), ("OSTLER_LOG", "off")];
    assert_snapshot!(world.run_with(&["config", "show", "codex"], &around), @r#"
    [codex]
    # path is not set
    # version is not set
    home = "/codex"       # from CODEX_HOME
    homes = []            # default
    --- stderr
    --- exit 0
    "#);
    assert_snapshot!(world.run_with(&["config", "show", "daemon.log"], &around), @r"
    off
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(world.run_with(&["config", "show", "daemon.log", "--json"], &around), @r#"
    {"key":"daemon.log","value":"off","origin":"environment","variable":"OSTLER_LOG"}
    --- stderr
    off
    --- exit 0
    "#);
    assert_snapshot!(world.run(&["config", "show", "retention", "--json"]), @r#"
    {"file":"[HOME]/config/config.toml","settings":[{"key":"retention.age","value":"10d","origin":"file","line":4},{"key":"retention.size","value":"10GiB","origin":"default"},{"key":"retention.completed","value":100000,"origin":"default"},{"key":"retention.failed","value":100000,"origin":"default"},{"key":"retention.cancelled","value":10000,"origin":"default"},{"key":"retention.conversation_age","value":"365d","origin":"default"}]}
    --- stderr
    [retention]
    age = "10d"                # line 4
    size = "10GiB"             # default
    completed = 100000         # default
    failed = 100000            # default
    cancelled = 10000          # default
    conversation_age = "365d"  # default
    --- exit 0
    "#);
    assert_snapshot!(world.run(&["config", "show", "policy"]), @r#"
    [[policy]]
    decision = "allow"              # line 6
    command = ["cargo", "test"]     # line 7
    expires = 2030-01-31T18:00:00Z  # line 8

    [[policy]]
    decision = "deny"               # line 10
    tool = "a/b"                    # line 11
    --- stderr
    --- exit 0
    "#);
    assert_snapshot!(world.run(&["config", "show", "policy[1]", "--json"]), @r#"
    {"file":"[HOME]/config/config.toml","settings":[{"key":"policy[1].decision","value":"allow","origin":"file","line":6},{"key":"policy[1].command","value":["cargo","test"],"origin":"file","line":7},{"key":"policy[1].expires","value":"2030-01-31T18:00:00Z","origin":"file","line":8}]}
    --- stderr
    [[policy]]
    decision = "allow"              # line 6
    command = ["cargo", "test"]     # line 7
    expires = 2030-01-31T18:00:00Z  # line 8
    --- exit 0
    "#);
    assert_snapshot!(world.run(&["config", "show", "codex.path"]), @r"
    --- stderr
    note: codex.path is not set
    --- exit 0
    ");
    assert_snapshot!(world.run(&["config", "show", "approver.kinds"]), @r#"
    ["command", "file-change", "permissions"]
    --- stderr
    --- exit 0
    "#);
}

#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let text = "[tasks]\nmodel = 'a \"b\" c'\n[store]\npath = '~/db'\n[[policy]]\ndecision = 'allow'\n\
                host = 'x'\nscope = '~/src'\n";
    let world = World::with_config(text);
    let shown = |world: &World| {
        let text = world.run(&["config", "show"]);
        text.split_once("--- stderr").unwrap().0.replace("[HOME]", "~")
    };
    let first = shown(&world);
    fs::write(world.path("config/config.toml"), &first).unwrap();
    let second = shown(&world);
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit_once('#').unwrap_or((line, "")).0.to_owned()).collect()
    };
    assert_eq!(values(&first), values(&second));
    assert!(first.contains("model = 'a \"b\" c'"), "{first}");
}

#[test]
fn a_setting_that_is_not_there_is_answered_by_the_one_that_was_meant() {
    let world = World::empty();
    assert_snapshot!(world.run(&["config", "show", "tasks.sandbx"]), @r"
    --- stderr
    error: there is no setting tasks.sandbx
      did you mean tasks.sandbox?
    --- exit 3
    ");
    assert_snapshot!(world.run(&["config", "show", "sandbox"]), @r"
    --- stderr
    error: there is no setting sandbox
      did you mean tasks.sandbox?
    --- exit 3
    ");
    assert_snapshot!(world.run(&["config", "show", "nonsense", "--json"]), @r#"
    {"error":{"exit":3,"hint":"`ostler config show` shows all there are","message":"there is no setting nonsense"}}
    --- stderr
    error: there is no setting nonsense
      `ostler config show` shows all there are
    --- exit 3
    "#);
    assert_snapshot!(world.run(&["config", "show", "policy"]), @r"
    --- stderr
    note: there are none in the file: policy
    --- exit 0
    ");
}

#[test]
fn a_check_shows_every_problem_in_its_place() {
    let world = World::with_config(BROKEN);
    assert_snapshot!(world.run(&["config", "check"]), @r#"
    error: codex.verison is unknown
     --> [HOME]/config/config.toml:2:1
      |
    2 | verison = "0.130.0"
      | ^
      = did you mean version?

    error: tasks.sandbox must be "read-only" or "workspace-write", not the text "write"
     --> [HOME]/config/config.toml:4:11
      |
    4 | sandbox = "write"
      |           ^

    error: tasks.escalate_after must be a time such as "30s", "5m", "2h" or "7d", or "off", not the number 30
     --> [HOME]/config/config.toml:5:19
      |
    5 |  escalate_after = 30
      |                   ^
      = give it a unit: "30s"

    error: unclosed table, expected `]`
     --> [HOME]/config/config.toml:6:8
      |
    6 | [limits
      |        ^

    4 problems in [HOME]/config/config.toml
    --- stderr
    --- exit 2
    "#);
    assert_snapshot!(world.run(&["config", "check", "--json"]), @r#"
    {"file":"[HOME]/config/config.toml","exists":true,"ok":false,"problems":[{"line":2,"column":1,"key":"codex.verison","message":"is unknown","advice":"did you mean version?"},{"line":4,"column":11,"key":"tasks.sandbox","message":"must be \"read-only\" or \"workspace-write\", not the text \"write\"","advice":null},{"line":5,"column":19,"key":"tasks.escalate_after","message":"must be a time such as \"30s\", \"5m\", \"2h\" or \"7d\", or \"off\", not the number 30","advice":"give it a unit: \"30s\""},{"line":6,"column":8,"key":null,"message":"unclosed table, expected `]`","advice":null}]}
    --- stderr
    error: codex.verison is unknown
     --> [HOME]/config/config.toml:2:1
      |
    2 | verison = "0.130.0"
      | ^
      = did you mean version?

    error: tasks.sandbox must be "read-only" or "workspace-write", not the text "write"
     --> [HOME]/config/config.toml:4:11
      |
    4 | sandbox = "write"
      |           ^

    error: tasks.escalate_after must be a time such as "30s", "5m", "2h" or "7d", or "off", not the number 30
     --> [HOME]/config/config.toml:5:19
      |
    5 |  escalate_after = 30
      |                   ^
      = give it a unit: "30s"

    error: unclosed table, expected `]`
     --> [HOME]/config/config.toml:6:8
      |
    6 | [limits
      |        ^

    4 problems in [HOME]/config/config.toml
    --- exit 2
    "#);
}

#[test]
fn another_file_can_be_checked_before_it_is_used() {
    let world = World::with_config(BROKEN);
    fs::write(world.path("new.toml"), "[tasks]\nnetwork = true\n").unwrap();
    assert_snapshot!(world.run(&["config", "check", "new.toml"]), @r"
    new.toml is ok
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(world.run(&["config", "check", "missing.toml"]), @r"
    --- stderr
    error: missing.toml is not there
    --- exit 3
    ");
    fs::write(world.path("new.toml"), b"\xff\xfe").unwrap();
    assert_snapshot!(world.run(&["config", "check", "new.toml"]), @r"
    --- stderr
    error: cannot read new.toml: stream did not contain valid UTF-8
    --- exit 1
    ");
}

#[test]
fn every_command_that_needs_a_broken_file_fails_with_all_of_it() {
    let world = World::with_config(BROKEN);
    let told = world.run(&["codex", "list"]);
    assert_snapshot!(told, @r#"
    --- stderr
    error: [HOME]/config/config.toml has 4 problems:
      line 2: codex.verison is unknown; did you mean version?
      line 4: tasks.sandbox must be "read-only" or "workspace-write", not the text "write"
      line 5: tasks.escalate_after must be a time such as "30s", "5m", "2h" or "7d", or "off", not the number 30; give it a unit: "30s"
      line 6: unclosed table, expected `]`
      correct the file; `ostler config check` shows the places
    --- exit 2
    "#);
    for arguments in [&["run", "hello"][..], &["codex", "path"], &["config", "show"], &["demo"]] {
        assert_eq!(world.run(arguments), told, "{arguments:?}");
    }
    assert_snapshot!(world.run(&["codex", "list", "--json"]), @r#"
    {"error":{"exit":2,"hint":"correct the file; `ostler config check` shows the places","message":"[HOME]/config/config.toml has 4 problems:\n  line 2: codex.verison is unknown; did you mean version?\n  line 4: tasks.sandbox must be \"read-only\" or \"workspace-write\", not the text \"write\"\n  line 5: tasks.escalate_after must be a time such as \"30s\", \"5m\", \"2h\" or \"7d\", or \"off\", not the number 30; give it a unit: \"30s\"\n  line 6: unclosed table, expected `]`"}}
    --- stderr
    error: [HOME]/config/config.toml has 4 problems:
      line 2: codex.verison is unknown; did you mean version?
      line 4: tasks.sandbox must be "read-only" or "workspace-write", not the text "write"
      line 5: tasks.escalate_after must be a time such as "30s", "5m", "2h" or "7d", or "off", not the number 30; give it a unit: "30s"
      line 6: unclosed table, expected `]`
      correct the file; `ostler config check` shows the places
    --- exit 2
    "#);
    assert_eq!(fs::read_to_string(world.path("config/config.toml")).unwrap(), BROKEN);
}
