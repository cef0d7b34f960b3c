//! Takes secrets out of all that a driver tells.

use std::collections::HashMap;

use ostler_model::ask::{Ask, AskKind, QuestionOption};
use ostler_model::thread::{DeltaKind, Update};
use ostler_model::{Decision, ItemId, ThreadId};

use super::growing::Growing;
use super::shapes::{Care, Reading, look};
use super::told::{Kind, Texts, ask_texts, notice_texts, update_texts};
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
        self.hide(text, Kind::Prose, Care::Strict);
    }

    pub(crate) fn notice(&self, notice: &mut Notice) {
        notice_texts(notice, &mut |text, kind| {
            self.hide(text, kind, Care::Strict);
        });
    }

    /// Hides registered values and single words that are tokens; false if there were none. Whoever decides must see all the rest.
    pub(crate) fn ask(&self, ask: &mut Ask) -> bool {
        let care = if ask.kind.is_for_people() { Care::Words } else { Care::Strict };
        let mut is_changed = false;
        ask_texts(ask, &mut |text, kind| is_changed |= self.hide(text, kind, care));
        if is_changed {
            // What is offered to be remembered repeats the words.
            ask.offers.retain(|offer| !matches!(offer, Decision::Always(_)));
        }
        is_changed
    }

    /// Everything in an update but asks and growing text. Messages of a person are given back to Codex as they are, and are kept so.
    pub(crate) fn update(&self, update: &mut Update, keeps_user_messages: bool) {
        let texts = Texts { keeps_user_messages };
        update_texts(update, texts, &mut |text, kind| {
            self.hide(text, kind, Care::Strict);
        });
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

    /// Answers to questions whose labels were told without their secrets, as Codex offered them.
    pub(crate) fn as_asked(&self, ask: &Ask, decision: &Decision) -> Decision {
        let (AskKind::UserInput(asked), Decision::Answers(answers)) = (&ask.kind, decision) else {
            return decision.clone();
        };
        let mut answers = answers.clone();
        for question in &asked.questions {
            for QuestionOption { label, .. } in &question.options {
                let mut shown = label.clone();
                self.hide(&mut shown, Kind::Name, Care::Words);
                let given = answers.get_mut(&question.id).into_iter().flatten();
                given
                    .filter(|answer| **answer == shown)
                    .for_each(|answer| answer.clone_from(label));
            }
        }
        Decision::Answers(answers)
    }

    /// Whether there was anything to hide.
    fn hide(&self, text: &mut String, kind: Kind, care: Care) -> bool {
        let mut spans = match kind {
            Kind::Prose => look(text, Reading::Whole, care).spans,
            Kind::Name => Vec::new(),
        };
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

#[cfg(test)]
mod tests {
    use ostler_model::QuestionId;
    use ostler_model::ask::{FileChangeAsk, FileChangeKind, FileDiff, Question, UserInputAsk};

    use super::*;

    const SECRET: &str = "zebra.canary.of.the.login";
    const HIDDEN: &str = "‹redacted›";

    fn filter() -> Filter {
        let secrets = Secrets::default();
        assert!(secrets.add(SECRET));
        Filter::new(secrets)
    }

    fn ask(kind: AskKind) -> Ask {
        Ask { thread: None, turn: None, item: None, reason: None, kind, offers: Vec::new() }
    }

    #[test]
    fn names_are_told_without_registered_values_and_otherwise_as_they_are() {
        let told = |name: &str| {
            let file = FileDiff {
                path: format!("/inn/{name}"),
                change: FileChangeKind::Update { moved_to: Some(format!("/barn/{name}")) },
                diff: String::new(),
            };
            let root = Some(format!("/{name}"));
            let mut ask =
                ask(AskKind::FileChange(FileChangeAsk { files: vec![file], grant_root: root }));
            let is_changed = filter().ask(&mut ask);
            let AskKind::FileChange(FileChangeAsk { files, grant_root }) = ask.kind else {
                panic!("{ask:?}")
            };
            (is_changed, files[0].path.clone(), files[0].change.clone(), grant_root.unwrap())
        };
        let shown = |is_changed, name: &str| {
            let moved_to = Some(format!("/barn/{name}"));
            let change = FileChangeKind::Update { moved_to };
            (is_changed, format!("/inn/{name}"), change, format!("/{name}"))
        };
        assert_eq!(told(&format!("{SECRET}.txt")), shown(true, &format!("{HIDDEN}.txt")));
        let like_a_token = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCD.txt";
        assert_eq!(told(like_a_token), shown(false, like_a_token));
    }

    #[test]
    fn an_answer_by_a_label_goes_back_as_it_was_offered() {
        let option =
            |label: &str| QuestionOption { label: label.to_owned(), description: String::new() };
        let asked = Question {
            id: QuestionId::new("q"),
            header: String::new(),
            text: String::new(),
            options: vec![option(&format!("use {SECRET}")), option("no")],
            allows_other: true,
            is_secret: false,
        };
        let asked = ask(AskKind::UserInput(UserInputAsk {
            questions: vec![asked],
            resolves_itself_after_ms: None,
        }));
        let mut told = asked.clone();
        assert!(filter().ask(&mut told));
        let AskKind::UserInput(shown) = &told.kind else { panic!("{told:?}") };
        let shown = &shown.questions[0].options[0].label;
        assert_eq!(*shown, format!("use {HIDDEN}"));
        let answers = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Decision::Answers([(QuestionId::new("q"), words)].into())
        };
        let back = filter().as_asked(&asked, &answers(&[shown, "no", "else"]));
        assert_eq!(back, answers(&[&format!("use {SECRET}"), "no", "else"]));
    }
}
