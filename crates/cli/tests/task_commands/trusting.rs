//! A folder that brings programs along: none of them runs, in whatever way a thread is opened, until a person trusts the folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::json;

use crate::world::{Ran, World};
use crate::{PROMPT, text};

const ALLOWED: &str = "sandbox = \"workspace-write\"\nallow_danger_full_access = true";

/// Everything below a working folder that names programs, in the way of some Codex or of a program like it. Each leaves its name.
fn plant(folder: &Path, ran: &Path) {
    let canary = folder.join("canary.sh");
    let script = format!("#!/bin/sh\necho \"$1\" >> '{}'\nexec cat > /dev/null\n", ran.display());
    fs::write(&canary, script).unwrap();
    fs::set_permissions(&canary, fs::Permissions::from_mode(0o755)).unwrap();
    let canary = canary.display();
    let server = |name: &str| json!({ "command": canary.to_string(), "args": [name] });
    let hook = |name: &str| json!([{ "hooks": [{ "type": "command", "command": format!("{canary} {name}") }] }]);
    let hooks = |name: &str| {
        let events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];
        let each = events.map(|event| (event.to_owned(), hook(name)));
        json!({ "hooks": serde_json::Map::from_iter(each) })
    };
    let skill = "---\nname: can\ndescription: rings\n---\nring\n";
    let plugin = json!({ "name": "plug", "version": "1.0.0", "mcpServers": "./.mcp.json", "hooks": "./hooks.json" });
    let market = json!({ "name": "market", "plugins": [{
        "name": "plug", "source": { "source": "local", "path": "./plug" },
        "policy": { "installation": "INSTALLED_BY_DEFAULT", "authentication": "ON_INSTALL" },
    }] });
    let config = format!(
        "notify = [\"{canary}\", \"notify\"]\n[features]\nhooks = true\nplugins = true\n\
         [mcp_servers.canary]\ncommand = \"{canary}\"\nargs = [\"mcp\"]\n\
         [[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ntype = \"command\"\ncommand = \"{canary} hook\"\n"
    );
    let agent = format!(
        "name = \"x\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n\
         [mcp_servers.canary]\ncommand = \"{canary}\"\nargs = [\"agent\"]\n"
    );
    for (name, text) in [
        (".codex/config.toml", config),
        (".codex/hooks.json", hooks("hooks.json").to_string()),
        (
            ".codex/rules/default.rules",
            "prefix_rule(pattern=[\"sh\"], decision=\"allow\")\n".to_owned(),
        ),
        (".codex/agents/x.toml", agent),
        (".codex/skills/can/SKILL.md", skill.to_owned()),
        (".agents/skills/can/SKILL.md", skill.to_owned()),
        (".agents/plugins/marketplace.json", market.to_string()),
        (".claude-plugin/marketplace.json", market.to_string()),
        ("plug/.codex-plugin/plugin.json", plugin.to_string()),
        ("plug/hooks.json", hooks("plugin").to_string()),
        ("plug/.mcp.json", json!({ "mcpServers": { "canary": server("plugin") } }).to_string()),
        (".mcp.json", json!({ "mcpServers": { "canary": server(".mcp.json") } }).to_string()),
        ("AGENTS.md", "Be kind.\n".to_owned()),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn world(version: &str) -> World {
    let conversation = ostler_scripted_model::Conversation {
        prompt: PROMPT.to_owned(),
        answers: vec![text("Done.")],
    };
    let world = World::with(version, vec![conversation], ALLOWED);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        world.at_home(git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments));
        let done = git.output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {done:?}");
    };
    plant(&world.path("inn"), &world.path("ran"));
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "all"]);
    world
}

