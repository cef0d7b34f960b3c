//! Takes secrets out of all that a driver tells.

use std::collections::HashMap;

use ostler_model::ask::Ask;
use ostler_model::thread::{DeltaKind, Update};
use ostler_model::{Decision, ItemId, ThreadId};

use super::growing::Growing;
use super::shapes::{Care, Reading, look};
use super::told::{Texts, ask_texts, notice_texts, update_texts};
use super::{Secrets, hide, merged};
use crate::thread::Notice;

/// Items that stream at once are few. Of one that is forgotten what was held back comes with its end.
const MOST_STREAMS: usize = 256;

/// One driver's filter: it remembers texts that grow.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    secrets: Secrets,
    growing: HashMap<(ThreadId, ItemId), Vec<(DeltaKind, Growing)>>,
}

/// What was held back of a text whose item has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeldBack {
    pub(crate) kind: DeltaKind,
    pub(crate) text: String,
}

impl Filter {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { secrets, growing: HashMap::new() }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// A text that is there as a whole.
    pub(crate) fn text(&self, text: &mut String) {
        self.hide(text, Care::Strict);
    }

    pub(crate) fn notice(&self, notice: &mut Notice) {
        notice_texts(notice, &mut |text| self.hide(text, Care::Strict));
    }

    /// Hides registered values and single words that are tokens; false if there were none. Whoever decides must see all the rest.
    pub(crate) fn ask(&self, ask: &mut Ask) -> bool {
        let care = if ask.kind.is_for_people() { Care::Words } else { Care::Strict };
        let mut is_changed = false;
        ask_texts(ask, &mut |text| is_changed |= self.hide_told(text, care));
        if is_changed {
            // What is offered to be remembered repeats the words.
            ask.offers.retain(|offer| !matches!(offer, Decision::Always(_)));
        }
        is_changed
    }

    /// Everything in an update but asks and growing text. Messages of a person are given back to Codex as they are, and are kept so.
    pub(crate) fn update(&self, update: &mut Update, keeps_user_messages: bool) {
        let texts = Texts { keeps_user_messages };
        update_texts(update, texts, &mut |text| self.hide(text, Care::Strict));
    }

    /// What of a growing text may be shown.
    pub(crate) fn grown(
        &mut self,
        thread: &ThreadId,
        item: &ItemId,
        kind: DeltaKind,
        piece: &str,
    ) -> String {
        let key = (thread.clone(), item.clone());
        if self.growing.len() >= MOST_STREAMS && !self.growing.contains_key(&key) {
            self.growing.clear();
        }
        let texts = self.growing.entry(key).or_default();
        let at = texts.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            texts.push((kind, Growing::default()));
            texts.len() - 1
        });
        texts.get_mut(at).map(|(_, text)| text.push(piece, &self.secrets)).unwrap_or_default()
    }

    /// The item has ended: what was held back of its texts.
    pub(crate) fn ended(&mut self, thread: &ThreadId, item: &ItemId) -> Vec<HeldBack> {
        let texts = match self.growing.is_empty() {
            true => None,
            false => self.growing.remove(&(thread.clone(), item.clone())),
        };
        let held = texts.into_iter().flatten().map(|(kind, text)| {
            let text = text.end(&self.secrets);
            HeldBack { kind, text }
        });
        held.filter(|held| !held.text.is_empty()).collect()
    }

    fn hide(&self, text: &mut String, care: Care) {
        self.hide_told(text, care);
    }

    fn hide_told(&self, text: &mut String, care: Care) -> bool {
        let mut spans = look(text, Reading::Whole, care).spans;
        self.secrets.find(text, &mut spans);
        match hide(text, &merged(spans)) {
            Some(hidden) => {
                *text = hidden;
                true
            }
            None => false,
        }
    }

    /// The turn is over, and with it all its texts.
    pub(crate) fn turn_ended(&mut self, thread: &ThreadId) {
        self.growing.retain(|(of, _), _| of != thread);
    }
}
