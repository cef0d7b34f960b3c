use std::sync::Arc;

use serde_json::{Value, json};

use super::skill_tools;
use crate::skills::{Origin, Skills, rules};
use crate::tool::{Tool, ToolResult};
use crate::tools::testing::{Person, context};

const SKILL: &str = "---\nname: deploy\ndescription: how we deploy\n---\nRun it\n";

async fn call(tools: &[Arc<dyn Tool>; 3], tool: &str, arguments: Value) -> ToolResult {
    let found = tools.iter().find(|one| one.definition().name == tool).unwrap();
    found.call(arguments, &context(Person::who_says(None))).await
}

#[tokio::test]
async fn a_skill_is_listed_viewed_and_managed() {
    let folder = tempfile::tempdir().unwrap();
    let skills = Arc::new(Skills::at(folder.path().join("skills")));
    let tools = skill_tools(&skills, Origin::Foreground);
    let manage = async |arguments| call(&tools, "skill_manage", arguments).await;
    let said = call(&tools, "skills_list", json!({})).await;
    assert_eq!(said, ToolResult::said("There are no skills yet."));
    let said = call(&tools, "skills_list", json!({ "category": "ops" })).await;
    assert_eq!(said, ToolResult::said("There are no skills of the category ops."));

    let create =
        json!({ "action": "create", "name": "deploy", "category": "ops", "content": SKILL });
    assert_eq!(manage(create).await, ToolResult::said("created skill deploy"));
    let file = json!({ "action": "write_file", "name": "deploy", "file_path": "references/hosts.md", "file_content": "a" });
    manage(file).await;
    let said = call(&tools, "skills_list", json!({ "category": "ops" })).await;
    assert_eq!(said, ToolResult::said("ops:\n- deploy: how we deploy\n"));
    let said = call(&tools, "skill_view", json!({ "name": "deploy" })).await;
    let files = "\n\nFiles of this skill, for skill_view: references/hosts.md";
    assert_eq!(said, ToolResult::said(format!("{SKILL}{files}")));
    let view = json!({ "name": "deploy", "file_path": "references/hosts.md" });
    assert_eq!(call(&tools, "skill_view", view).await, ToolResult::said("a"));

    for (arguments, why) in [
        (json!({ "action": "create" }), "missing field `name`"),
        (json!({ "action": "burn", "name": "deploy" }), "there is no action \"burn\""),
        (json!({ "action": "create", "name": "x" }), "`content` is missing, which create needs"),
        (
            json!({ "action": "patch", "name": "deploy", "old_string": "a" }),
            "`new_string` is missing",
        ),
        (json!({ "action": "write_file", "name": "deploy" }), "`file_path` is missing"),
        (json!({ "action": "delete", "name": "../.." }), "cannot name a skill"),
        (
            json!({ "action": "patch", "name": "deploy", "old_string": "Walk", "new_string": "" }),
            "is not in SKILL.md",
        ),
    ] {
        let said = manage(arguments.clone()).await;
        assert!(said.is_error && said.content.contains(why), "{arguments}: {said:?}");
    }
    let delete = json!({ "action": "delete", "name": "deploy", "absorbed_into": "" });
    assert!(!manage(delete).await.is_error);
    let said = call(&tools, "skill_view", json!({ "name": "deploy" })).await;
    assert!(said.is_error && said.content.contains("there is no skill"), "{said:?}");
}

#[tokio::test]
async fn a_review_must_look_first_and_is_told_so_before() {
    let folder = tempfile::tempdir().unwrap();
    let skills = Arc::new(Skills::at(folder.path().join("skills")));
    let foreground = skill_tools(&skills, Origin::Foreground);
    let create = json!({ "action": "create", "name": "deploy", "content": SKILL });
    call(&foreground, "skill_manage", create).await;

    let review = skill_tools(&skills, Origin::Review);
    let told = review[2].definition().description;
    assert!(told.ends_with(&rules::sentence(Origin::Review)), "{told}");
    let patch =
        json!({ "action": "patch", "name": "deploy", "old_string": "Run", "new_string": "Walk" });
    let said = call(&review, "skill_manage", patch.clone()).await;
    assert!(said.is_error && said.content.contains("only after it was viewed"), "{said:?}");
    call(&review, "skill_view", json!({ "name": "deploy" })).await;
    let said = call(&review, "skill_manage", patch).await;
    assert_eq!(said, ToolResult::said("changed SKILL.md of skill deploy"));
    // What one review has seen, another has not.
    let another = skill_tools(&skills, Origin::Review);
    let delete = json!({ "action": "delete", "name": "deploy" });
    assert!(call(&another, "skill_manage", delete).await.is_error);
}
