//! Sub-agents: threads that nobody opened, with events, asks and ends of their own.

use ostler_codex::driver::ThreadOptions;
use ostler_codex::thread::{Agent, Told};
use ostler_model::thread::{AskEnd, IfBusy, Update};
use ostler_model::{Decision, TurnEnd};
use ostler_scripted_model::{Answer, Call};
use ostler_testkit::DrivenThread;
use rstest::rstest;
use serde_json::json;

use super::{Scene, once, says};
use crate::{LEAVES_A_LINE, command, text};

/// The model starts a sub-agent with this prompt. From 0.142.5 on it has to look for the tool first.
pub(crate) fn spawns(version: &str, prompt: &str) -> Vec<Answer> {
    let arguments = json!({"message": prompt});
    if version == "0.130.0" {
        return vec![Answer {
            calls: vec![Call::function("spawn_agent", arguments)],
            ..Answer::default()
        }];
    }
    let item = json!({
        "type": "tool_search_call", "call_id": "search_1", "execution": "client", "status": "completed",
        "arguments": {"query": "spawn_agent sub-agents"},
    });
    let response = json!({"id": "resp_search"});
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
    let completed = json!({"id": "resp_search", "usage": usage});
    let search = [
        json!({"type": "response.created", "response": response}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": completed}),
    ];
    let spawn = Call {
        namespace: Some("multi_agent_v1".to_owned()),
        ..Call::function("spawn_agent", arguments)
    };
    vec![
        Answer { events: search.iter().map(ToString::to_string).collect(), ..Answer::default() },
        Answer { calls: vec![spawn], ..Answer::default() },
    ]
}

/// A command that ends when the file is there.
fn waits_for(file: &str) -> Answer {
    let wait = format!("sh -c 'until test -e {file}; do sleep 0.05; done'");
    let call = Call::function("exec_command", json!({"cmd": wait, "yield_time_ms": 30_000}));
    Answer { calls: vec![call], ..Answer::default() }
}

/// Reads on until the sub-agent tells what is looked for.
pub(crate) async fn until_agent<T>(
    thread: &mut DrivenThread,
    what: &str,
    mut pick: impl FnMut(&Update) -> Option<T>,
) -> (Agent, T) {
    loop {
        let next = thread.next(what).await.unwrap();
        if let (Some(agent), Told::Update(update)) = (next.agent, next.what)
            && let Some(found) = pick(&update)
        {
            return (agent, found);
        }
    }
}

/// How turns ended, with the text of their answers; of the thread itself and of its sub-agents.
fn ends(thread: &DrivenThread) -> Vec<(bool, Option<String>, TurnEnd)> {
    let ended = thread.seen.iter().filter_map(|told| match &told.what {
        Told::Update(Update::TurnEnded { result }) => {
            Some((told.agent.is_some(), result.final_answer.clone(), result.end.clone()))
        }
        _ => None,
    });
    ended.collect()
}

#[rstest]
#[tokio::test]
async fn the_end_of_a_sub_agent_does_not_end_its_parents_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut parent = spawns(version, "muck out the stable");
    parent.extend([waits_for("go"), text("All done.")]);
    let conversations = vec![("muck out the stable", vec![text("Clean.")]), ("delegate", parent)];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let ticket = thread.thread.send(says("delegate"), IfBusy::Fail).await.unwrap();

    let (agent, answer) = until_agent(&mut thread, "the sub-agent's end", |update| match update {
        Update::TurnEnded { result } => Some(result.final_answer.clone()),
        _ => None,
    })
    .await;

    assert_eq!(answer.as_deref(), Some("Clean."));
    assert!(agent.name.as_ref().is_some_and(|name| !name.is_empty()), "{agent:?}");
    assert_ne!(agent.thread, *thread.thread.id());
    assert_eq!(ends(&thread), [(true, answer, TurnEnd::Completed)], "the parent's turn ended");
    std::fs::write(scene.stage.workspace().join("go"), "").unwrap();
    let result = thread.turn_end().await.unwrap();
    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("All done."))
    );
    let outcome = ticket.outcome().await.unwrap();
    assert_eq!(outcome.result, result);
    let said: Vec<_> =
        outcome.messages.iter().filter_map(|message| message.content.clone()).collect();
    assert!(!said.iter().any(|text| text == "Clean."), "{said:?}");
    // Whatever comes from the sub-agent is marked as such, and nothing else.
    let inside = |update: &&ostler_codex::thread::ThreadUpdate| update.agent.is_some();
    assert!(thread.seen.iter().filter(inside).all(|update| update.agent.as_ref() == Some(&agent)));
    assert!(thread.seen.iter().all(|update| update.thread == *thread.thread.id()));
}

#[rstest]
#[tokio::test]
async fn the_ask_of_a_sub_agent_is_answered_through_its_parent(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut parent = spawns(version, "muck out the stable");
    parent.extend([text("Delegated.")]);
    let child = vec![command(LEAVES_A_LINE), text("Clean.")];
    let conversations = vec![("muck out the stable", child), ("delegate", parent)];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.asking_thread(ThreadOptions::default()).await;
    thread.thread.send(says("delegate"), IfBusy::Fail).await.unwrap();

    let (agent, ask) = until_agent(&mut thread, "the sub-agent's ask", |update| match update {
        Update::AskOpened { ask, .. } => Some(ask.clone()),
        _ => None,
    })
    .await;
    assert_eq!(scene.stage.lines("ran.log").len(), 0);
    thread.thread.answer(ask.clone(), once()).await;
    let (_, how) = until_agent(&mut thread, "the end of the ask", |update| match update {
        Update::AskClosed { ask: closed, how } => (*closed == ask).then(|| how.clone()),
        _ => None,
    })
    .await;
    let (ended, result) = until_agent(&mut thread, "the sub-agent's end", |update| match update {
        Update::TurnEnded { result } => Some(result.clone()),
        _ => None,
    })
    .await;

    assert_eq!(how, AskEnd::Decided { decision: Decision::Once, by: "the test".into() });
    assert_eq!((ended, result.final_answer.as_deref()), (agent, Some("Clean.")));
    assert_eq!(scene.stage.lines("ran.log"), ["ran"]);
}

#[rstest]
#[tokio::test]
async fn a_sub_agent_may_outlive_its_parents_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let mut parent = spawns(version, "muck out the stable");
    parent.extend([text("Delegated.")]);
    let conversations = vec![
        ("muck out the stable", vec![waits_for("go"), text("Clean.")]),
        ("delegate", parent),
        ("then", vec![text("Then.")]),
    ];
    let scene = Scene::of(version, conversations).await;
    let mut thread = scene.free_thread(ThreadOptions::default()).await;
    let first = thread.run(says("delegate")).await.unwrap().result;
    assert_eq!(first.final_answer.as_deref(), Some("Delegated."));
    // The next turn of the parent is not held up by it either.
    let second = thread.run(says("then")).await.unwrap().result;
    assert_eq!(second.final_answer.as_deref(), Some("Then."));
    assert!(ends(&thread).iter().all(|(is_agent, ..)| !is_agent), "{:?}", ends(&thread));

    std::fs::write(scene.stage.workspace().join("go"), "").unwrap();
    let (_, result) = until_agent(&mut thread, "the sub-agent's end", |update| match update {
        Update::TurnEnded { result } => Some(result.clone()),
        _ => None,
    })
    .await;
    assert_eq!(
        (&result.end, result.final_answer.as_deref()),
        (&TurnEnd::Completed, Some("Clean."))
    );
}
