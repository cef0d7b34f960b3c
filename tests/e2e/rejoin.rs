//! Whoever drove a thread is gone without a word, and comes back with what it wrote down: nothing is lost, and nothing is
//! told or sent twice. To be killed is to drop the driver; Codex lives on under its keeper.

mod agents;
mod context;
mod inputs;
mod turns;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_codex::driver::{Connector, Driver, DriverSettings, DriverTask, ThreadOptions};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread_history::ThreadRead;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::protocol::words::ThreadState;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{
    InputState, Notice, Recalled, RecalledInput, ThreadUpdate, Told, TurnInput,
};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{InputId, ItemBody, ThreadId};
use ostler_scripted_model::{Answer, Conversation, Script};
use ostler_testkit::{CutConnector, DrivenThread, KeptCodex, Stage};

use crate::thread::workspace_write;

/// No wait here takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An app-server, and whoever drives its threads at the moment.
pub(crate) struct Place {
    daemon: Option<(Driver, DriverTask)>,
    connector: Arc<CutConnector>,
    codex: KeptCodex,
    stage: Stage,
}

impl Place {
    pub(crate) async fn of(version: &str, conversations: Vec<(&str, Vec<Answer>)>) -> Self {
        let conversations = conversations
            .into_iter()
            .map(|(prompt, answers)| Conversation { prompt: prompt.to_owned(), answers });
        let script = Script { conversations: conversations.collect(), ..Script::default() };
        let program = env!("CARGO_BIN_EXE_ostler");
        let stage = Stage::set(program, env!("CARGO_TARGET_TMPDIR"), version, script).unwrap();
        let codex = stage.codex().await.unwrap();
        let connector = Arc::new(CutConnector::new(codex.socket()).unwrap());
        let daemon = Some(start(connector.clone()).await);
        Self { daemon, connector, codex, stage }
    }

    pub(crate) fn driver(&self) -> &Driver {
        &self.daemon.as_ref().unwrap().0
    }

    /// A thread that asks before it runs a command.
    pub(crate) fn asking(&self) -> ThreadSettings {
        self.stage.settings(workspace_write(), ApprovalPolicy::Untrusted)
    }

    /// A thread that may do all without asking.
    fn free(&self) -> ThreadSettings {
        self.stage.settings(SandboxPolicy::DangerFullAccess, ApprovalPolicy::Never)
    }

    async fn thread(&self, settings: ThreadSettings) -> DrivenThread {
        let opened = self.driver().start_thread(settings, ThreadOptions::default()).await;
        let (thread, updates) = opened.unwrap();
        DrivenThread::new(thread, updates)
    }

    /// Whoever drives is killed.
    async fn kill(&mut self, thread: DrivenThread) -> (ThreadId, Vec<ThreadUpdate>) {
        let DrivenThread { thread, seen, .. } = thread;
        let id = thread.id().clone();
        let (driver, task) = self.daemon.take().unwrap();
        drop((driver, thread));
        tokio::time::timeout(PATIENCE, task.ended()).await.unwrap();
        (id, seen)
    }

    /// It is started again, and comes back to its thread.
    async fn rejoin(
        &mut self,
        thread: &ThreadId,
        settings: ThreadSettings,
        recalled: Recalled,
    ) -> DrivenThread {
        self.daemon = Some(start(self.connector.clone()).await);
        let options = ThreadOptions::default();
        let rejoined = self.driver().rejoin_thread(thread, settings, options, recalled).await;
        let (thread, updates) = rejoined.unwrap();
        DrivenThread::new(thread, updates)
    }

    async fn asked(&self, times: u64) {
        self.stage.model().wait_for_requests(times, PATIENCE).await.unwrap();
    }

    /// Waits, by another client's eyes, until no turn of the thread runs.
    async fn at_rest(&self, thread: &ThreadId) {
        let watcher = self.stage.client(&self.codex).await.unwrap();
        let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = watcher.server.call(&read).await.unwrap().thread.status.unwrap();
            if status.state == ThreadState::Idle {
                return watcher.close().await;
            }
            assert!(Instant::now() < deadline, "{status:?}");
        }
    }
}

async fn start(connector: Arc<dyn Connector>) -> (Driver, DriverTask) {
    Driver::start(connector, DriverSettings::default()).await.unwrap()
}

pub(crate) fn says(text: &str) -> TurnInput {
    TurnInput::text(text)
}

fn input(id: &InputId, text: &str, state: InputState) -> RecalledInput {
    RecalledInput { id: id.clone(), content: says(text), if_busy: IfBusy::Queue, state }
}

/// The updates by name, without those that come in no certain number.
fn names(thread: &DrivenThread) -> Vec<String> {
    let named = thread.seen.iter().filter_map(|told| match &told.what {
        Told::Update(Update::Usage { .. } | Update::Delta { .. } | Update::Diff { .. }) => None,
        Told::Update(update) => {
            serde_json::to_value(update).unwrap()["update"].as_str().map(str::to_owned)
        }
        Told::Notice(Notice::Renewed { .. }) => Some("renewed".to_owned()),
        Told::Wire(_) | Told::Notice(_) => None,
    });
    named.collect()
}

fn renewed(thread: &DrivenThread) -> Option<ThreadId> {
    thread.seen.iter().find_map(|told| match &told.what {
        Told::Notice(Notice::Renewed { thread }) => Some(thread.clone()),
        _ => None,
    })
}

/// What ended among the items, by id and by what it says.
fn ended(seen: &[ThreadUpdate]) -> Vec<(String, String)> {
    let ended = seen.iter().filter_map(|told| match &told.what {
        Told::Update(Update::ItemEnded { item, .. }) => {
            let said = match &item.body {
                ItemBody::AgentMessage(message) => message.text.clone(),
                ItemBody::UserMessage(message) => message.text.clone(),
                ItemBody::Command(command) => command.command.clone(),
                other => format!("{other:?}"),
            };
            Some((item.id.to_string(), said))
        }
        _ => None,
    });
    ended.collect()
}

/// Whoever reads both parts reads nothing twice.
fn nothing_twice(before: &[ThreadUpdate], after: &[ThreadUpdate]) {
    let said = |seen: &[ThreadUpdate]| ended(seen).into_iter().map(|(_, said)| said);
    let before: BTreeSet<String> = said(before).collect();
    let twice: Vec<String> = said(after).filter(|said| before.contains(said)).collect();
    assert_eq!(twice, Vec::<String>::new());
}
