//! Servers of another program, migrated, listed and called by real Codex.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ostler_scripted_model::{Answer, Call};
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browsing::{allowing, serve, until_no_browser_runs};
use crate::dynamic_tools::todos;
use crate::world::{Plan, World, outcome};
use crate::{conversation, exec, text};

const SERVER: &str = include_str!("migrated.mjs");

/// Two secrets that stand in the other program's file in clear.
const HAY: &str = "ghp_hay0and1oats2for3the4grey5mare6";
const OATS: &str = "oats-token-9d8f7a6b5c4d3e2f1a";

/// One that its variable does not look like.
const BARN: &str = "thatched-roof";

/// Secrets of other shapes: the letters, the variable that they are taken from, what the program reads, and where they stand in its file.
const STRAW: [(&str, &str, &str, &str); 4] = [
    (
        "7Hq3rT9xK2mN5pL8vB4wZ6yD",
        "STRAW_REMOTE",
        "https://mcp.example/s/7Hq3rT9xK2mN5pL8vB4wZ6yD/mcp",
        "args[4]",
    ),
    ("chaff/and/bran", "STRAW_PASS", "chaff/and/bran", "args[6]"),
    ("thatched-roof", "STRAW_DB", "postgres://ana:thatched-roof@db.example/x", "env.STRAW_DB"),
    (
        "oatsandhayandoats",
        "STRAW_WEBHOOK_URL",
        "https://hooks.slack.com/services/T1/B1/oatsandhayandoats",
        "env.STRAW_WEBHOOK_URL",
    ),
];

/// The other program: its file, and the server that it reaches over HTTP.
struct Neighbour {
    folder: TempDir,
    server: Child,
}

impl Neighbour {
    /// With two servers, or with a third whose secrets all must be set for it to start.
    fn new(has_straw: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("server.mjs");
        fs::write(&program, SERVER).unwrap();
        let node = Command::new("node").args(["-p", "process.execPath"]).output().unwrap();
        let node = String::from_utf8(node.stdout).unwrap().trim().to_owned();
        let mut server = Command::new(&node)
            .arg(&program)
            .args(["http", "weigh"])
            .env("EXPECTED", OATS)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let file = format!(
            "model: x\nmcp_servers:\n  hay:\n    command: {node}\n    args: [{program:?}, stdio, cut]\n    \
             env: {{HAY_TOKEN: {HAY}, STABLE: north}}\n    timeout: 20\n  oats:\n    url: http://127.0.0.1:{}/mcp\n    \
             headers: {{Authorization: 'Bearer {OATS}', X-Team: horses}}\n    sampling: {{}}\n",
            port.trim()
        );
        let [(_, _, remote, _), (_, _, password, _), _, (_, _, hook, _)] = STRAW;
        let straw = format!(
            "  straw:\n    command: {node}\n    \
             args: [{program:?}, stdio, bind, --remote, {remote:?}, --password, '${{STRAW_PASS:-{password}}}']\n    \
             env: {{STRAW_DB: 'postgres://${{DB_USER}}:thatched-roof@db.example/x', STRAW_WEBHOOK_URL: {hook:?}}}\n"
        );
        let barn = format!("STABLE: north, BARN: 'postgres://ana:{BARN}@db.example/x'}}");
        let file = match has_straw {
            true => file + &straw,
            false => file.replace("STABLE: north}", &barn),
        };
        fs::write(folder.path().join("config.yaml"), file).unwrap();
        Self { folder, server }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// Up to 0.130.0 the namespace ends with the separator.
fn tool(version: &str, server: &str, name: &str) -> Answer {
    tool_with(version, server, name, json!({}))
}

pub(crate) fn tool_with(version: &str, server: &str, name: &str, arguments: Value) -> Answer {
    let end = if version == "0.130.0" { "__" } else { "" };
    let namespace = Some(format!("mcp__{server}{end}"));
    let call = Call { namespace, ..Call::function(name, arguments) };
    Answer { calls: vec![call], ..Answer::default() }
}

/// Every file below a folder that holds one of the texts.
fn holders(folder: &Path, texts: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            holders(&entry.path(), texts, found);
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            let holds = |text: &&str| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
            if texts.iter().any(holds) {
                found.push(entry.path());
            }
        }
    }
}