fn ran(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("ran")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

fn well(ran: &Ran) -> &str {
    assert_eq!(ran.exit, 0, "{} {}", ran.out, ran.errors);
    ran.out.trim()
}

/// Ends every app-server, so that the next input opens its thread again.
fn end_app_servers(world: &World) {
    for keeper in fs::read_dir(world.path("o/run/keepers")).unwrap().flatten() {
        let id = keeper.file_name().into_string().unwrap();
        drop(world.run(&["keeper", "stop", "--now", &id]));
    }
}

#[rstest]
fn no_program_of_a_folder_runs_before_a_person_trusts_it(
    #[values("0.125.0", "0.130.0", "0.142.5", "0.166.0", "0.169.0")] version: &str,
) {
    let world = world(version);
    let codex_file = || fs::read(world.path("home/config.toml")).unwrap();
    let before = codex_file();
    let nothing = |what: &str| {
        assert_eq!(ran(&world), [""; 0], "{what}");
        assert_eq!(codex_file(), before, "{what} changed Codex's own file");
    };

    let started = world.run(&["start", PROMPT, "--wait"]);
    let task = well(&started).lines().next().unwrap().to_owned();
    nothing("start");
    let notice = format!("`ostler trust {}`", world.path("inn").canonicalize().unwrap().display());
    assert!(started.errors.contains(&notice), "{}", started.errors);
    let log = format!("{:?}", world.log(&task));
    assert!(log.contains(&notice), "{log}");
    end_app_servers(&world);
    well(&world.run(&["send", &task, "more", "--wait"]));
    nothing("send, which resumes");
    well(&world.run(&["fork", &task, "again", "--wait"]));
    nothing("fork");
    well(&world.run(&["start", "x", "--wait", "--sandbox", "danger-full-access"]));
    nothing("start without a sandbox");
    well(&world.run(&["start", "x", "--wait", "--worktree"]));
    nothing("start in a worktree");
    let run = world.run(&["--json", "run", "x", "--sandbox", "workspace-write"]);
    well(&run);
    nothing("run");
    let last: serde_json::Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
    let thread = last["thread"].as_str().unwrap_or_else(|| panic!("{last}")).to_owned();
    well(&world.run(&["run", "--resume", &thread, "y"]));
    nothing("run --resume");
    well(&world.run(&["run", "--fork", &thread, "y"]));
    nothing("run --fork");
    well(&world.run(&["chat", "-q", "x", "--runtime", "codex_app_server"]));
    nothing("chat");

    let shown = world.run(&["trust", "."]);
    assert_eq!(shown.exit, 2, "{}", shown.errors);
    assert!(shown.errors.contains("mcp_servers.canary.command"), "{}", shown.errors);
    let agent =
        world.command(&["trust", "--yes", "."]).env("CODEX_THREAD_ID", "t").output().unwrap();
    assert_eq!(agent.status.code(), Some(2), "{agent:?}");
    well(&world.run(&["start", "x", "--wait"]));
    nothing("start after an agent wanted trust");

    well(&world.run(&["trust", "--yes", "."]));
    assert_eq!(world.json(&["trust", "--list"])["folders"][0]["state"], "trusted");
    well(&world.run(&["start", "x", "--wait"]));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ran(&world).contains(&"mcp".to_owned()) {
        assert!(
            Instant::now() < deadline,
            "what a person trusts is not started: {:?}",
            ran(&world)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(codex_file(), before, "trust is no matter of Codex's own file");

    let canary = world.path("inn/canary.sh");
    fs::write(&canary, fs::read_to_string(&canary).unwrap() + "# changed\n").unwrap();
    end_app_servers(&world);
    fs::remove_file(world.path("ran")).unwrap();
    let changed = world.run(&["start", "x", "--wait"]);
    well(&changed);
    nothing("start after a program of the folder has changed");
    assert!(changed.errors.contains("has changed since it was trusted"), "{}", changed.errors);
    well(&world.run(&["trust", "--remove", "."]));
    assert_eq!(world.json(&["trust", "--list"])["folders"], json!([]));
}

/// What Codex itself wrote on an earlier start cannot be told from what the user wrote.
#[rstest]
fn the_trust_in_codex_s_own_file_does_not_count(#[values("0.142.5", "0.169.0")] version: &str) {
    let world = world(version);
    std::os::unix::fs::symlink(world.path("inn"), world.path("link")).unwrap();
    let file = world.path("home/config.toml");
    let folder = world.path("inn").canonicalize().unwrap();
    let trusted =
        format!("\n[projects.{:?}]\ntrust_level = \"trusted\"\n", folder.display().to_string());
    fs::write(&file, fs::read_to_string(&file).unwrap() + &trusted).unwrap();
    let before = fs::read(&file).unwrap();
    fs::create_dir(world.path("inn/stall")).unwrap();

    for folder in [".", "stall", "../link", "../link/stall"] {
        well(&world.run(&["start", "x", "--wait", "--cd", folder]));
        well(&world.run(&["start", "x", "--wait", "--cd", folder, "--sandbox", "read-only"]));
        well(&world.run(&["run", "x", "--cd", folder]));
        assert_eq!(ran(&world), [""; 0], "{folder}");
    }
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_person_at_a_terminal_is_asked_once() {
    let world = world("0.166.0");
    let no = |answer: &str| {
        let mut terminal = world.on_terminal(&["start", "x", "--wait"]);
        terminal.wait_for("[y/N]", 1).unwrap();
        assert!(terminal.shown().contains("mcp_servers.canary.command"), "{}", terminal.shown());
        terminal.type_in(answer).unwrap();
        assert_eq!(terminal.exit_code().unwrap(), 0, "{}", terminal.shown());
    };
    no("\n");
    assert_eq!(world.json(&["trust", "--list"])["folders"][0]["state"], "not trusted");
    assert_eq!(ran(&world), [""; 0]);
    let mut again = world.on_terminal(&["start", "x", "--wait"]);
    assert_eq!(again.exit_code().unwrap(), 0, "{}", again.shown());
    assert!(again.shown().contains("is not trusted"), "{}", again.shown());

    well(&world.run(&["trust", "--remove", "."]));
    no("y\n");
    assert_eq!(world.json(&["trust", "--list"])["folders"][0]["state"], "trusted");
}

/// A repository can hold another one as plain files, whose configuration comes along with a clone.
#[rstest]
fn a_repository_inside_of_a_clone_starts_nothing(
    #[values("0.130.0", "0.142.5", "0.169.0")] version: &str,
) {
    let world = world(version);
    let inner = world.path("inn/inner");
    let mut git = Command::new("git");
    git.args(["init", "--quiet", "--bare"]).arg(&inner);
    assert!(world.at_home(&mut git).output().unwrap().status.success());
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = tree\n\tfsmonitor = \"{} fsmonitor\"\n",
        world.path("inn/canary.sh").display()
    );
    fs::write(inner.join("config"), config).unwrap();
    fs::create_dir(inner.join("tree")).unwrap();
    fs::write(inner.join("tree/file"), "x").unwrap();
    // The canary is one: git itself starts it.
    let mut git = Command::new("git");
    git.args(["-C", inner.to_str().unwrap(), "status"]);
    drop(world.at_home(&mut git).output().unwrap());
    assert_eq!(ran(&world), ["fsmonitor"]);
    fs::remove_file(world.path("ran")).unwrap();

    for folder in ["inner", "inner/tree"] {
        well(&world.run(&["start", "x", "--wait", "--cd", folder]));
        well(&world.run(&["run", "x", "--cd", folder]));
        assert_eq!(ran(&world), [""; 0], "{folder}");
    }
}

/// A command in the sandbox can put a repository where a submodule belongs, and git looks into it.
#[rstest]
fn a_repository_in_the_place_of_a_submodule_starts_nothing(
    #[values("0.130.0", "0.142.5", "0.166.0", "0.169.0")] version: &str,
) {
    let world = world(version);
    let git = |folder: &str, arguments: &[&str]| {
        let mut git = Command::new("git");
        world.at_home(git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments));
        let done = git.current_dir(world.path(folder)).output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {done:?}");
    };
    let sub = world.path("inn/sub");
    fs::create_dir(&sub).unwrap();
    git("inn/sub", &["init", "--quiet"]);
    fs::write(sub.join("f"), "one\n").unwrap();
    git("inn/sub", &["add", "f"]);
    git("inn/sub", &["commit", "--quiet", "--message", "one"]);
    git("inn", &["add", "sub"]);
    git("inn", &["commit", "--quiet", "--message", "with a submodule"]);
    let filter = format!("{} filter", world.path("inn/canary.sh").display());
    git("inn/sub", &["config", "filter.x.clean", &filter]);
    fs::write(sub.join(".git/info/attributes"), "f filter=x\n").unwrap();
    fs::write(
        world.path("inn/.gitmodules"),
        "[submodule \"s\"]\n\tpath = sub\n\turl = x\n\tignore = none\n",
    )
    .unwrap();
    let mut seconds = 0;
    let mut change = || {
        seconds += 1;
        fs::write(sub.join("f"), "one\n").unwrap();
        let file = fs::File::options().write(true).open(sub.join("f")).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.set_modified(time).unwrap();
    };
    change();
    // The canary is one: git itself starts it.
    git("inn", &["-c", "diff.ignoreSubmodules=all", "status"]);
    assert_eq!(ran(&world), ["filter"]);
    fs::remove_file(world.path("ran")).unwrap();

    change();
    let started = world.run(&["start", "x", "--wait"]);
    let task = well(&started).lines().next().unwrap().to_owned();
    change();
    well(&world.run(&["send", &task, "more", "--wait"]));
    change();
    well(&world.run(&["run", "x"]));
    assert_eq!(ran(&world), [""; 0]);
}

#[test]
fn what_only_the_repository_has_git_run_is_told() {
    let world = world("0.166.0");
    for (setting, program) in [
        ("filter.shout.clean", "tr a-z A-Z"),
        ("filter.shout.smudge", "cat"),
        ("filter.lfs.process", "git-lfs filter-process"),
    ] {
        let mut git = Command::new("git");
        world.at_home(git.args(["config", setting, program]));
        assert!(git.output().unwrap().status.success());
    }
    let started = world.run(&["start", "x", "--wait"]);
    let task = well(&started).lines().next().unwrap().to_owned();
    let log = format!("{:?}", world.log(&task));
    assert!(log.contains("has git run `tr a-z A-Z` (filter.shout.clean)"), "{log}");
    assert_eq!(log.matches("has git run").count(), 1, "{log}");
}

/// From 0.166.0 on Codex reads it only in a folder that it trusts.
#[rstest]
fn a_folder_that_brings_nothing_along_keeps_its_instructions(
    #[values("0.142.5", "0.169.0")] version: &str,
) {
    let world = World::with(version, Vec::new(), ALLOWED);
    fs::write(world.path("inn/AGENTS.md"), "Hay is in the loft.\n").unwrap();
    let before = fs::read(world.path("home/config.toml")).unwrap();
    let started = world.run(&["start", "x", "--wait"]);
    well(&started);
    assert!(!started.errors.contains("ostler trust"), "{}", started.errors);
    let told = world.model.requests();
    let told: Vec<_> = told.iter().map(|it| String::from_utf8_lossy(&it.body)).collect();
    assert!(told.iter().any(|body| body.contains("Hay is in the loft.")), "{told:?}");
    assert_eq!(fs::read(world.path("home/config.toml")).unwrap(), before);
}

/// Between our look at a folder and Codex's, a command of the other task could put a program there.
#[rstest]
fn nothing_is_trusted_where_another_task_may_put_programs_meanwhile(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let asks = vec![crate::command(crate::LEAVES_A_LINE), text("Done.")];
    let talk = ostler_scripted_model::Conversation { prompt: PROMPT.to_owned(), answers: asks };
    let world = World::with(version, vec![talk], ALLOWED);
    let stall = world.path("inn/stall");
    fs::create_dir_all(&stall).unwrap();
    plant(&stall, &world.path("ran"));
    let bare = world.path("inn/bare");
    fs::create_dir(&bare).unwrap();
    fs::write(bare.join("AGENTS.md"), "Hay is in the loft.\n").unwrap();
    let start = |folder: &str| {
        let started = world.run(&["start", "x", "--wait", "--cd", folder]);
        well(&started);
        format!("{:?}", world.log(started.out.lines().next().unwrap()))
    };
    well(&world.run(&["trust", "--yes", "stall"]));
    let notice = "another task may write in";
    assert!(!start("stall").contains(notice));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ran(&world).contains(&"mcp".to_owned()) {
        assert!(Instant::now() < deadline, "what is trusted is not started");
        std::thread::sleep(Duration::from_millis(20));
    }
    end_app_servers(&world);
    fs::remove_file(world.path("ran")).unwrap();

    let (task, ask) = world.start_asking();
    for folder in ["stall", "bare"] {
        let log = start(folder);
        assert!(log.contains(notice), "{folder}: {log}");
    }
    assert_eq!(ran(&world), [""; 0]);
    well(&world.run(&["answer", &ask, "once"]));
    well(&world.run(&["wait", &task]));
    assert!(start("stall").contains(notice), "what its commands have started may run on");
    assert_eq!(ran(&world), [""; 0]);
    assert!(
        !start(".").contains(notice),
        "Codex keeps it read-only in the other task's own folder"
    );
}
