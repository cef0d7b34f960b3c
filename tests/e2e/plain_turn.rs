use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::TurnStatus;
use ostler_codex::protocol::{ItemBody, Notification};
use ostler_scripted_model::{Answer, Usage};
use rstest::rstest;

use crate::{PROMPT, stage, text};

#[rstest]
#[tokio::test]
async fn a_plain_turn(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let usage = Usage { input: 1200, cached: 1000, output: 40, reasoning: 10 };
    let answer = Answer {
        reasoning: Some("The stable first.".to_owned()),
        usage,
        ..text("The horse is harnessed, and the traveller may ride.")
    };
    let stage = stage(version, vec![answer]);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    assert_eq!(client.server.version().to_string(), version);

    let thread =
        client.start_thread(SandboxMode::ReadOnly, ApprovalPolicy::OnRequest).await.unwrap();
    let turn = client.start_turn(&thread, PROMPT).await.unwrap();
    let ended = client.turn_end(&thread).await.unwrap();

    assert_eq!((ended.id, ended.status), (Some(turn.clone()), Some(TurnStatus::Completed)));
    let started = client.seen(|notification| match notification {
        Notification::TurnStarted(event) => event.turn.id,
        _ => None,
    });
    assert_eq!(started, [turn]);
    let deltas: String = client
        .seen(|notification| match notification {
            Notification::AgentMessageDelta(delta) => Some(delta.delta.into_owned()),
            _ => None,
        })
        .concat();
    let messages = client.seen(|notification| match notification {
        Notification::ItemCompleted(event) => match event.item.body {
            ItemBody::AgentMessage(message) => Some(message.text),
            ItemBody::Reasoning(reasoning) => Some(reasoning.summary.join("|")),
            ItemBody::UserMessage(_) => Some("prompt".to_owned()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(deltas, "The horse is harnessed, and the traveller may ride.");
    assert_eq!(messages, ["prompt", "The stable first.", deltas.as_str()]);
    let tokens = client.seen(|notification| match notification {
        Notification::ThreadTokenUsageUpdated(update) => {
            let last = update.token_usage.last;
            Some([last.input_tokens, last.cached_input_tokens, last.output_tokens])
        }
        _ => None,
    });
    assert_eq!(tokens, [[1200, 1000, 40]]);
    let unreadable = client.seen(|notification| match notification {
        Notification::Unreadable { method, reason } => Some(format!("{method}: {reason}")),
        _ => None,
    });
    assert_eq!(unreadable, Vec::<String>::new());
    client.close().await;
}
