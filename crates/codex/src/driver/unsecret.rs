//! What is told, without its secrets.

use ostler_model::thread::Update;
use ostler_model::{Ask, ThreadId};

use super::actor::Actor;
use crate::thread::Told;

impl Actor {
    /// The update as it may be told, with the ask as it is where it had secrets. `None` if nothing of it may be told yet.
    ///
    /// What we keep to talk with Codex (the machine of the thread, questions that wait for an answer) stays as it came.
    pub(super) fn without_secrets(
        &mut self,
        thread: &ThreadId,
        mut update: Update,
    ) -> Option<(Update, Option<Box<Ask>>)> {
        let at_once = matches!(update, Update::ItemBegan { .. } | Update::ItemEnded { .. });
        if at_once || matches!(update, Update::Delta { .. } | Update::TurnBegan { .. }) {
            self.filter.secrets().look_again(at_once);
        }
        let mut asked = None;
        match &mut update {
            Update::Delta { item, kind, text, .. } => {
                *text = self.filter.grown(thread, item, *kind, text);
                if text.is_empty() {
                    return None;
                }
            }
            Update::AskOpened { content, .. } => {
                let original = content.clone();
                asked = self.filter.ask(content).then_some(original);
            }
            Update::ItemEnded { turn, item, .. } => {
                for held in self.filter.ended(thread, &item.id) {
                    let (turn, item) = (turn.clone(), item.id.clone());
                    let rest = Update::Delta { turn, item, kind: held.kind, text: held.text };
                    self.tell(thread, Told::Update(rest));
                }
            }
            Update::TurnEnded { .. } => self.filter.turn_ended(thread),
            _ => {}
        }
        // What a person said is given back to Codex as it was said, and known again by it.
        let is_of_a_person =
            self.threads.get(thread).is_some_and(|entry| entry.as_root().is_some());
        self.filter.update(&mut update, is_of_a_person);
        Some((update, asked))
    }
}
