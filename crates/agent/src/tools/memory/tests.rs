use std::sync::Arc;

use ostler_model::{AskKind, Decision};
use serde_json::{Value, json};

use super::{MemoryTool, WriteApproval};
use crate::memory::{Book, Memory};
use crate::tool::{Tool as _, ToolResult};
use crate::tools::testing::{Person, context};

struct World {
    _folder: tempfile::TempDir,
    memory: Arc<Memory>,
    tool: MemoryTool,
    person: Arc<Person>,
}

impl World {
    fn new(approval: WriteApproval, says: Option<Decision>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let memory = Arc::new(Memory::at(folder.path().join("memories")));
        let tool = MemoryTool::new(Arc::clone(&memory), approval);
        Self { _folder: folder, memory, tool, person: Person::who_says(says) }
    }

    async fn call(&self, arguments: Value) -> ToolResult {
        self.tool.call(arguments, &context(Arc::clone(&self.person))).await
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.memory.path(Book::User)).unwrap_or_default()
    }
}

fn add(text: &str) -> Value {
    json!({ "target": "user", "action": "add", "content": text })
}

#[tokio::test]
async fn changes_are_made_and_told_with_what_is_there_now() {
    let world = World::new(WriteApproval::NotNeeded, None);
    let said = world.call(add("likes tea")).await;
    assert_eq!(said, ToolResult::said("Saved. USER.md [0% — 9/1,375 chars].\n- likes tea"));
    let said = world.call(add("likes tea")).await;
    assert!(said.content.starts_with("Nothing to do"), "{said:?}");
    let operations = json!([
        { "action": "replace", "old_text": "tea", "content": "likes coffee" },
        { "action": "add", "content": "lives in Kiel" },
    ]);
    world.call(json!({ "target": "user", "operations": operations })).await;
    assert_eq!(world.text(), "likes coffee\n§\nlives in Kiel\n");
    std::fs::write(world.memory.path(Book::User), "by hand\n").unwrap();
    let said = world.call(add("new")).await;
    assert!(said.content.contains("Somebody else has changed the list"), "{said:?}");
    assert_eq!(world.person.asked.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn bad_arguments_say_what_is_wrong() {
    let world = World::new(WriteApproval::NotNeeded, None);
    for (arguments, why) in [
        (json!({}), "`target` must be"),
        (json!("add"), "are not right"),
        (json!({ "target": "soul", "action": "add" }), "`target` must be"),
        (json!({ "target": "user" }), "`action` must be"),
        (json!({ "target": "user", "action": "burn" }), "`action` must be"),
        (json!({ "target": "user", "action": "add" }), "`content` is missing"),
        (json!({ "target": "user", "action": "remove" }), "`old_text` is missing"),
        (
            json!({ "target": "user", "action": "add", "operations": [{ "action": "add" }] }),
            "not both",
        ),
        (json!({ "target": "user", "action": 7 }), "are not right"),
        (add("sk-proj-abcdefghij0123456789XYZ"), "looks like an API key"),
    ] {
        let said = world.call(arguments.clone()).await;
        assert!(said.is_error && said.content.contains(why), "{arguments}: {said:?}");
    }
    assert_eq!(world.text(), "");
}

#[tokio::test]
async fn after_three_changes_that_do_not_fit_the_turn_goes_on_without() {
    let world = World::new(WriteApproval::NotNeeded, None);
    let large = add(&"x".repeat(1400));
    for _ in 0..2 {
        let said = world.call(large.clone()).await;
        assert!(said.is_error && said.content.contains("1375 is the most"), "{said:?}");
    }
    let said = world.call(large.clone()).await;
    assert!(!said.is_error && said.content.starts_with("Skipped"), "{said:?}");
    let said = world.call(add("small")).await;
    assert!(said.content.starts_with("Skipped"), "{said:?}");
    world.tool.begin_turn();
    assert!(world.call(add("small")).await.content.starts_with("Saved"));
}

#[tokio::test]
async fn a_person_who_is_to_be_asked_decides() {
    let world = World::new(WriteApproval::Asked, Some(Decision::Once));
    world.call(add("likes tea")).await;
    assert_eq!(world.text(), "likes tea\n");
    // Nothing would change, so nobody is asked.
    world.call(add("likes tea")).await;
    {
        let asked = world.person.asked.lock().unwrap();
        let [ask] = asked.as_slice() else { panic!("{asked:?}") };
        let AskKind::FileChange(change) = &ask.kind else { panic!("{ask:?}") };
        assert_eq!(change.files[0].diff, "+likes tea\n");
        assert!(change.files[0].path.ends_with("/USER.md"));
    }

    let world = World::new(WriteApproval::Asked, Some(Decision::Deny));
    let said = world.call(add("likes tea")).await;
    assert!(said.is_error && said.content.contains("does not want"), "{said:?}");
    assert_eq!(world.text(), "");

    let world = World::new(WriteApproval::Asked, None);
    let context = context(Arc::clone(&world.person));
    context.stop.cancel();
    let said = world.tool.call(add("likes tea"), &context).await;
    assert!(said.is_error && said.content.contains("was stopped"), "{said:?}");
    assert_eq!(world.person.withdrawn.lock().unwrap().as_slice(), ["memory:call-1".into()]);
    assert_eq!(world.text(), "");
}

#[test]
fn a_call_is_shown_in_one_line() {
    let world = World::new(WriteApproval::NotNeeded, None);
    assert_eq!(world.tool.preview(&add("likes\ntea")), "add user: likes tea");
    let many = json!({ "target": "memory", "operations": [{}, {}] });
    assert_eq!(world.tool.preview(&many), "memory: 2 changes");
    assert_eq!(world.tool.definition().parameters["required"], json!(["target"]));
}
