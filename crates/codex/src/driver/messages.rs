//! The messages of a turn, in the order in which its steps began.
//!
//! Up to 0.142.5 a command is told as ended after the message that speaks of it. A reader wants the command first, and so
//! does the rollout of the same turn.

use std::collections::{HashMap, VecDeque};

use ostler_model::item::ItemEnd;
use ostler_model::{InputId, Item, ItemId, Message, TurnId};

use crate::projection::{KnownInputs, Projector};
use crate::thread::TurnInput;

#[derive(Debug)]
pub(super) struct Projection {
    turn: TurnId,
    projector: Projector,
    /// Steps in the order they began, with how they ended.
    steps: VecDeque<(ItemId, Option<(Item, ItemEnd)>)>,
    messages: Vec<Message>,
}

impl Projection {
    /// Whoever sent an input has it in its history already.
    pub(super) fn new(turn: &TurnId, inputs: &HashMap<InputId, TurnInput>) -> Self {
        let prompt = inputs.values().find_map(TurnInput::prompt);
        let known = KnownInputs { ids: inputs.keys().cloned().collect(), prompt };
        Self {
            turn: turn.clone(),
            projector: Projector::new(turn, known),
            steps: VecDeque::new(),
            messages: Vec::new(),
        }
    }

    pub(super) fn is_of(&self, turn: &TurnId) -> bool {
        self.turn == *turn
    }

    pub(super) fn began(&mut self, item: &Item) {
        self.steps.push_back((item.id.clone(), None));
    }

    pub(super) fn ended(&mut self, item: &Item, how: ItemEnd) {
        let ended = Some((item.clone(), how));
        match self.steps.iter_mut().find(|(id, end)| *id == item.id && end.is_none()) {
            Some((_, end)) => *end = ended,
            None => self.steps.push_back((item.id.clone(), ended)),
        }
        while let Some((_, Some(_))) = self.steps.front() {
            self.take_first();
        }
    }

    pub(super) fn finish(mut self) -> Vec<Message> {
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
