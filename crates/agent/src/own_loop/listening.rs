//! What the user says while something is waited for: on disk before anybody is told that it was heard.

use std::pin::pin;

use ostler_model::Message;

use crate::activity::{Activity, Hear};
use crate::api::Entry;
use crate::codex_turn::SaidMeanwhile;
use crate::conversation::Conversation;
use crate::steering::Steering;

/// Who hears it.
#[derive(Clone, Copy)]
pub(crate) enum Listening<'a> {
    /// Nobody: no turn runs, and it begins the next one.
    NoTurn,
    Turn {
        steering: &'a Steering,
        hear: Hear<'a>,
    },
}

impl Listening<'_> {
    /// Does the work, which may take minutes, and keeps meanwhile what is said. The turn takes it up where it next can.
    pub(crate) async fn during<T>(
        self,
        work: impl Future<Output = T>,
        conversation: &mut Conversation,
    ) -> T {
        let Self::Turn { steering, .. } = self else { return work.await };
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = steering.waits() => self.keep(conversation).await,
            }
        }
    }

    /// What waits to be heard, in its order. A kill from here on loses none of it.
    pub(crate) async fn keep(self, conversation: &mut Conversation) {
        let Self::Turn { steering, hear } = self else { return };
        for text in steering.take() {
            let said = SaidMeanwhile::unsent(Entry::plain(Message::user(text.clone())));
            let told = match conversation.update(|state| state.said.push(said)).await {
                Ok(()) => Activity::Steered(text),
                Err(error) => Activity::Note(not_said(&text, &error)),
            };
            hear(told);
        }
    }
}

/// For words that are lost: whoever said them is told.
pub(crate) fn not_said(text: &str, error: &crate::conversation::KeepError) -> String {
    format!("this was not said, it cannot be written down: {text} ({error})")
}
