//! The messages of a turn, in the order in which its steps began.
//!
//! Up to 0.142.5 a command is told as ended after the message that speaks of it. A reader wants the command first, and so
//! does the rollout of the same turn.

use std::collections::{BTreeMap, VecDeque};

use ostler_model::item::ItemEnd;
use ostler_model::thread::{RecalledTurn, Update};
use ostler_model::{InputId, Item, ItemBody, ItemId, Message, TurnId};

use super::Messages;
use crate::projection::{KnownInputs, Projector};

/// Steps that wait for one that began before them. A command may run as long as its turn; then it is told last.
const HELD_STEPS: usize = 256;

/// Collects the messages of a thread's turns from what is told of it, live and in a replay.
#[derive(Debug, Default)]
pub(crate) struct TurnMessages {
    wanted: Messages,
    /// Inputs that no turn has taken yet.
    sent: BTreeMap<InputId, String>,
    current: Option<Projection>,
}

impl TurnMessages {
    pub(crate) fn new(wanted: Messages) -> Self {
        Self { wanted, ..Self::default() }
    }

    pub(crate) fn sent(&mut self, input: InputId, text: String) {
        if self.wanted == Messages::Left {
            return;
        }
        self.sent.insert(input, text);
    }

    /// A turn that was begun before we were there. Its first message is the input that it answers.
    pub(crate) fn recall(&mut self, turn: &RecalledTurn) {
        let input = turn.told.iter().find_map(|update| match update {
            Update::InputTaken { input, .. } => Some(input.clone()),
            _ => None,
        });
        let text = turn.told.iter().find_map(|update| match update {
            Update::ItemEnded { item: Item { body: ItemBody::UserMessage(it), .. }, .. } => {
                Some(it.text.clone())
            }
            _ => None,
        });
        if let (Some(input), Some(text)) = (&input, text) {
            self.sent.insert(input.clone(), text);
        }
        self.note(&Update::TurnBegan { turn: turn.id.clone() });
        let rest = turn.told.iter().filter(|it| !matches!(it, Update::TurnBegan { .. }));
        for update in rest {
            self.note(update);
        }
    }

    /// The messages of the turn, if this is its end.
    pub(crate) fn note(&mut self, update: &Update) -> Option<Vec<Message>> {
        match (update, &mut self.current) {
            (Update::TurnBegan { .. }, _) if self.wanted == Messages::Left => {}
            (Update::TurnBegan { turn }, current) => {
                let sent = self.sent.iter().map(|(id, text)| (id.clone(), text.clone()));
                *current = Some(Projection::new(turn, sent));
            }
            (Update::InputTaken { input, .. } | Update::InputRefused { input, .. }, _) => {
                self.sent.remove(input);
            }
            (Update::ItemBegan { item, .. }, Some(current)) => current.began(item),
            (Update::ItemEnded { item, how, .. }, Some(current)) => current.ended(item, *how),
            (Update::TurnEnded { .. }, _) => return Some(self.take()),
            _ => {}
        }
        None
    }

    /// The messages of a turn that has not ended.
    pub(crate) fn take(&mut self) -> Vec<Message> {
        self.current.take().map(Projection::finish).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Projection {
    projector: Projector,
    /// Steps in the order they began, with how they ended.
    steps: VecDeque<(ItemId, Option<(Item, ItemEnd)>)>,
    messages: Vec<Message>,
    /// What was sent, to know it again where Codex echoes no ids (before 0.142.5).
    own_texts: Vec<String>,
}

impl Projection {
    /// Whoever sent an input has it in its history already. What is steered in later is not among these, and is kept.
    fn new(turn: &TurnId, sent: impl Iterator<Item = (InputId, String)>) -> Self {
        let (ids, own_texts) = sent.unzip();
        Self {
            projector: Projector::new(turn, KnownInputs { ids, prompt: None }),
            own_texts,
            steps: VecDeque::new(),
            messages: Vec::new(),
        }
    }

    fn began(&mut self, item: &Item) {
        self.steps.push_back((item.id.clone(), None));
    }

    fn ended(&mut self, item: &Item, how: ItemEnd) {
        if let ItemBody::UserMessage(message) = &item.body
            && message.input.is_none()
            && let Some(at) = self.own_texts.iter().position(|text| *text == message.text)
        {
            self.own_texts.swap_remove(at);
            return self.steps.retain(|(id, end)| *id != item.id || end.is_some());
        }
        let ended = Some((item.clone(), how));
        match self.steps.iter_mut().find(|(id, end)| *id == item.id && end.is_none()) {
            Some((_, end)) => *end = ended,
            None => self.steps.push_back((item.id.clone(), ended)),
        }
        while self.steps.len() > HELD_STEPS || matches!(self.steps.front(), Some((_, Some(_)))) {
            self.take_first();
        }
    }

    fn finish(mut self) -> Vec<Message> {
        while !self.steps.is_empty() {
            self.take_first();
        }
        self.messages.extend(self.projector.finish());
        self.messages
    }

    fn take_first(&mut self) {
        if let Some((_, Some((item, how)))) = self.steps.pop_front() {
            self.messages.extend(self.projector.push(&item, how));
        }
    }
}