#[rstest]
fn codex_lists_and_calls_what_was_migrated_and_no_file_has_the_secret(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
    #[values("overlay", "write", "switch")] mode: &str,
) {
    let answers = vec![
        tool(version, "hay", "cut"),
        tool(version, "oats", "weigh"),
        tool(version, "straw", "bind"),
        text("Fed."),
    ];
    let codex = vec![conversation("feed them all", answers)];
    let tasks = "\n[environment]\npass = [\"HAY_TOKEN\", \"OATS_TOKEN\", \"STRAW_REMOTE\", \"STRAW_PASS\", \
                 \"STRAW_DB\", \"STRAW_WEBHOOK_URL\"]";
    let world = World::new(Plan { version, codex, tasks, ..Plan::default() });
    let neighbour = Neighbour::new(true);
    let file = neighbour.file();
    let config = world.path("home/config.toml");
    let before = fs::read_to_string(&config).unwrap();
    if mode == "switch" {
        let place = world.path("o/config/config.toml");
        let settings = fs::read_to_string(&place).unwrap();
        fs::write(place, format!("{settings}\n[migrate]\nfrom = [{file:?}]\n")).unwrap();
        let switched = outcome(&world.run(&["runtime", "codex", "--json"]));
        let told = switched["message"].as_str().unwrap();
        let servers = "MCP servers for Codex: ostler-tools, hay, oats, straw";
        assert!(told.lines().any(|line| line == servers), "{told}");
    } else {
        let from = file.to_str().unwrap();
        let mut arguments = vec!["migrate", "--no-secrets", "--json", "--from", from];
        arguments.extend((mode == "write").then_some("--write"));
        let report = outcome(&world.run(&arguments));
        let names: Vec<&str> = report["servers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|server| server["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["ostler-tools", "hay", "oats", "straw"], "{report}");
        let mut variables: Vec<(&str, &str)> = report["variables"]
            .as_array()
            .unwrap()
            .iter()
            .map(|variable| (&variable["name"], &variable["holds"]))
            .map(|(name, holds)| (name.as_str().unwrap(), holds.as_str().unwrap_or("nowhere")))
            .collect();
        let mut expected =
            vec![("HAY_TOKEN", "env.HAY_TOKEN"), ("OATS_TOKEN", "headers.Authorization")];
        expected.extend(STRAW.map(|(_, name, _, holds)| (name, holds)));
        variables.sort_unstable();
        expected.sort_unstable();
        assert_eq!(variables, expected, "{report}");
    }

    let mut chat =
        world.command(&["chat", "-q", "feed them all", "--json", "--runtime", "codex_app_server"]);
    chat.env("HAY_TOKEN", HAY).env("OATS_TOKEN", OATS);
    chat.envs(STRAW.map(|(_, name, value, _)| (name, value)));
    let found = outcome(&chat.output().unwrap());

    assert_eq!(found["final_response"], "Fed.", "{found}");
    let requests: Vec<Value> = world.codex.requests().iter().map(|it| it.json()).collect();
    let listed = requests[0]["tools"].to_string();
    assert!(listed.contains("mcp__hay") && listed.contains("mcp__oats"), "{listed}");
    let told = requests.last().unwrap()["input"].to_string();
    let backwards: String = HAY.chars().rev().collect();
    assert!(told.contains(&format!("cut with {backwards} in north")), "{told}");
    assert!(told.contains("weigh for horses"), "{told}");
    for (_, _, value, _) in STRAW {
        let backwards: String = value.chars().rev().collect();
        assert!(told.contains(&backwards), "{value}: {told}");
    }
    world.wait_until_no_codex_runs();
    let mut found = Vec::new();
    let secrets: Vec<&str> = [HAY, OATS].into_iter().chain(STRAW.map(|straw| straw.0)).collect();
    holders(&world.path(""), &secrets, &mut found);
    assert_eq!(found, Vec::<PathBuf>::new());

    let after = fs::read_to_string(&config).unwrap();
    assert_eq!(after.contains("# >>> ostler"), mode == "write");
    assert!(world.run(&["migrate", "--undo"]).status.success());
    let undone = fs::read_to_string(&config).unwrap();
    // Codex writes into its file itself, and that stays: it trusts the folder that it worked in.
    assert!(undone.starts_with(&before) || undone == before, "{undone}");
    assert!(!undone.contains("mcp_servers"), "{undone}");
    assert!(!world.path("o/state/migrate/overlay.json").exists());
}

/// The tools of the agent are its own: nobody has to be asked, and a page is a real page.
#[rstest]
fn codex_uses_the_agents_own_tools_and_looks_at_a_real_page(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let port = serve();
    let of = |name: &str, arguments| tool_with(version, "ostler_tools", name, arguments);
    let mare = json!({ "action": "add", "target": "user", "content": "Ada rides a bay mare." });
    let answers = vec![
        of("browser_navigate", json!({ "url": format!("http://localhost:{port}/") })),
        of("browser_click", json!({ "ref": "@e1" })),
        of("browser_navigate", json!({ "url": format!("http://127.0.0.1:{port}/") })),
        of("memory", mare),
        text("Warm stables."),
    ];
    let codex = vec![conversation("look at the inn", answers)];
    let world = World::new(Plan { version, codex, agent: allowing(port), ..Plan::default() });
    assert!(world.run(&["migrate"]).status.success());

    let found = world.ask("look at the inn", &["--runtime", "codex_app_server"]);

    assert_eq!(
        (&found["final_response"], &found["declined"]),
        (&json!("Warm stables."), &json!(0))
    );
    let told = world.codex.requests().last().unwrap().json()["input"].to_string();
    // How often the quotes around it are escaped depends on the version.
    for said in ["title: The inn", "- button ", "@e1", "127.0.0.1 is refused"] {
        assert!(told.contains(said), "{said} in {told}");
    }
    let memory = fs::read_to_string(world.path("o/state/agent/memories/USER.md")).unwrap();
    assert!(memory.contains("Ada rides a bay mare."), "{memory}");
    world.wait_until_no_codex_runs();
    until_no_browser_runs(&world.path("o/state/agent/browser"));
}

