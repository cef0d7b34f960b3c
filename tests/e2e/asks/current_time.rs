use std::time::{Duration, SystemTime};

use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::thread::TurnInput;
use ostler_model::TurnEnd;
use rstest::rstest;

use super::{World, stage_of};
use crate::text;

/// Codex can be told to ask its client for the time; 0.142.5 and later.
#[rstest]
#[tokio::test]
async fn codex_gets_the_time_from_us(#[values("0.142.5", "0.166.0")] version: &str) {
    let stage = stage_of(version, vec![("what time is it", vec![text("It is late.")])]);
    stage
        .configure(|text| {
            format!(
                "{text}\n[features.current_time_reminder]\nenabled = true\n\
                 clock_source = \"external\"\n"
            )
        })
        .unwrap();
    let world = World::on(stage).await;
    let settings = world.stage.settings(crate::thread::workspace_write(), ApprovalPolicy::Never);
    let mut thread = world.driven.thread(settings, Default::default()).await.unwrap();

    let outcome = thread.run(TurnInput::text("what time is it")).await.unwrap();

    assert_eq!(outcome.result.end, TurnEnd::Completed);
    let told = world.told("what time is it");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let day = jiff_day(now);
    assert!(told.contains(&day), "{day} is not in {told}");
}

/// The date as Codex writes it.
fn jiff_day(since: Duration) -> String {
    let moment = jiff::Timestamp::from_second(since.as_secs() as i64).unwrap();
    moment.strftime("%Y-%m-%d").to_string()
}
