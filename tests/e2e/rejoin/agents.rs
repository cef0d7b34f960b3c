//! A sub-agent that waits for an answer when the driver goes.

use ostler_codex::thread::Decided;
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{Decision, TurnEnd};
use ostler_testkit::recalled;
use rstest::rstest;

use super::{Place, says};
use crate::traps::sub_agents::{spawns, until_agent};
use crate::{LEAVES_A_LINE, command, text};

#[rstest]
#[tokio::test]
async fn the_ask_of_a_sub_agent_comes_back(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut parent = spawns(version, "muck out the stable");
    parent.extend([text("Delegated.")]);
    let child = vec![command(LEAVES_A_LINE), text("Clean.")];
    let conversations = vec![("muck out the stable", child), ("delegate", parent)];
    let mut place = Place::of(version, conversations).await;
    let mut thread = place.thread(place.asking()).await;
    thread.thread.send(says("delegate"), IfBusy::Fail).await.unwrap();
    let asked = |update: &Update| match update {
        Update::AskOpened { ask, .. } => Some(ask.clone()),
        _ => None,
    };
    let (agent, _) = until_agent(&mut thread, "the ask", asked).await;
    let settings = place.asking();

    let (id, before) = place.kill(thread).await;
    let mut thread = place.rejoin(&id, settings, recalled(&before)).await;
    let (again, ask) = until_agent(&mut thread, "the ask again", asked).await;
    let once = Decided { decision: Decision::Once, by: "the test".into(), reason: None };
    thread.thread.answer(ask, once).await;
    let (_, result) = until_agent(&mut thread, "the sub-agent's end", |update| match update {
        Update::TurnEnded { result } => Some(result.clone()),
        _ => None,
    })
    .await;

    assert_eq!(again, agent);
    let whole = (&result.end, result.final_answer.as_deref());
    assert_eq!(whole, (&TurnEnd::Completed, Some("Clean.")));
    assert_eq!(place.stage.lines("ran.log"), ["ran"]);
    let began = thread.seen.iter().filter(|told| {
        told.agent.is_some()
            && matches!(&told.what, ostler_codex::thread::Told::Update(Update::TurnBegan { .. }))
    });
    assert_eq!(began.count(), 0, "its turn was known");
}
