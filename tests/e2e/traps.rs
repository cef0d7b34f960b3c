//! What bites when one drives Codex, each shown on the real one through the driver. `tests/TRAPS.md` says which trap is
//! shown by which test; `table` holds it to that.

mod auto_reviews;
mod compaction;
mod cut;
mod ephemeral;
mod goals;
mod gone;
mod inputs;
mod interrupts;
mod late_items;
mod liveness;
mod reviews;
mod steering;
mod strangers;
pub(crate) mod sub_agents;
mod table;
mod turns;
mod watchers;

use std::time::{Duration, Instant};

use ostler_codex::driver::ThreadOptions;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::{Decided, TurnInput};
use ostler_model::thread::{Limits, Update};
use ostler_model::{Decision, Interrupter, TurnEnd, TurnId};
use ostler_scripted_model::{Answer, Conversation, Fault, Script};
use ostler_testkit::{Driven, DrivenThread, KeptCodex, Stage};

use crate::text;
pub(crate) use crate::thread::workspace_write;

/// Within this an interrupt is done, however busy the machine; that nothing had to be given up for it says `retire`.
const INTERRUPTED_WITHIN: Duration = Duration::from_secs(60);

/// A driven app-server with a model that knows these conversations.
struct Scene {
    driven: Driven,
    codex: KeptCodex,
    stage: Stage,
}

impl Scene {
    async fn of(version: &str, conversations: Vec<(&str, Vec<Answer>)>) -> Self {
        Self::with_config(version, "", conversations).await
    }

    /// The same with more lines at the end of Codex's `config.toml`.
    async fn with_config(
        version: &str,
        config: &str,
        conversations: Vec<(&str, Vec<Answer>)>,
    ) -> Self {
        let stage = set(version, config, conversations);
        let codex = stage.codex().await.unwrap();
        let driven = stage.drive(&codex).await.unwrap();
        Self { driven, codex, stage }
    }

    /// A thread that may do all without asking.
    async fn free_thread(&self, options: ThreadOptions) -> DrivenThread {
        let settings = self.stage.settings(SandboxPolicy::DangerFullAccess, ApprovalPolicy::Never);
        self.driven.thread(settings, options).await.unwrap()
    }

    /// A thread that asks before it runs a command.
    async fn asking_thread(&self, options: ThreadOptions) -> DrivenThread {
        let settings = self.stage.settings(workspace_write(), ApprovalPolicy::Untrusted);
        self.driven.thread(settings, options).await.unwrap()
    }

    /// Waits for the model to be asked this often.
    async fn asked(&self, times: u64) {
        let asked = self.stage.model().wait_for_requests(times, Duration::from_secs(60)).await;
        asked.unwrap();
    }

    /// The bodies of the model's requests, as text.
    fn requests(&self) -> Vec<String> {
        let requests = self.stage.model().requests();
        requests.iter().map(|request| request.json().to_string()).collect()
    }

    /// Kills Codex; its keeper cleans up.
    fn kill(&self) {
        kill(self.codex.pid().unwrap());
    }

    /// The app-server that the driver has started in place of the first.
    fn kill_latest(&self) {
        let keeper = self.driven.connector.keeper().unwrap();
        let root = self.stage.start_keeper().unwrap().root;
        let found = ostler_codex::keeper::find(&root, keeper.as_str()).unwrap();
        kill(found.record.unwrap().codex.unwrap().pid);
    }
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

impl Drop for Scene {
    /// The driver may have started another keeper, which must not outlive the test either.
    fn drop(&mut self) {
        let first = self.codex.found.folder.id();
        if let Some(id) = self.driven.connector.keeper().filter(|id| id != first) {
            drop(self.codex.ostler(&["keeper", "stop", "--now", id.as_str()]));
        }
    }
}

fn set(version: &str, config: &str, conversations: Vec<(&str, Vec<Answer>)>) -> Stage {
    let conversations = conversations
        .into_iter()
        .map(|(prompt, answers)| Conversation { prompt: prompt.to_owned(), answers });
    let script = Script { conversations: conversations.collect(), ..Script::default() };
    let program = env!("CARGO_BIN_EXE_ostler");
    let stage = Stage::set(program, env!("CARGO_TARGET_TMPDIR"), version, script).unwrap();
    let path = stage.codex_home().join("config.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{before}\n{config}\n")).unwrap();
    stage
}

/// The model takes the request and never answers.
fn hangs() -> Answer {
    Answer { fault: Some(Fault::HangBeforeHeaders { for_ms: None }), ..text("Never said.") }
}

/// The model says its first words and then nothing.
fn breaks_off() -> Answer {
    Answer { fault: Some(Fault::Hang { after: 2, for_ms: None }), ..text("One two three four.") }
}

fn limits(limits: Limits) -> ThreadOptions {
    ThreadOptions { limits, ..ThreadOptions::default() }
}

fn once() -> Decided {
    Decided { decision: Decision::Once, by: "the test".into(), reason: None }
}

fn by_test() -> TurnEnd {
    TurnEnd::Interrupted { by: Interrupter::Caller { name: "the test".into() } }
}

async fn turn_began(thread: &mut DrivenThread) -> TurnId {
    let began = thread.until("the turn's beginning", |update| match update {
        Update::TurnBegan { turn } => Some(turn.clone()),
        _ => None,
    });
    began.await.unwrap()
}

/// Reads on to the first piece of a message.
async fn speaks(thread: &mut DrivenThread) {
    let speaks = thread
        .until("the first words", |update| matches!(update, Update::Delta { .. }).then_some(()));
    speaks.await.unwrap();
}

async fn tool_began(thread: &mut DrivenThread) {
    let began = thread.until("a command", |update| match update {
        Update::ItemBegan { item, .. } => item.is_tool().then_some(()),
        _ => None,
    });
    began.await.unwrap();
}

fn says(text: &str) -> TurnInput {
    TurnInput::text(text)
}

/// The texts, in the order of the words.
fn ends(thread: &DrivenThread) -> Vec<(Option<String>, TurnEnd)> {
    let ended = thread.updates().filter_map(|update| match update {
        Update::TurnEnded { result } => Some((result.final_answer.clone(), result.end.clone())),
        _ => None,
    });
    ended.collect()
}

/// For what no event tells.
async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