/// Also what stands in Codex's own file learns for whom it works: what is noted is the conversation's, and outlives the server.
#[rstest]
fn the_agents_own_tools_know_their_conversation_and_task_from_codexs_own_file(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let of = |arguments| tool_with(version, "ostler_tools", "todo", arguments);
    let list = json!({ "todos": [{ "id": "1", "content": "feed the mare", "status": "pending" }] });
    let codex = vec![
        conversation("what is left", vec![of(json!({})), text("The mare.")]),
        conversation("note it down", vec![of(list.clone()), text("Noted.")]),
        conversation("note it as a task", vec![of(list), text("Noted, too.")]),
    ];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    assert!(world.run(&["migrate", "--write"]).status.success());

    let found = world.ask("note it down", &["--runtime", "codex_app_server"]);
    assert_eq!((&found["final_response"], &found["declined"]), (&json!("Noted."), &json!(0)));
    assert!(todos(&world).contains("feed the mare"));
    world.wait_until_no_codex_runs();
    let found = world.ask("what is left", &["--resume", "last"]);
    assert_eq!(found["final_response"], "The mare.", "{found}");
    let told = world.codex.requests().last().unwrap().json()["input"].clone();
    let listed = told.as_array().unwrap().last().unwrap().to_string();
    assert!(listed.contains("feed the mare"), "{told}");

    let started = outcome(&world.run(&["start", "note it as a task", "--json"]));
    let task = started["task"]["id"].as_str().unwrap();
    assert!(world.run(&["wait", task]).status.success(), "{started}");
    let kept = outcome(&world.run(&["show", task, "--json"]));
    let ours = kept["task"]["settings"]["config"]["mcp_servers.ostler-tools"].as_str();
    assert!(ours.is_some_and(|ours| ours.contains(task)), "{kept}");
    world.wait_until_no_codex_runs();
}

/// A task gets them where the settings say so, and only there.
#[rstest]
fn tasks_get_what_was_migrated_if_they_are_to(#[values(true, false)] for_tasks: bool) {
    let answers = vec![tool("0.166.0", "hay", "cut"), text("Fed.")];
    let codex = vec![conversation("feed the mule", answers)];
    let world = World::new(Plan { codex, ..Plan::default() });
    let neighbour = Neighbour::new(false);
    let place = world.path("o/config/config.toml");
    let settings = fs::read_to_string(&place).unwrap();
    fs::write(place, format!("{settings}\n[migrate]\nfor_tasks = {for_tasks}\n")).unwrap();
    let file = neighbour.file();
    let arguments = ["migrate", "--no-secrets", "--from", file.to_str().unwrap()];
    assert!(world.run(&arguments).status.success());

    let started = outcome(&world.run(&["start", "feed the mule", "--json"]));
    let task = started["task"]["id"].as_str().unwrap();
    assert!(world.run(&["wait", task]).status.success(), "{started}");

    let told = world.codex.requests().last().unwrap().json()["input"].to_string();
    let kept = outcome(&world.run(&["show", task, "--json"]));
    let ours = kept["task"]["settings"]["config"]["mcp_servers.ostler-tools"].as_str();
    assert_eq!(ours.is_some_and(|ours| ours.contains(task)), for_tasks, "{kept}");
    // The variable is not set, and the server works without it.
    assert_eq!(told.contains("cut with gnihton in north"), for_tasks, "{told}");
    world.wait_until_no_codex_runs();
}

/// Whether any process has one of the texts in its arguments.
fn is_argument(texts: &[&str]) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut arguments = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    arguments.any(|words| {
        texts.iter().any(|text| memchr::memmem::find(&words, text.as_bytes()).is_some())
    })
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

