//! How the simulated Codex works on a turn: its steps, its questions and its end.

use ostler_model::ask::{Ask, AskKind, CommandAsk, ToolCallAsk};
use ostler_model::failure::{Failure, FailureClass};
use ostler_model::item::{AgentMessage, Command, Item, ItemBody, UserMessage};
use ostler_model::thread::{DeltaKind, Said, SaidEnd, What};
use ostler_model::{AskId, Decision, ItemId};

use super::Choices;
use super::codex::{Codex, Fate, Pending, Running, Version};

impl Codex {
    /// One step of the running turn. Without choices it takes three and completes.
    pub(crate) fn work(&mut self, choices: &mut Choices) {
        let Some(running) = self.running.as_mut().filter(|running| !running.hangs) else { return };
        let (id, announced) = (running.id.clone(), running.announced.clone());
        running.steps += 1;
        let pending = std::mem::take(&mut running.pending);
        let (is_new, steps) = (!std::mem::replace(&mut running.is_announced, true), running.steps);
        let is_waiting = !running.asks.is_empty();
        if is_new {
            self.say(&announced, What::TurnStarted);
        }
        for pending in pending {
            self.echo(pending);
        }
        if !self.late.is_empty() && choices.one_in(3) {
            self.say_late();
        }
        match choices.pick(16) {
            _ if is_new => {}
            _ if is_waiting => {}
            1 | 2 => self.start_item(choices.pick(2) == 1),
            3 | 4 => self.complete_item(choices),
            5 => self.ask(choices),
            6 => {
                let failure = Failure::new(FailureClass::Network, "stream cut");
                self.say(&id, What::Failing { failure, will_retry: true });
            }
            7 => {
                let failure = Failure::new(FailureClass::ServerError, "given up");
                self.say(&id, What::Failing { failure, will_retry: false });
                self.end(SaidEnd::Failed(None), choices);
            }
            8 => self.end(SaidEnd::Completed, choices),
            9 => {
                if let Some(running) = self.running.as_mut() {
                    running.hangs = true;
                }
            }
            10 => self.say(&id, What::Sign),
            _ if steps > 3 => self.end(SaidEnd::Completed, choices),
            _ => {}
        }
    }

    fn item(&mut self, id: &str, body: ItemBody) -> Item {
        let id = ItemId::new(self.name(id));
        if let Some(running) = &self.running {
            self.truth.name_item(&id, &running.id);
        }
        Item { id, body }
    }

    fn echo(&mut self, Pending { input, text, fate }: Pending) {
        let Some(turn) = self.running.as_ref().map(|running| running.id.clone()) else { return };
        if fate != Fate::Kept {
            self.keep(input.as_ref(), &text);
        }
        let input = input.filter(|_| self.version != Version::V130);
        let message =
            UserMessage { text, attachments: Vec::new(), input, ..UserMessage::default() };
        let item = self.item("message", ItemBody::UserMessage(message));
        self.say(&turn, What::ItemStarted(item.clone()));
        self.say(&turn, What::ItemCompleted(item));
    }

    fn start_item(&mut self, is_command: bool) {
        let body = body(is_command);
        let item = self.item("item", body);
        let Some(running) = self.running.as_mut() else { return };
        running.open.push((item.id.clone(), is_command));
        let turn = running.id.clone();
        let delta = What::Delta {
            item: item.id.clone(),
            kind: if is_command { DeltaKind::Output } else { DeltaKind::Message },
            text: "x".into(),
        };
        self.say(&turn, What::ItemStarted(item));
        self.say(&turn, delta);
    }

    fn complete_item(&mut self, choices: &mut Choices) {
        let Some(running) = self.running.as_mut() else { return };
        if running.open.is_empty() {
            return;
        }
        let at = choices.pick(u16::try_from(running.open.len()).unwrap_or(1));
        let (id, is_command) = running.open.remove(usize::from(at));
        let turn = running.id.clone();
        let completed = What::ItemCompleted(Item { id, body: body(is_command) });
        if choices.one_in(4) {
            self.say(&turn, completed.clone());
        }
        self.say(&turn, completed);
    }

    fn ask(&mut self, choices: &mut Choices) {
        let id = AskId::new(self.name("ask"));
        let (kind, offers) = match choices.pick(6) {
            1 => (AskKind::Other { name: "new/ask".into() }, Vec::new()),
            2 => {
                let call = ToolCallAsk {
                    call: ItemId::new("call"),
                    namespace: None,
                    tool: "ours".into(),
                    arguments: "{}".into(),
                };
                (AskKind::ToolCall(call), Vec::new())
            }
            3 => (AskKind::Command(CommandAsk::default()), vec![Decision::Once]),
            _ => {
                let offers = vec![Decision::Once, Decision::Deny, Decision::Cancel];
                (AskKind::Command(CommandAsk::default()), offers)
            }
        };
        let Some(running) = self.running.as_mut() else { return };
        let turn = running.id.clone();
        let content = Box::new(Ask {
            thread: None,
            turn: Some(turn.clone()),
            item: None,
            reason: None,
            kind,
            offers,
        });
        let asked = What::Asked { ask: id.clone(), content };
        running.asks.insert(id.clone(), asked.clone());
        self.truth.name_ask(&id, &turn);
        self.say(&turn, asked);
    }

    /// An answer came, from us or from another client.
    pub(crate) fn resolve(&mut self, ask: &AskId, cancels: bool) {
        let Some(running) = self.running.as_mut() else { return };
        if running.asks.remove(ask).is_none() {
            return;
        }
        let turn = running.id.clone();
        self.say(&turn, What::AskResolved { ask: ask.clone() });
        if cancels {
            self.end(SaidEnd::Interrupted, &mut Choices::new(Vec::new()));
        }
    }

    pub(crate) fn end(&mut self, end: SaidEnd, choices: &mut Choices) {
        let Some(running) = self.running.as_mut() else { return };
        let pending = std::mem::take(&mut running.pending);
        for pending in pending {
            if end != SaidEnd::Interrupted || pending.fate != Fate::Frail {
                self.echo(pending);
            }
        }
        if let Some(turn) = self.history.last_mut() {
            turn.end = Some(end.clone());
        }
        let Some(Running { id, open, asks, .. }) = self.running.take() else { return };
        if !choices.one_in(12) {
            let completed = What::TurnCompleted(end);
            self.say(&id, completed.clone());
            if choices.one_in(12) {
                self.say(&id, completed);
            }
        }
        for ask in asks.into_keys() {
            self.say(&id, What::AskResolved { ask });
        }
        // Commands end a little after their turn, or much later, or never.
        for (item, is_command) in open.into_iter().filter(|(_, is_command)| *is_command) {
            let what = What::ItemCompleted(Item { id: item, body: body(is_command) });
            match choices.pick(3) {
                1 => self.say(&id, what),
                2 => self.late.push(Said { turn: Some(id.clone()), what }),
                _ => {}
            }
        }
    }

    fn say_late(&mut self) {
        let late = std::mem::take(&mut self.late);
        self.events.extend(late);
    }
}

fn body(is_command: bool) -> ItemBody {
    if is_command {
        ItemBody::Command(Command::default())
    } else {
        ItemBody::AgentMessage(AgentMessage { text: "said".into(), ..AgentMessage::default() })
    }
}
