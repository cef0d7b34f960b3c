//! Driving a thread again after whoever drove it was gone.
//!
//! Its machine is rebuilt from what the caller remembers, as if the connection had just broken; from there on all goes
//! the way of any broken connection.

use ostler_model::thread::{Effect, InputState, Limits, Machine};
use ostler_model::{Moment, ThreadId};

use super::actor::Actor;
use super::command::{Arrival, Rejoined};
use super::entry::Entry;
use super::missed::ToldItems;
use super::open_again::{Before, NotReopened, open_again, words_of};
use super::{Driver, ThreadOptions, echo};
use crate::protocol::CodexVersion;
use crate::thread::open::{OpenError, OpenedThread};
use crate::thread::settings::ThreadSettings;
use crate::thread::{Recalled, RecalledAgent, Thread, ThreadUpdates};

impl Driver {
    /// Drives a thread again that was driven before, by this program or by one that is gone. For watchers it is as if
    /// the connection had broken: what happened meanwhile is told, asks come again, inputs in doubt are looked for and
    /// sent only if Codex does not have them. If Codex has lost a thread that had no turns, another takes its place.
    ///
    /// An error means that nothing was done; the caller still has all it remembers.
    pub async fn rejoin_thread(
        &self,
        thread: &ThreadId,
        settings: ThreadSettings,
        options: ThreadOptions,
        recalled: Recalled,
    ) -> Result<(Thread, ThreadUpdates), OpenError> {
        let on = self.connected().await?;
        let running = recalled.turn.as_ref().map(|turn| &turn.id);
        let last_known = running.or_else(|| recalled.past.last().map(|past| &past.id));
        let before = Before {
            has_goal: recalled.goal.is_some(),
            goal_since: last_known.filter(|_| recalled.goal.is_some()).cloned(),
            settings: settings.clone(),
            has_turns: recalled.has_turns,
            // It was lost with whoever had it.
            conversation: settings.ephemeral.then(Vec::new),
            turn: recalled.turn.as_ref().map(|turn| turn.id.clone()),
            inputs: words_of(
                recalled
                    .inputs
                    .iter()
                    .filter(|input| input.state == InputState::MaybeSent)
                    .map(|input| (&input.id, &input.content)),
            ),
        };
        let (opened, reopened) = match open_again(&on.server, thread, &before).await {
            Ok((opened, reopened)) => (opened, Ok(reopened)),
            Err(NotReopened::Refused(error)) => return Err(error),
            Err(NotReopened::Lost(failure)) => (OpenedThread::unseen(thread.clone()), Err(failure)),
        };
        let rejoined = Rejoined { thread: thread.clone(), recalled, reopened };
        self.drive(on, opened, settings, options, Arrival::Rejoined(Box::new(rejoined))).await
    }
}

impl Actor {
    /// Takes a thread up where whoever drove it before left it. It stands among the threads already.
    pub(super) fn rejoined(&mut self, epoch: u64, version: &CodexVersion, rejoined: Rejoined) {
        let Rejoined { thread, recalled, reopened } = rejoined;
        let now = self.now();
        let Some(entry) = self.threads.get_mut(&thread) else { return };
        let effects = entry.recall(now, version, &recalled);
        let limits = entry.as_root().map(|root| root.limits.clone()).unwrap_or_default();
        for effect in effects {
            // It is being opened already.
            if let Effect::Tell(_) = effect {
                self.perform(&thread, effect);
            }
        }
        for agent in recalled.agents {
            self.recall_agent(&thread, &limits, version, agent);
        }
        self.hear_early(&thread);
        self.thread_reopened(&thread, epoch, reopened);
    }

    /// A sub-agent is joined like the thread above it: Codex asks again only where somebody listens.
    fn recall_agent(
        &mut self,
        root: &ThreadId,
        limits: &Limits,
        version: &CodexVersion,
        RecalledAgent { agent, turn }: RecalledAgent,
    ) {
        let thread = agent.thread.clone();
        if self.threads.contains_key(&thread) {
            return;
        }
        // Which of several sub-agents stands above it matters to none of them.
        let mut entry = Entry::child(agent, root.clone(), limits, version);
        let recalled = Recalled { turn: Some(turn), ..Recalled::default() };
        let effects = entry.recall(self.now(), version, &recalled);
        self.threads.insert(thread.clone(), entry);
        for effect in effects {
            self.perform(&thread, effect);
        }
    }
}

impl Entry {
    /// Puts back what was known, and says what is to be done first.
    fn recall(&mut self, now: Moment, version: &CodexVersion, recalled: &Recalled) -> Vec<Effect> {
        let limits = self.machine.limits().clone();
        let (machine, effects) = Machine::recalled(limits, echo(version), now, recalled.to_model());
        self.machine = machine;
        self.told = ToldItems::default();
        let told = recalled.turn.iter().flat_map(|turn| &turn.told);
        told.for_each(|update| self.told.note(update));
        if let Some(root) = self.as_root_mut() {
            root.has_turns = recalled.has_turns;
            for input in &recalled.inputs {
                root.send(input.id.clone(), input.content.clone());
            }
            if let Some(turn) = &recalled.turn {
                root.messages.recall(turn);
                if let Some(plain) = &mut root.plain {
                    plain.recall(turn);
                }
            }
        }
        effects
    }
}
