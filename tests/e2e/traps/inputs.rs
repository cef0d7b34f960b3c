//! What a turn is asked for, and how the model sees it.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::thread::{InputError, TurnInput};
use ostler_model::TurnEnd;
use ostler_model::thread::{IfBusy, Update};
use rstest::rstest;
use serde_json::json;

use super::{Scene, says};
use crate::text;

/// A picture of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const DOT_BYTES: [u8; 70] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0,
    0, 0, 31, 21, 196, 137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 218, 99, 100, 248, 207, 80, 15, 0, 3,
    134, 1, 128, 90, 52, 125, 107, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

#[rstest]
#[tokio::test]
async fn what_holds_for_one_turn_reaches_the_model(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene =
        Scene::of(version, vec![("shape", vec![text("{}")]), ("plain", vec![text("Yes.")])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let schema =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let shaped = TurnInput {
        model: Some("gpt-5.4".into()),
        effort: Some("high".into()),
        output_schema: Some(schema.clone()),
        ..says("shape")
    };
    thread.run(shaped).await.unwrap();
    thread.run(says("plain")).await.unwrap();

    let asked: Vec<_> =
        scene.stage.model().requests().iter().map(|request| request.json()).collect();
    let told = |index: usize, pointer: &str| asked[index].pointer(pointer).cloned();
    assert_eq!(told(0, "/model"), Some(json!("gpt-5.4")));
    assert_eq!(told(0, "/reasoning/effort"), Some(json!("high")));
    assert_eq!(told(0, "/text/format/schema"), Some(schema));
    // Codex keeps model and effort for later turns, the schema it does not.
    assert_eq!(told(1, "/model"), Some(json!("gpt-5.4")));
    assert_eq!(told(1, "/text/format"), None);
}

#[rstest]
#[tokio::test]
async fn pictures_skills_and_mentions_go_with_a_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("look", vec![text("Seen.")])]).await;
    let picture = scene.stage.workspace().join("dot.png");
    std::fs::write(&picture, DOT_BYTES).unwrap();
    let skill = scene.stage.codex_home().join("skills/grooming/SKILL.md");
    std::fs::create_dir_all(skill.parent().unwrap()).unwrap();
    std::fs::write(&skill, "---\nname: grooming\ndescription: how\n---\nBrush with the grain.\n")
        .unwrap();
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let path = |path: &std::path::Path| path.display().to_string();
    let input = TurnInput::message(vec![
        UserInput::Text("look at these".into()),
        UserInput::Image { url: format!("data:image/png;base64,{DOT}") },
        UserInput::LocalImage { path: path(&picture) },
        UserInput::Skill { name: "grooming".into(), path: path(&skill) },
        UserInput::Mention { name: "dot".into(), path: path(&picture) },
    ]);

    let ticket = thread.thread.send(input, IfBusy::Fail).await.unwrap();
    let result = thread.turn_end().await.unwrap();

    assert_eq!((result.end, result.inputs), (TurnEnd::Completed, vec![ticket.input]));
    let asked = scene.stage.model().requests()[0].json();
    let parts: Vec<_> = asked["input"].as_array().unwrap().iter().collect();
    let pictures =
        parts.iter().flat_map(|item| item["content"].as_array().cloned().unwrap_or_default());
    let pictures = pictures.filter(|part| part["type"] == "input_image").count();
    let asked = asked.to_string();
    assert_eq!(pictures, 2, "{asked}");
    assert!(asked.contains("look at these") && asked.contains("Brush with the grain."), "{asked}");
}

/// Codex 0.130.0 neither begins nor ends a turn without input; all refuse one that is too long.
#[rstest]
#[tokio::test]
async fn an_input_that_codex_would_lose_is_refused_at_the_door(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let scene = Scene::of(version, vec![("whole", vec![text("Fine.")])]).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let long = "x".repeat(1024 * 1024 + 1);

    let refused = [
        thread.thread.send(TurnInput::message(Vec::new()), IfBusy::Fail).await.map(drop),
        thread.thread.send(says(" \n"), IfBusy::Fail).await.map(drop),
        thread.thread.send(says(&long), IfBusy::Fail).await.map(drop),
    ];
    assert_eq!(
        refused,
        [
            Err(InputError::Empty),
            Err(InputError::Empty),
            Err(InputError::TooLong { characters: long.len() })
        ]
    );

    // The longest that Codex takes, in letters of two bytes each.
    let longest = format!("whole{}", "ä".repeat(1024 * 1024 - 5));
    let result = thread.run(says(&longest)).await.unwrap().result;
    assert_eq!(result.end, TurnEnd::Completed);
    assert!(thread.updates().all(|update| !matches!(update, Update::InputRefused { .. })));
}
