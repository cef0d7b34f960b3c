//! What becomes of a turn when the model fails, for every way in which the scripted model can fail.

mod table;

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ostler_codex::protocol::Notification;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread_history::ThreadRead;
use ostler_codex::protocol::request::turn::TurnInterrupt;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::{ThreadState, TurnStatus};
use ostler_codex::thread::failure::failure_just_now;
use ostler_model::{FailureClass, ThreadId};
use ostler_scripted_model::{Answer, Conversation, Fault, Plays, ProviderLimits, Script};
use ostler_testkit::{Client, KeptCodex, Stage};
use rstest::rstest;

use crate::text;
use table::{Case, cases};

/// One try each, so that the table says what Codex makes of a failure and not how patient it is. The idle time is
/// the shortest that a stream on a busy machine never has by accident.
const LIMITS: ProviderLimits =
    ProviderLimits { request_max_retries: 0, stream_max_retries: 0, stream_idle_timeout_ms: 2000 };

const PATIENCE: Duration = Duration::from_secs(60);

/// What became of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ending {
    Completes,
    Fails(FailureClass),
    /// It was still at work when looked at, and had to be interrupted.
    NeverEndsByItself,
}

/// When a turn that never ends is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// When Codex says that it tries again.
    AtRetryNotice,
    /// When the model has the request, which is the last that anybody hears of it.
    AtRequest,
}

#[rstest]
#[tokio::test]
async fn every_fault_has_its_class(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let cases = cases(version);
    let mut world = World::set(version, &cases).await;
    let mut differ = Vec::new();
    for case in &cases {
        let ending = match case.look {
            None => world.ending(&case.prompt).await,
            Some(look) => world.unending(&case.prompt, look).await,
        };
        if ending != case.ending {
            differ.push((&case.prompt, ending, &case.ending));
        }
        // `refuse` leaves the model's door closed.
        world.stage.model().accept_connections().await.unwrap();
    }
    assert!(differ.is_empty(), "prompt, found, expected: {differ:#?}");
    // Codex is none the worse for it.
    assert_eq!(world.ending("all is well").await, Ending::Completes);
    world.client.close().await;
}

#[rstest]
#[tokio::test]
async fn refused_connections(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let mut world = World::set(version, &[]).await;
    world.stage.model().refuse_connections().await.unwrap();
    if version == "0.166.0" {
        let ending = world.unending("all is well", Look::AtRetryNotice).await;
        assert_eq!(ending, Ending::NeverEndsByItself);
    } else {
        assert_eq!(world.ending("all is well").await, Ending::Fails(FailureClass::Network));
    }
    world.stage.model().accept_connections().await.unwrap();
    assert_eq!(world.ending("all is well").await, Ending::Completes);
    world.client.close().await;
}

