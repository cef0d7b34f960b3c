//! The program that drives the thread is killed, and another comes back with what the first one wrote down.

use std::time::Duration;

use ostler_model::item::ItemEnd;
use ostler_model::thread::{
    Effect, InputState, Machine, Recalled, RecalledInput, RecalledPast, RecalledTurn, Update,
};
use ostler_model::{Interrupter, ItemBody, Moment};

use super::driver::{Sent, World};

impl World {
    /// Everything of ours is gone at once: what was on its way to us is lost, what was on its way to Codex arrives or not.
    pub(crate) fn restart(&mut self) {
        for _ in 0..self.choices.pick(3) {
            self.arrive_unheard();
        }
        self.drop_all();
        let recalled = self.recalled();
        let now = self.now;
        self.tell(|| format!("{now:>7} > restart with {recalled:?}"));
        self.log.restarted();
        let (limits, echo) = (self.machine.limits().clone(), self.echo());
        let (machine, effects) =
            Machine::recalled(limits, echo, Moment::from_ms(self.now), recalled);
        self.machine = machine;
        for effect in effects {
            self.effect(effect);
        }
    }

    /// What whoever writes down all updates, and all that was handed over, knows.
    fn recalled(&self) -> Recalled {
        let mut recalled = Recalled::default();
        let open: Vec<&Sent> =
            self.sent.iter().filter(|sent| !self.log.is_over(&sent.input)).collect();
        let first = open.first().map_or(self.told.len(), |sent| sent.at);
        for (at, update) in self.told.iter().enumerate() {
            match update {
                Update::TurnBegan { turn } => {
                    recalled.turn = Some(RecalledTurn::new(turn.clone()));
                }
                Update::TurnEnded { result } => {
                    let told = recalled.turn.take().map(|turn| turn.told).unwrap_or_default();
                    let past = RecalledPast {
                        id: result.turn.clone(),
                        messages: told.iter().filter_map(user_message).collect(),
                        inputs: result
                            .inputs
                            .iter()
                            .map(|input| format!("text of {input}"))
                            .collect(),
                    };
                    recalled.past.push(past);
                    if at < first {
                        recalled.after = Some(result.turn.clone());
                    }
                }
                update => {
                    let turn = recalled.turn.as_mut();
                    turn.into_iter().for_each(|turn| turn.told.push(update.clone()));
                }
            }
        }
        let person = Interrupter::Caller { name: "person".into() };
        let interrupted_by = self.is_interrupt_wanted.then_some(person);
        let open = open.into_iter().map(|sent| RecalledInput {
            input: sent.input.clone(),
            kind: self.kind(&sent.input),
            if_busy: sent.if_busy,
            state: InputState::MaybeSent,
        });
        Recalled {
            inputs: open.collect(),
            interrupted_by,
            turn: recalled
                .turn
                .map(|turn| RecalledTurn { elapsed: Duration::from_secs(1), ..turn }),
            ..recalled
        }
    }
}

/// Whether no interrupt is owed after this: the turn that was meant is over, or does not come.
pub(crate) fn settles_interrupt(effect: &Effect) -> bool {
    matches!(effect, Effect::Tell(Update::TurnEnded { .. } | Update::InputRefused { .. }))
}

fn user_message(update: &Update) -> Option<String> {
    let Update::ItemEnded { item, how: ItemEnd::Reported, .. } = update else { return None };
    match &item.body {
        ItemBody::UserMessage(message) => Some(message.text.clone()),
        _ => None,
    }
}
