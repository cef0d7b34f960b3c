//! What the thread tells: written down as it comes, and passed to the rules that look at it.

use std::sync::Arc;

use ostler_codex::thread::{Notice, ThreadUpdate, Told};
use ostler_model::item::{ItemBody, ItemEnd, Sender};
use ostler_model::task::machine::{Owed, Signal};
use ostler_model::task::{Agent, Partial};
use ostler_model::thread::Update;
use ostler_model::{Event, Item, TurnId, TurnResult};
use ostler_store::{TurnRow, Write};

use super::Runner;
use super::perform::Todo;
use crate::dispatcher::FromRunner;
use crate::hub::News;
use crate::shared::now;

/// Stands in text that grows where pieces of it may be lost: Codex tells them once. The step's end brings its whole text.
const GAP: &str = "\n[text may be missing here until this step ends]\n";

impl Runner {
    pub(super) fn hear(&mut self, told: ThreadUpdate) {
        let agent = told.agent.map(|agent| Agent {
            thread: agent.thread,
            name: agent.name,
            role: agent.role,
        });
        match told.what {
            // Whoever looks at raw lines hears them from the driver.
            Told::Wire(_) => {}
            Told::Notice(notice) => self.hear_notice(agent, &notice),
            Told::Update(Update::Delta { turn, item, kind, mut text }) => {
                if self.log.is_behind_gap(&item) {
                    text.insert_str(0, GAP);
                }
                let partial = Partial { agent, turn, item, kind, text };
                let begins = self.log.grown(&partial);
                self.tell_grown(begins, partial);
            }
            Told::Update(Update::AskOpened { ask, content }) => {
                self.asked(agent, ask, *content, told.asked);
            }
            Told::Update(Update::AskClosed { ask, how }) => self.ask_closed(agent, ask, how),
            Told::Update(Update::AutoReview { turn, review }) => {
                self.log.event(now(), Event::AutoReview { agent, turn, review });
            }
            Told::Update(update) => match agent {
                None => self.hear_update(update),
                Some(agent) => self.hear_agent(agent, update),
            },
        }
    }

    /// Text that grows need not wait for the disk, but for what came before it: whoever watches must not see a new answer
    /// before the end of the one that broke off.
    fn tell_grown(&mut self, begins: u64, partial: Partial) {
        let hub = &self.shared.hub;
        if self.log.only_streams() && self.held.is_empty() {
            return hub.tell(&self.id, || News::Grown { begins, partial: Arc::new(partial) });
        }
        if hub.is_watched(&self.id) {
            self.held.push(News::Grown { begins, partial: Arc::new(partial) });
        }
    }

    /// What came before it is written, or cannot be for now.
    pub(super) fn tell_held(&mut self) {
        for news in std::mem::take(&mut self.held) {
            self.shared.hub.tell(&self.id, || news);
        }
    }

    fn hear_update(&mut self, mut update: Update) {
        let at = now();
        if let Update::ItemEnded { item, .. } = &mut update {
            name_ourselves(item);
        }
        if let Update::Goal { goal } = &update
            && !self.is_news_of_goal(goal.as_ref())
        {
            return self.step(Signal::Told(Box::new(update)));
        }
        match &update {
            Update::TurnBegan { turn } => self.turn_began(turn, at),
            Update::ItemBegan { item, .. } => {
                self.log.item_began(&item.id);
                self.step_began(item);
                self.notes.place(&item.id);
            }
            Update::Disconnected { .. } => self.log.broke_off(),
            Update::ItemEnded { turn, item, how } => self.item_ended(turn, item, *how),
            Update::TurnEnded { result } => {
                self.turn_row(result);
                self.shared.on_disk.ended(self.machine.task(), &result.turn);
            }
            Update::Reconnected => self.note_keeper(),
            _ => {}
        }
        let is_for_them = is_for_the_rules(&update) || self.ends_retrying(&update);
        let signal = is_for_them.then(|| Signal::Told(Box::new(update.clone())));
        let ended = match &update {
            Update::TurnEnded { result } => Some(result.clone()),
            _ => None,
        };
        self.log.event(at, Event::Thread { agent: None, update: Box::new(update) });
        if let Some(signal) = signal {
            let was_retrying = self.machine.is_retrying();
            self.step(signal);
            if was_retrying != self.machine.is_retrying() {
                // Lists show it, and its state stays the same.
                let (task, state) = (self.id.clone(), self.machine.task().state);
                self.todo.push(Todo::Tell(FromRunner::Moved { task, state }));
            }
        }
        if let Some(result) = ended {
            self.asks_after_turn(&result);
        }
    }

