//! The messages of a turn, in the order in which its steps began.
//!
//! Up to 0.142.5 a command is told as ended after the message that speaks of it. A reader wants the command first, and so
//! does the rollout of the same turn.

use std::collections::VecDeque;

use ostler_model::item::ItemEnd;
use ostler_model::{InputId, Item, ItemBody, ItemId, Message, TurnId};

use crate::projection::{KnownInputs, Projector};

#[derive(Debug)]
pub(crate) struct Projection {
    turn: TurnId,
    projector: Projector,
    /// Steps in the order they began, with how they ended.
    steps: VecDeque<(ItemId, Option<(Item, ItemEnd)>)>,
    messages: Vec<Message>,
    /// What was sent, to know it again where Codex echoes no ids (before 0.142.5).
    own_texts: Vec<String>,
}

impl Projection {
    /// Whoever sent an input has it in its history already. What is steered in later is not among these, and is kept.
    pub(crate) fn new(turn: &TurnId, sent: impl Iterator<Item = (InputId, String)>) -> Self {
        let (ids, own_texts) = sent.unzip();
        Self {
            turn: turn.clone(),
            projector: Projector::new(turn, KnownInputs { ids, prompt: None }),
            own_texts,
            steps: VecDeque::new(),
            messages: Vec::new(),
        }
    }

    pub(crate) fn is_of(&self, turn: &TurnId) -> bool {
        self.turn == *turn
    }

    pub(crate) fn began(&mut self, item: &Item) {
        self.steps.push_back((item.id.clone(), None));
    }

    pub(crate) fn ended(&mut self, item: &Item, how: ItemEnd) {
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
        while let Some((_, Some(_))) = self.steps.front() {
            self.take_first();
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Message> {
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
