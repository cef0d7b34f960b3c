//! A program of the operator's decides asks, or leaves them to people.

use std::time::Duration;

use ostler_engine::Approver;
use ostler_model::task::DecidedBy;
use ostler_model::{Decision, TaskState};
use ostler_testkit::{Stage, Workshop, write_script};
use rstest::rstest;

use crate::{LEAVES_A_LINE, PROMPT, command, stage, text, untrusted};

/// For a program that comes to its end.
const IN_TIME: Duration = Duration::from_secs(20);

async fn shop_with(stage: &Stage, script: &str, timeout: Duration) -> (Workshop, String) {
    std::fs::create_dir_all(stage.state()).unwrap();
    let program = stage.state().join("approver");
    write_script(&program, &format!("#!/bin/sh\n{script}\n"), 0o755).unwrap();
    let program = program.display().to_string();
    let approver =
        Approver { command: vec![program.clone()], timeout, kinds: vec!["command".to_owned()] };
    let shop = Workshop::open_with(stage, |settings| settings.approver = Some(approver)).await;
    (shop.unwrap(), program)
}

#[rstest]
#[case::allows(r#"grep -q '"kind":"command"' && echo '{"decision":"once"}'"#, Decision::Once)]
#[case::denies(
    r#"cat > /dev/null; echo '{"decision":"deny","reason":"not on a Sunday"}'"#,
    Decision::Deny
)]
#[tokio::test]
async fn it_decides(
    #[values("0.130.0", "0.166.0")] version: &str,
    #[case] script: &str,
    #[case] expected: Decision,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Done."), text("Done.")]);
    let (shop, program) = shop_with(&stage, script, IN_TIME).await;
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let ran = if expected == Decision::Once { 1 } else { 0 };
    assert_eq!(stage.lines("ran.log").len(), ran);
    let asks = shop.engine.store().asks_of(&task).await.unwrap();
    let decided = asks[0].decision.clone().unwrap();
    let reason = (expected == Decision::Deny).then(|| "not on a Sunday".to_owned());
    assert_eq!((decided.decision, decided.reason), (expected, reason));
    assert_eq!(decided.by, DecidedBy::Approver { program });
    shop.close().await.unwrap();
}

#[rstest]
#[case::garbage("echo yes please", IN_TIME)]
#[case::silence("true", IN_TIME)]
#[case::failure(r#"echo '{"decision":"once"}'; exit 3"#, IN_TIME)]
#[case::no_end("exec sleep 60", Duration::from_secs(2))]
#[case::leaves_it_to_people(r#"echo '{"decision":"ask"}'"#, IN_TIME)]
#[case::more_than_is_offered(r#"echo '{"decision":"always"}'"#, IN_TIME)]
#[tokio::test]
async fn people_decide_what_it_does_not(#[case] script: &str, #[case] timeout: Duration) {
    let stage = stage("0.166.0", vec![command(LEAVES_A_LINE), text("Done.")]);
    let (shop, _) = shop_with(&stage, script, timeout).await;
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    // Also while the program still thinks: whoever is first decides.
    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(stage.lines("ran.log"), ["ran"]);
    shop.close().await.unwrap();
}
