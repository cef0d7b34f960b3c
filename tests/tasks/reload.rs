//! Other settings while tasks run.

use ostler_model::TaskState;
use ostler_model::policy::{Effect, HostPattern, Matcher, Rule, Scope};
use ostler_model::task::SandboxMode;
use ostler_scripted_model::{Answer, Plays};
use ostler_testkit::Workshop;

use crate::{PROMPT, command, stage_of, text};

/// It works until there is a file `go`, also if Codex stops waiting for its command before that.
fn waits() -> Answer {
    let waits = command("sh -c 'until [ -e go ]; do sleep 0.05; done; echo it went on'");
    Answer { plays: Plays::Until("it went on".to_owned()), ..waits }
}

fn rule(id: &str, host: &str) -> Rule {
    Rule {
        id: id.into(),
        effect: Effect::Deny,
        matcher: Matcher::Host(HostPattern::try_from(host.to_owned()).unwrap()),
        sandboxing: Rule::usual_sandboxing(),
        cwd: None,
        scope: Scope::Everywhere,
        expires_at: None,
        made_by: "test".to_owned(),
        made_at: 0,
        from_ask: None,
    }
}

fn hosts(shop: &Workshop) -> Vec<String> {
    shop.engine.rules().iter().map(|rule| rule.id.to_string()).collect()
}

#[tokio::test]
async fn more_room_is_used_at_once_and_rules_of_people_stay() {
    let waits = vec![waits(), text("Done.")];
    let stage = stage_of("0.166.0", vec![(PROMPT, waits), ("second", vec![text("Done.")])]);
    let shop = Workshop::open_with(&stage, |settings| {
        settings.running = 1;
        settings.rules = vec![rule("file-1", "a.example"), rule("file-2", "b.example")];
    });
    let shop = shop.await.unwrap();
    shop.engine.add_rule(rule("ours", "c.example")).await.unwrap();
    let first = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&first, TaskState::Working).await.unwrap();
    let second = shop.start(&stage, "second").await.unwrap();
    let danger = |settings: &mut ostler_model::task::TaskSettings| {
        settings.sandbox.mode = SandboxMode::DangerFullAccess;
    };
    assert!(shop.start_with(&stage, "second", danger).await.is_err());
    assert_eq!(shop.task(&second).await.unwrap().state, TaskState::Queued);

    let mut settings = Workshop::usual_settings(&stage).unwrap();
    settings.running = 2;
    settings.rules = vec![rule("file-3", "d.example")];
    settings.allowed.danger_full_access = true;
    shop.engine.apply(settings).await;

    shop.until(&second, TaskState::Completed).await.unwrap();
    assert_eq!(shop.task(&first).await.unwrap().state, TaskState::Working);
    assert_eq!(hosts(&shop), ["file-3", "ours"]);
    let third = shop.start_with(&stage, "second", danger).await.unwrap();
    shop.until(&third, TaskState::Completed).await.unwrap();
    std::fs::write(stage.workspace().join("go"), "").unwrap();
    shop.until(&first, TaskState::Completed).await.unwrap();
    shop.close().await.unwrap();
}