    /// The rules look at items only while the model was not reached.
    fn ends_retrying(&self, update: &Update) -> bool {
        matches!(update, Update::ItemBegan { .. } | Update::ItemEnded { .. })
            && self.machine.is_retrying()
    }

    /// A sub-agent's steps are in the log only; what it uses counts for the task.
    fn hear_agent(&mut self, agent: Agent, update: Update) {
        if let Update::Usage { usage, .. } = &update {
            let (agent, tokens) = (agent.thread.clone(), usage.turn.total());
            self.step(Signal::AgentUsed { agent, tokens });
        }
        if let Update::ItemBegan { item, .. } = &update {
            self.log.item_began(&item.id);
            self.step_began(item);
        }
        if let Update::ItemEnded { turn, item, how } = &update {
            self.step_ended(item, *how);
            self.asks_after_item(&item.id);
            self.log.ended(turn, &item.id);
        }
        self.log.event(now(), Event::Thread { agent: Some(agent), update: Box::new(update) });
    }

    pub(super) fn hear_notice(&mut self, agent: Option<Agent>, notice: &Notice) {
        if let (Notice::Renewed { thread }, None) = (notice, &agent) {
            self.machine.task_mut().thread = Some(thread.clone());
            self.note_task();
        }
        let json = serde_json::to_string(notice).unwrap_or_default();
        let name = notice_name(notice).to_owned();
        self.log.event(now(), Event::Notice { agent, name, json });
    }

    fn turn_began(&mut self, turn: &TurnId, at: i64) {
        let number = self.notes.began(turn, at);
        let began_at = self.notes.began_at();
        let task = self.id.clone();
        self.log.push(Write::Turn(TurnRow {
            task,
            turn: turn.clone(),
            number,
            began_at,
            result: None,
        }));
    }

    fn item_ended(&mut self, turn: &TurnId, item: &Item, how: ItemEnd) {
        let number = self.notes.place(&item.id);
        let (task, of) = (self.id.clone(), turn.clone());
        self.log.push(Write::Item { task, turn: of, number, item: Box::new(item.clone()), how });
        self.log.ended(turn, &item.id);
        self.step_ended(item, how);
        self.asks_after_item(&item.id);
    }

    fn turn_row(&mut self, result: &TurnResult) {
        let number = self.notes.began(&result.turn, now());
        let row = TurnRow {
            task: self.id.clone(),
            turn: result.turn.clone(),
            number,
            began_at: self.notes.began_at(),
            result: Some(Box::new(result.clone())),
        };
        self.log.push(Write::Turn(row));
        self.log.turn_ended(&result.turn);
    }

    /// A driver that lost its app-server is in another one now.
    pub(super) fn note_keeper(&mut self) {
        let keeper = self.stage.as_ref().and_then(|stage| stage.seat.keeper());
        if keeper.is_some() && keeper != self.machine.task().keeper {
            self.machine.task_mut().keeper = keeper;
            self.note_task();
        }
    }
}

/// What we said to go on with the task is nobody else's.
fn name_ourselves(item: &mut Item) {
    if let ItemBody::UserMessage(message) = &mut item.body
        && Owed::reads(&message.text)
    {
        message.sender = Sender::Ostler;
    }
}

fn is_for_the_rules(update: &Update) -> bool {
    matches!(
        update,
        Update::TurnBegan { .. }
            | Update::InputTaken { .. }
            | Update::InputRefused { .. }
            | Update::Usage { .. }
            | Update::Retrying { .. }
            | Update::Goal { .. }
            | Update::Disconnected { .. }
            | Update::Reconnected
            | Update::TurnEnded { .. }
    )
}

fn notice_name(notice: &Notice) -> &'static str {
    match notice {
        Notice::Warning { .. } => "warning",
        Notice::RateLimits { .. } => "rate_limits",
        Notice::McpServer { .. } => "mcp_server",
        Notice::ModelRerouted { .. } => "model_rerouted",
        Notice::Renewed { .. } => "renewed",
        Notice::LeftBehind => "left_behind",
        Notice::Account { .. } => "account",
        Notice::Login { .. } => "login",
        Notice::Settings { .. } => "settings",
        Notice::Unloaded => "unloaded",
        Notice::Archived => "archived",
        Notice::Other { .. } => "other",
        Notice::Odd { .. } => "odd",
    }
}
