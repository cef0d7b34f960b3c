//! Other programs run Codex here, by stdin and stdout and over HTTP, in both ways in which MCP clients begin.

use ostler_scripted_model::{Answer, Call, Plays};
use rstest::rstest;
use serde_json::{Value, json};

use crate::python::story;
use crate::world::World;
use crate::{LEAVES_A_LINE, NEWEST, PROMPT, command, conversation, text};

/// A machine whose daemon listens on TCP, and what its Python client is told of it.
fn world(answers: Vec<Answer>, more: &str) -> World {
    let conversations =
        vec![conversation(PROMPT, answers), conversation("feed the horse", vec![text("Fed.")])];
    let server = format!("\n[server]\nlisten = \"127.0.0.1:0\"\n{more}");
    World::with(NEWEST, conversations, &server)
}

fn by(world: &World, way: &str, scopes: &[&str]) -> Vec<(&'static str, String)> {
    if way == "stdio" {
        return Vec::new();
    }
    let mut words = vec!["token", "new", "test"];
    for scope in scopes {
        words.extend(["--scope", scope]);
    }
    let token = world.json(&words)["token"].as_str().unwrap().to_owned();
    let listens = world.json(&["daemon", "status"])["listens"].clone();
    vec![("TOKEN", token), ("URL", format!("http://{}/mcp", listens["address"].as_str().unwrap()))]
}

/// Runs until the file `go` is there.
const UNTIL_GO: &str = "sh -c 'touch begun; until [ -e go ]; do sleep 0.05; done; echo it went on'";
const FOR_LONG: &str = "sh -c 'touch begun-again; until [ -e never ]; do sleep 0.05; done'";

#[rstest]
fn start_status_steer_interrupt(
    #[values("stdio", "http")] way: &str,
    #[values("initialize", "discover")] era: &str,
) {
    // Both last also if Codex stops waiting for them.
    let until_go = Answer { plays: Plays::Until("it went on".to_owned()), ..command(UNTIL_GO) };
    let for_long = Answer { plays: Plays::Forever, ..command(FOR_LONG) };
    let world = world(vec![until_go, for_long], "");
    let told = story(&world, ["steering", way, era, "mcp-test"], &by(&world, way, &["operate"]));

    let read = [true, false, false].map(Value::from).to_vec();
    let changes = [false, true, false].map(Value::from).to_vec();
    let adds = [false, false, false].map(Value::from).to_vec();
    let expected = json!({
        "codex_asks": read, "codex_bridge": changes, "codex_diff": read, "codex_goal": changes, "codex_interrupt": changes, "codex_list": read,
        "codex_logs": read, "codex_notify_completed": adds, "codex_respond": changes, "codex_send": changes,
        "codex_start": changes, "codex_status": read, "codex_steer": adds, "codex_wait": read,
    });
    assert_eq!(told["tools"], expected);
    assert_eq!(told["started"], json!(["workspace-write", "on-request"]));
    assert_eq!(told["status"], json!(["working", true, []]));
    assert_eq!(told["steered"], "working");
    assert_eq!(told["waited"], json!([true, true]));
    assert_eq!(told["ended"], json!(["cancelled", true]));
    assert_eq!(
        told["again"],
        "nothing runs that could be steered: the task is cancelled\nWhat to do: codex_send gives it more to do, in the same conversation"
    );
    assert_eq!(
        told["over"],
        "nothing runs that could be ended: the task is cancelled\nWhat to do: there is nothing to do"
    );
    assert_eq!(told["mine"], json!([true]));
    assert_eq!(told["news"], json!([[1, 1, 0], "cancelled"]));
    assert_eq!(told["deliveries"], json!([["local", "cancelled"]]));
    let templates = json!(["ostler://tasks/{task_id}/diff", "ostler://tasks/{task_id}/log"]);
    assert_eq!(told["templates"], templates);
    assert_eq!(told["resources"], true);
    assert_eq!(told["log"], json!([true, true]));
    assert_eq!(told["diff"], "text/x-diff");
    assert_eq!(told["missing"], "there is nothing at \"ostler://tasks/nosuchtask/log\"");
    // The second request of the model has what was steered.
    let bodies = world.model.requests();
    let steered = bodies
        .iter()
        .filter(|request| String::from_utf8_lossy(&request.body).contains("mind the left hoof"));
    assert!(steered.count() >= 1);
    // Who it was is written down, as far as it is known.
    let by = told["by"].as_str().unwrap();
    match (way, era) {
        ("stdio", _) => assert!(by.ends_with(" (mcp mcp-test)"), "{by}"),
        (_, "discover") => assert_eq!(by, "token test (mcp mcp-test)"),
        // Nothing is kept between two requests, and in the older way only the first one says who asks.
        _ => assert!(by.starts_with("token test (mcp "), "{by}"),
    }
}

