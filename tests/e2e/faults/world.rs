//! A Codex on a model that fails, driven: each case in a thread of its own, through one driver.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ostler_codex::driver::{DriverSettings, ThreadOptions};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::TurnInput;
use ostler_model::TurnResult;
use ostler_model::thread::{Limits, OnStall};
use ostler_scripted_model::{Answer, Conversation, Plays, ProviderLimits, Script};
use ostler_testkit::{Driven, DrivenThread, KeptCodex, Stage};
use tokio::task::JoinSet;

use super::table::Case;
use super::told::Told;
use crate::text;

/// One retry, so that the table says which failures Codex repeats. The idle time is the shortest that a stream on a
/// busy machine never has by accident.
const PROVIDER: ProviderLimits = ProviderLimits {
    request_max_retries: 0,
    stream_max_retries: 1,
    stream_idle_timeout_ms: 10_000,
};

/// Two tries, each with its idle time and at most a second before it, make 22 s; the rest is for a busy machine.
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// Longer than Codex needs, on a busy machine, to say that it was refused.
pub(super) const STALL_AFTER: Duration = Duration::from_secs(10);

/// Enough to hide the waits of some cases behind the work of others.
const AT_ONCE: usize = 4;

/// A prompt to which the model has an answer.
pub(super) const WELL: &str = "all is well";
pub(super) const WELL_ANSWER: &str = "All is well.";

/// Those of a turn that is not expected to end by itself.
pub(super) fn short_limits(on_stall: OnStall) -> Limits {
    Limits { stall_after: STALL_AFTER, on_stall, ..Limits::default() }
}

/// The parts end in this order.
pub(super) struct World {
    pub(super) driven: Driven,
    _codex: KeptCodex,
    pub(super) stage: Stage,
}

/// A model with these faults, one prompt each.
pub(super) fn stage(cases: &[Case], version: &str) -> Stage {
    let conversation = |prompt: &str, answer: Answer| {
        let answers = vec![Answer { plays: Plays::Forever, ..answer }];
        Conversation { prompt: prompt.to_owned(), answers }
    };
    let mut conversations: Vec<_> =
        cases.iter().map(|case| conversation(&case.prompt, case.answer.clone())).collect();
    conversations.push(conversation(WELL, text(WELL_ANSWER)));
    let script = Script { conversations, ..Script::default() };
    let (program, scratch) = (env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"));
    Stage::set_with_limits(program, scratch, version, script, &PROVIDER).unwrap()
}

impl World {
    pub(super) async fn set(version: &str, cases: &[Case]) -> Self {
        let stage = stage(cases, version);
        let codex = stage.codex().await.unwrap();
        Self::on(stage, codex, DriverSettings::default()).await
    }

    pub(super) async fn on(stage: Stage, codex: KeptCodex, settings: DriverSettings) -> Self {
        let driven = stage.drive_with(&codex, settings).await.unwrap();
        Self { driven, _codex: codex, stage }
    }

    pub(super) async fn thread(&self, limits: Limits) -> DrivenThread {
        let sandbox = SandboxPolicy::ReadOnly { network_access: false };
        let settings = self.stage.settings(sandbox, ApprovalPolicy::Never);
        let options = ThreadOptions { limits, ..ThreadOptions::default() };
        self.driven.thread(settings, options).await.unwrap()
    }

    /// Runs one turn to its end and sees that it takes no longer than it may, in a thread of its own.
    pub(super) async fn play(&self, prompt: &str, limits: Limits) -> (Told, TurnResult) {
        let within = match limits.on_stall {
            OnStall::Warn => ENDS_WITHIN,
            // It stands still, is looked at, and is interrupted, which takes milliseconds each and may take longer.
            OnStall::Interrupt | OnStall::Fail => limits.stall_after + ENDS_WITHIN,
        };
        let mut thread = self.thread(limits).await;
        let began = Instant::now();
        let result = thread.run(TurnInput::text(prompt)).await.unwrap().result;
        let took = began.elapsed();
        assert!(took < within, "{prompt} took {took:?}");
        (Told::of(&thread, &result), result)
    }

    /// Runs cases that leave each other alone, several at a time.
    pub(super) async fn play_all(
        self: &Arc<Self>,
        cases: Vec<Case>,
    ) -> Vec<(Case, Told, TurnResult)> {
        let rest = Arc::new(Mutex::new(cases.into_iter()));
        let mut workers = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (world, rest) = (Arc::clone(self), Arc::clone(&rest));
            workers.spawn(async move {
                let next = || rest.lock().unwrap().next();
                let mut played = Vec::new();
                while let Some(case) = next() {
                    let (told, result) = world.play(&case.prompt, case.limits()).await;
                    played.push((case, told, result));
                }
                played
            });
        }
        workers.join_all().await.into_iter().flatten().collect()
    }
}