/// What was stored reaches the programs that it is for, and nothing else: no other file, no log, no event, no argument, and no
/// command of the model, although the model says it.
#[rstest]
fn stored_secrets_reach_their_servers_alone(
    #[values("0.142.5", "0.166.0")] version: &'static str,
    #[values("overlay", "write")] mode: &str,
) {
    let says = format!("Fed with {OATS} and {BARN}.");
    let looks = exec(
        "echo \"<$HAY_TOKEN$OATS_TOKEN$BARN>\"; cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c ^HAY_TOKEN=.",
    );
    let codex = vec![
        conversation("say it", vec![text(&says)]),
        conversation(
            "feed them all",
            vec![tool(version, "hay", "cut"), tool(version, "oats", "weigh"), looks, text("Fed.")],
        ),
    ];
    let world = World::new(Plan { version, codex, ..Plan::default() });
    let neighbour = Neighbour::new(false);
    let file = neighbour.file();
    let mut arguments = vec!["migrate", "--json", "--from", file.to_str().unwrap()];
    arguments.extend((mode == "write").then_some("--write"));
    let report = outcome(&world.run(&arguments));
    let stored = world.path("o/state/migrate/secrets.json");
    assert_eq!(report["secrets_file"], json!(stored), "{report}");
    assert_eq!(fs::metadata(&stored).unwrap().permissions().mode() & 0o7777, 0o600);
    let secrets = [HAY, OATS, BARN];

    let mut chat =
        world.command(&["chat", "-q", "feed them all", "--json", "--runtime", "codex_app_server"]);
    let chat = chat.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let watcher = thread::spawn({
        let over = over.clone();
        move || {
            let mut found = false;
            while !over.load(Ordering::Relaxed) {
                found |= is_argument(&secrets);
                thread::sleep(Duration::from_millis(20));
            }
            found
        }
    });
    let output = chat.wait_with_output().unwrap();
    over.store(true, Ordering::Relaxed);
    assert!(!watcher.join().unwrap(), "a secret is an argument");
    let found = outcome(&output);
    assert_eq!(found["final_response"], "Fed.", "{found}");
    let told = world.codex.requests().last().unwrap().json()["input"].to_string();
    assert!(told.contains(&format!("cut with {} in north", backwards(HAY))), "{told}");
    assert!(told.contains("weigh for horses"), "{told}");
    assert!(told.contains("<>\\n0\\n"), "{told}");
    let mut holding = Vec::new();
    holders(&world.path(""), &secrets, &mut holding);
    assert_eq!(holding, [stored.as_path()]);

    // What Codex keeps of its own is not for us to change.
    let said = world.run(&["chat", "-q", "say it", "--resume", "last", "--json"]);
    let task = outcome(&world.run(&["ls", "--all", "--json"]));
    let task = task["tasks"][0]["id"].as_str().unwrap();
    let log = world.run(&["logs", task, "--json"]);
    for (name, output) in [("chat", &said), ("logs", &log), ("report", &output)] {
        let text = format!("{output:?}");
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{name}: {text}");
    }
    assert_eq!(outcome(&said)["final_response"], "Fed with ‹redacted› and ‹redacted›.");
    assert!(!secrets.iter().any(|secret| report.to_string().contains(secret)), "{report}");
    world.wait_until_no_codex_runs();
    let mut holding = Vec::new();
    holders(&world.path("o"), &secrets, &mut holding);
    assert_eq!(holding, [stored.as_path()]);

    assert!(world.run(&["migrate", "--undo"]).status.success());
    assert!(!stored.exists());
}

/// What is set where the daemon runs wins, and a file that others can read is not used.
#[rstest]
fn a_set_variable_wins_and_an_open_file_is_refused(#[values("set", "open")] case: &str) {
    let codex = vec![conversation("feed them", vec![tool("0.166.0", "hay", "cut"), text("Fed.")])];
    let world = World::new(Plan { codex, ..Plan::default() });
    let neighbour = Neighbour::new(false);
    let file = neighbour.file();
    assert!(world.run(&["migrate", "--from", file.to_str().unwrap()]).status.success());
    let stored = world.path("o/state/migrate/secrets.json");
    if case == "open" {
        fs::set_permissions(&stored, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let arguments = ["chat", "-q", "feed them", "--json", "--runtime", "codex_app_server"];
    let mut chat = world.command(&arguments);
    if case == "set" {
        chat.env("HAY_TOKEN", "straw");
    }
    let found = outcome(&chat.output().unwrap());
    assert_eq!(found["final_response"], "Fed.", "{found}");
    let told = world.codex.requests().last().unwrap().json()["input"].to_string();
    let expected =
        if case == "set" { "cut with warts in north" } else { "cut with gnihton in north" };
    assert!(told.contains(expected), "{told}");
    if case == "open" {
        let doctor = outcome(&world.run(&["doctor", "--json"]));
        let said = doctor.to_string();
        assert!(
            said.contains("can be read by other users (mode 0644), so it is not used"),
            "{said}"
        );
        assert!(said.contains("chmod 600"), "{said}");
    }
    world.wait_until_no_codex_runs();
}
