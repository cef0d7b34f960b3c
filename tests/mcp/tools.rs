//! Codex uses `ostler tools-mcp`: the agent's own tools, with their schemas as they are.

use std::fs;
use std::os::unix::fs::DirBuilderExt;

use ostler_agent::tools::WriteApproval;
use ostler_agent::{OfferSettings, Offered};
use ostler_scripted_model::Answer;
use ostler_store::conversations::Conversations;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::codex::{allow_all, register};
use crate::python::story;
use crate::world::{World, word};
use crate::{NEWEST, conversation, text, tool};

const CONVERSATION: &str = "a-talk-with-ada";

fn skill(world: &World) {
    let folder = world.path("o/state/agent/skills/shoeing");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    let text =
        "---\nname: shoeing\ndescription: How a horse is shod.\n---\n\nHeat the iron first.\n";
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

#[rstest]
fn codex_uses_the_tools_of_the_agent(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let of =
        |name: &str, arguments: Value| -> Answer { tool(version, "ostler_tools", name, arguments) };
    let todos = json!({ "todos": [{ "id": "1", "content": "heat the iron", "status": "pending" }], "merge": null });
    let answers = vec![
        of("skills_list", json!({})),
        of("skill_view", json!({ "name": "shoeing" })),
        of("session_search", json!({ "query": "horseshoe" })),
        of("todo", todos),
        of(
            "memory",
            json!({ "action": "add", "target": "user", "content": "Ada rides a bay mare." }),
        ),
        of("memory", json!({ "action": "fly" })),
        text("Shod."),
    ];
    let world = World::with(version, vec![conversation("shoe the horse", answers)], "");
    skill(&world);
    register(&world, "home", "ostler-tools", "tools-mcp", &[("OSTLER_CONVERSATION", CONVERSATION)]);
    let words =
        ["start", "shoe the horse", "--approval", "on-request", "--sandbox", "workspace-write"];
    let task = word(&world.json(&words)["task"]["id"]);
    let ended = allow_all(&world, &task);
    assert_eq!(ended["task"]["last_result"]["final_answer"], "Shod.", "{ended}");

    let bodies: Vec<String> = world
        .model
        .requests()
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    let last = bodies.last().unwrap();
    // What looks was not asked about, what changes something was.
    for said in [
        "How a horse is shod.",
        "Heat the iron first.",
        "nothing was found in past conversations",
        "heat the iron",
        "fly",
    ] {
        assert!(last.contains(said), "{said}: {last}");
    }
    let asked = world.log(&task);
    let asked: Vec<_> =
        asked.iter().filter(|line| line["event"]["event"] == "ask_opened").collect();
    assert_eq!(asked.len(), 3, "{asked:?}");
    // What a model is told of a tool is what the tool says. Later versions tell it only when the model searches.
    if version == "0.130.0" {
        let todo = named(&bodies[0], "todo");
        let status = &todo["parameters"]["properties"]["todos"]["items"]["properties"]["status"];
        let words = json!(["pending", "in_progress", "completed", "cancelled"]);
        assert_eq!(status["enum"], words, "{todo}");
    }
    // What was noted belongs to the conversation, where a chat finds it; what is remembered is the agent's.
    let kept = Runtime::new().unwrap().block_on(async {
        let all = Conversations::open(world.path("o/state/conversations.db")).await.unwrap();
        let kept = all.note(CONVERSATION, "todos").await.unwrap().unwrap();
        all.close().await;
        kept
    });
    assert!(kept.contains("heat the iron"), "{kept}");
    let memories = fs::read_dir(world.path("o/state/agent/memories")).unwrap().flatten();
    let texts = memories.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
    assert!(texts.collect::<String>().contains("Ada rides a bay mare."));
}

/// Also what reaches out, whether it is set up or not.
const OFFERED: [&str; 20] = [
    "browser_back",
    "browser_click",
    "browser_console",
    "browser_get_images",
    "browser_navigate",
    "browser_press",
    "browser_scroll",
    "browser_snapshot",
    "browser_type",
    "browser_vision",
    "image_generate",
    "memory",
    "session_search",
    "skill_view",
    "skills_list",
    "text_to_speech",
    "todo",
    "vision_analyze",
    "web_extract",
    "web_search",
];

/// Schemas word for word, hints that are true, and nothing that is not for Codex.
#[test]
fn what_is_offered_is_what_the_tools_say() {
    let world = World::with(NEWEST, Vec::new(), "");
    let told = story(&world, ["offered", "tools", "initialize", "mcp-test"], &[]);

    let offered = Offered::new(OfferSettings {
        home: world.path("nowhere"),
        conversations: world.path("nowhere/conversations.db"),
        conversation: None,
        memory_approval: WriteApproval::NotNeeded,
        outside: None,
    });
    let expected: Vec<Value> = offered
        .all()
        .into_iter()
        .map(|(tool, offer)| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "schema": tool.parameters,
                "hints": [offer.only_reads, offer.destroys, offer.repeats, offer.open_world],
            })
        })
        .collect();
    let tools = told["tools"].as_array().unwrap();
    for tool in &expected {
        assert!(tools.contains(tool), "{tool} in {tools:?}");
    }
    let mut names: Vec<&str> = tools.iter().map(|it| it["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, OFFERED);
    for never in [
        "terminal",
        "read_file",
        "write_file",
        "patch",
        "search_files",
        "delegate_task",
        "skill_manage",
    ] {
        assert!(!names.contains(&never), "{never}");
        assert!(told["never"][never].as_str().unwrap().contains("there is no tool"), "{told}");
    }
    // Without a conversation the list ends with the server, and the next one begins with none.
    assert_eq!(told["todos"], json!({ "todos": [], "open": 0 }));
    let again = story(&world, ["offered", "tools", "discover", "mcp-test"], &[]);
    assert_eq!(again["todos"], json!({ "todos": [], "open": 0 }));
    assert!(told["wrong"].as_str().unwrap().contains("`todos` must be of type array"), "{told}");
}

/// A tool of this name, wherever it stands among the tools that the model is told of.
fn named(body: &str, name: &str) -> Value {
    fn find(value: &Value, name: &str) -> Value {
        match value {
            Value::Array(items) => items
                .iter()
                .map(|item| find(item, name))
                .find(|it| !it.is_null())
                .unwrap_or_default(),
            Value::Object(fields) if value["name"] == name && !value["parameters"].is_null() => {
                Value::Object(fields.clone())
            }
            Value::Object(_) => find(&value["tools"], name),
            _ => Value::Null,
        }
    }
    find(&serde_json::from_str::<Value>(body).unwrap()["tools"], name)
}
