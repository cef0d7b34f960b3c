//! Asks that need no answer of ours any more.

use ostler_codex::protocol::request::thread::ThreadResume;
use ostler_codex::thread::Decider;
use ostler_model::thread::{AskEnd, Withdrawal};
use ostler_model::{Decision, TurnEnd};
use rstest::rstest;
use tokio::sync::mpsc;

use super::{decided, send, soon, stage_of};
use crate::{command, text};

/// Tells when it is dropped.
struct Prompt(mpsc::UnboundedSender<()>);

impl Drop for Prompt {
    fn drop(&mut self) {
        // The test may be over.
        self.0.send(()).ok();
    }
}

#[rstest]
#[tokio::test]
async fn an_answer_of_another_client_takes_our_prompt_away(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let run = || vec![command("sh -c 'echo ran >> ran.log'"), text("Done.")];
    let stage = stage_of(version, vec![("let them", run()), ("end it", run())]);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive(&codex).await.unwrap();
    let settings = stage.settings(
        crate::thread::workspace_write(),
        ostler_codex::protocol::approval_policy::ApprovalPolicy::Untrusted,
    );
    let mut thread = driven.thread(settings, Default::default()).await.unwrap();
    // A person who sits before a prompt and never answers.
    let (shown, mut prompts) = mpsc::unbounded_channel();
    let (taken, mut taken_away) = mpsc::unbounded_channel();
    let decider = Decider::new(move |id, _| {
        let prompt = Prompt(taken.clone());
        drop(shown.send(id));
        async move {
            let _prompt = prompt;
            std::future::pending().await
        }
    });
    thread.thread.decide_with(decider).await;
    send(&thread, "let them").await;
    let (id, _) = thread.ask().await.unwrap();
    assert_eq!(soon(prompts.recv()).await, Some(id.clone()));

    let mut other = stage.client(&codex).await.unwrap();
    other.server.call(&ThreadResume::new(thread.thread.id().clone())).await.unwrap();
    let question = other.question().await.unwrap();
    other.answer(&question, &Decision::Once).await.unwrap();

    let elsewhere = AskEnd::Withdrawn { reason: Withdrawal::Elsewhere };
    assert_eq!(thread.closed(&id).await.unwrap(), elsewhere);
    assert_eq!(soon(taken_away.recv()).await, Some(()), "the prompt still stands");
    assert_eq!(thread.turn_end().await.unwrap().end, TurnEnd::Completed);
    assert_eq!(stage.lines("ran.log").len(), 1);
    // An answer that comes late is told to be so, and nothing else happens.
    thread.thread.answer(id, decided(Decision::Cancel)).await;

    // The end of the turn takes a prompt away as well.
    send(&thread, "end it").await;
    let (id, _) = thread.ask().await.unwrap();
    assert_eq!(soon(prompts.recv()).await, Some(id.clone()));
    thread.thread.interrupt("ann").await;
    let ended = AskEnd::Withdrawn { reason: Withdrawal::TurnEnded };
    assert_eq!(thread.closed(&id).await.unwrap(), ended);
    assert_eq!(soon(taken_away.recv()).await, Some(()), "the prompt still stands");
    assert_eq!(stage.lines("ran.log").len(), 1);
}