#[rstest]
fn what_needs_approval_is_refused_to_the_program_and_answered_by_a_person(
    #[values("stdio", "http")] way: &str,
    #[values("initialize", "discover")] era: &str,
) {
    let world = world(vec![command(LEAVES_A_LINE), text("Harnessed.")], "");
    // The right to decide alone does not help: the operator must have named the program.
    let scopes = ["operate", "decide"];
    let told = story(&world, ["approval", way, era, "mcp-test"], &by(&world, way, &scopes));

    assert_eq!(told["waits"], json!(["waiting_for_approval", true, "command", true]));
    assert_eq!(told["refused"], json!([true, true]));
    assert_eq!(told["still"], "waiting_for_approval");
    assert_eq!(told["done"], json!(["completed", "Harnessed."]));
    assert_eq!(told["fed"], json!([true, "Fed.", 2]));
    assert_eq!(told["logs"], true);
    assert_eq!(world.lines("ran.log"), 1);
    // Both attempts are in the log of the task.
    let log = world.log(told["task"].as_str().unwrap());
    let attempts = log.iter().filter(|line| line.to_string().contains("self_approval_refused"));
    assert_eq!(attempts.count(), 2);
}

#[rstest]
fn a_program_that_the_operator_has_named_decides(#[values("stdio", "http")] way: &str) {
    let more = "\n[mcp]\nmay_decide = [\"groom\", \"token test\"]\n";
    let world = world(vec![command(LEAVES_A_LINE), text("Harnessed.")], more);
    let scopes = ["operate", "decide"];
    let told = story(&world, ["deciding", way, "initialize", "groom"], &by(&world, way, &scopes));

    assert_eq!(told["done"], json!(["completed", "Harnessed."]));
    let by = told["by"].to_string();
    assert!(by.contains("mcp"), "{by}");
    assert_eq!(world.lines("ran.log"), 1);
}

/// A question is no approval: whoever gave the task answers it. Nobody else's program does.
#[test]
fn a_question_is_answered_by_the_program_that_started_the_task() {
    let questions = json!({ "questions": [{
        "id": "colour", "header": "Colour", "question": "Which colour?",
        "options": [
            { "label": "Bay", "description": "brown with black" },
            { "label": "Grey", "description": "white in the end" },
        ],
    }] });
    let call = Call::function("request_user_input", questions);
    let asks = Answer { calls: vec![call], ..Answer::default() };
    let world = world(vec![asks, text("Understood.")], "");
    let told = story(&world, ["questions", "stdio", "initialize", "mcp-test"], &[]);

    assert_eq!(told["without a schema"], json!([]));
    assert_eq!(told["known"], json!([false, true, true]));
    assert_eq!(told["started"], json!(["read-only", "on-request"]));
    assert_eq!(told["waits"], json!(["waiting_for_user_input", "user_input"]));
    assert!(told["foreign"].as_str().unwrap().contains("may not answer"), "{told}");
    assert_eq!(told["answered"], true);
    assert_eq!(told["done"], json!(["completed", "Understood."]));
    let bodies = world.model.requests();
    let says =
        |words: &str| bodies.iter().any(|request| request.json().to_string().contains(words));
    assert!(says("Speak of horses alone.") && says("Bay"));
}

#[rstest]
fn refusals_say_what_to_do(#[values("stdio", "http")] way: &str) {
    let world = world(vec![text("Done.")], "");
    let told =
        story(&world, ["refusals", way, "discover", "mcp-test"], &by(&world, way, &["operate"]));

    // Whoever uses tools is told of tools.
    assert!(!told.to_string().contains("/v1/tasks"), "{told}");
    let said = |key: &str| told[key].as_str().unwrap().to_owned();
    assert_eq!(
        said("empty"),
        "prompt is missing: say what Codex shall do\nWhat to do: the schema of the tool says what each field takes"
    );
    assert_eq!(
        said("sandbox"),
        "danger-full-access is not given out here\nWhat to do: use workspace-write: Codex asks a person for what goes beyond it"
    );
    assert_eq!(
        said("approval"),
        "a task that never asks is not started here\nWhat to do: use on-request: Codex asks a person only for what goes beyond its sandbox"
    );
    assert!(said("target").contains("carrier-pigeon"), "{}", said("target"));
    assert!(said("address").contains("comes by MCP"), "{}", said("address"));
    assert!(said("folder").contains("absolute"), "{}", said("folder"));
    assert!(said("action").contains("notify_completed, steer"));
    assert!(said("field").contains("unknown field `horse`"), "{}", said("field"));
    assert_eq!(
        said("no task"),
        "there is no task nosuchtask\nWhat to do: codex_list shows the tasks"
    );
    assert!(said("no id").starts_with("\"../../v1/tokens\" is no id"));
    assert_eq!(
        said("no ask"),
        "there is no ask nosuchask\nWhat to do: codex_asks shows what waits for a person"
    );
    assert!(said("unknown").contains("the tools are codex_bridge, codex_start"));
    assert_eq!(world.json(&["ls", "--all"])["tasks"], json!([]));
}

/// A token that may only look can look, and no more.
#[rstest]
fn each_tool_needs_what_its_route_needs() {
    let world = world(vec![text("Done.")], "");
    let told =
        story(&world, ["scopes", "http", "discover", "mcp-test"], &by(&world, "http", &["read"]));
    assert_eq!(told["list"], json!([]));
    assert_eq!(
        told["start"],
        "this needs the scope operate\nWhat to do: `ostler token new --scope operate` makes a token that has it"
    );
}