#[rstest]
#[tokio::test]
async fn a_key_that_is_not_there(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let stage = stage(&[], version);
    let file = stage.codex_home().join("config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let keyed = "[model_providers.scripted]\nenv_key = \"OSTLER_NO_SUCH_KEY\"";
    std::fs::write(&file, config.replace("[model_providers.scripted]", keyed)).unwrap();
    let mut world = World::start(stage).await;
    assert_eq!(world.ending("all is well").await, Ending::Fails(FailureClass::Auth));
    world.client.close().await;
}

/// Codex tells this time in its message alone, without the seconds, and without the day if it is today.
#[rstest]
#[tokio::test]
async fn a_reset_is_read_from_the_message(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    for resets_in_s in [120, 3 * 86_400] {
        let fault = Fault::UsageLimit { plan_type: None, resets_in_s: Some(resets_in_s) };
        let case = Case::new("used up", fault, Ending::Completes);
        let mut world = World::set(version, &[case]).await;
        let before = Timestamp::now().as_second();
        let ending = world.ending("case used up;").await;
        let after = Timestamp::now().as_second();
        let Ending::Fails(FailureClass::UsageLimit { resets_at: Some(resets_at) }) = ending else {
            panic!("{ending:?}");
        };
        let wait = i64::try_from(resets_in_s).unwrap();
        let (earliest, latest) = (before + wait, after + wait + 60);
        assert!((earliest..=latest).contains(&resets_at), "{earliest} {resets_at} {latest}");
        world.client.close().await;
    }
}

/// A model with these faults, one prompt each.
fn stage(cases: &[Case], version: &str) -> Stage {
    let conversation = |prompt: &str, answer: Answer| {
        let answers = vec![Answer { plays: Plays::Forever, ..answer }];
        Conversation { prompt: prompt.to_owned(), answers }
    };
    let mut conversations: Vec<_> =
        cases.iter().map(|case| conversation(&case.prompt, case.answer.clone())).collect();
    conversations.push(conversation("all is well", text("All is well.")));
    let script = Script { conversations, ..Script::default() };
    let (program, scratch) = (env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"));
    Stage::set_with_limits(program, scratch, version, script, &LIMITS).unwrap()
}

/// A Codex on such a model.
struct World {
    client: Client,
    _codex: KeptCodex,
    stage: Stage,
}

impl World {
    async fn set(version: &str, cases: &[Case]) -> Self {
        Self::start(stage(cases, version)).await
    }

    async fn start(stage: Stage) -> Self {
        let codex = stage.codex().await.unwrap();
        let client = stage.client(&codex).await.unwrap();
        Self { client, _codex: codex, stage }
    }

    /// Runs one turn to its end, in a thread of its own.
    async fn ending(&mut self, prompt: &str) -> Ending {
        let thread = self.start_thread().await;
        self.client.seen.clear();
        self.client.start_turn(&thread, prompt).await.unwrap();
        let turn = self.client.turn_end(&thread).await.unwrap();
        let limits = self.client.seen(|notification| match notification {
            Notification::AccountRateLimitsUpdated(update) => Some(update.rate_limits),
            _ => None,
        });
        let Some(error) = turn.error else {
            assert_eq!(turn.status, Some(TurnStatus::Completed), "{prompt}");
            return Ending::Completes;
        };
        assert_eq!(turn.status, Some(TurnStatus::Failed), "{prompt}");
        let now = Zoned::new(Timestamp::now(), TimeZone::UTC);
        Ending::Fails(failure_just_now(&error, limits.last(), &now).class)
    }

    /// Runs one turn until the sign, looks whether it is still at work, and interrupts it.
    async fn unending(&mut self, prompt: &str, look: Look) -> Ending {
        let thread = self.start_thread().await;
        let requests = self.stage.model().requests_seen();
        let turn = self.client.start_turn(&thread, prompt).await.unwrap();
        match look {
            Look::AtRetryNotice => {
                let is_it = |notification: &Notification<'_>| match notification {
                    Notification::TurnCompleted(event) => event.thread_id == thread,
                    Notification::Error(notice) => notice.will_retry,
                    _ => false,
                };
                let call = self.client.until("a notice of a retry", is_it).await.unwrap();
                assert_eq!(call.method.as_ref(), "error", "{}", call.params_json());
            }
            Look::AtRequest => {
                let model = self.stage.model();
                model.wait_for_requests(requests + 1, PATIENCE).await.unwrap();
            }
        }
        let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
        let status = self.client.server.call(&read).await.unwrap().thread.status.unwrap();
        assert_eq!(status.state, ThreadState::Active, "{prompt}");
        let interrupt = TurnInterrupt { thread_id: thread.clone(), turn_id: turn };
        self.client.server.call(&interrupt).await.unwrap();
        let ended = self.client.turn_end(&thread).await.unwrap();
        assert_eq!((ended.status, ended.error), (Some(TurnStatus::Interrupted), None), "{prompt}");
        Ending::NeverEndsByItself
    }

    async fn start_thread(&self) -> ThreadId {
        let policy = ApprovalPolicy::Never;
        self.client.start_thread(SandboxMode::ReadOnly, policy).await.unwrap()
    }
}
