//! Questions that wait for the person, of which one at a time is put.

use std::collections::VecDeque;

use anstyle::{AnsiColor, Style};
use ostler_engine::{Reach, Remembering};
use ostler_model::ask::ElicitationWant;
use ostler_model::decision::GrantHolds;
use ostler_model::task::AskRecord;
use ostler_model::{AskId, AskKind, Decision};
use ostler_server::api::AnswerRequest;

use crate::asking::{Besides, Dialog, Memory, Reading};
use crate::conversation::shown::AskShown;
use crate::conversation::{Extent, ask_text, is_cut, translate};

/// Where the person answered.
const SURFACE: &str = "ostler chat";

/// Where it was answered because there was no person.
pub(crate) const UNATTENDED: &str = "ostler chat, without a person";

#[derive(Default)]
pub(crate) struct Asks {
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    ask: AskRecord,
    shown: AskShown,
    dialog: Dialog,
    /// The answer was given, and nobody has confirmed it.
    is_answered: bool,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    /// Rows to show; the question stays.
    Again(Vec<String>),
    Decided(AskId, Box<AnswerRequest>),
}

/// What `/approve` was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yes {
    Once,
    Session,
    Always,
}

impl Asks {
    /// A new question: the rows that put it, if it is the first.
    pub(crate) fn opened(&mut self, ask: &AskRecord) -> Vec<String> {
        let is_known = self.waiting.iter().any(|waiting| waiting.ask.id == ask.id);
        if is_known || !ask.state.takes_a_decision() {
            return Vec::new();
        }
        // Only what Codex asks has a source.
        let shown = match ask.source {
            Some(_) => translate::ask(&ask.id, &ask.content),
            None => translate::agents_ask(&ask.id, &ask.content),
        };
        let besides = Besides { view: is_cut(&shown), later: false };
        // What no person answers is served or refused elsewhere.
        let Some(dialog) = Dialog::new(&ask.content, besides, Memory::Rule) else {
            return Vec::new();
        };
        self.waiting.push_back(Waiting { ask: ask.clone(), shown, dialog, is_answered: false });
        if self.waiting.len() == 1 { self.put(Extent::Cut) } else { Vec::new() }
    }

    /// The question needs no answer any more: the rows that put the next one.
    pub(crate) fn over(&mut self, ask: &AskId) -> Vec<String> {
        let was_first = self.waiting.front().is_some_and(|front| front.ask.id == *ask);
        self.waiting.retain(|waiting| waiting.ask.id != *ask);
        if was_first { self.put(Extent::Cut) } else { Vec::new() }
    }

    /// The answer was not taken; it is asked again.
    pub(crate) fn refused(&mut self, ask: &AskId) {
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.ask.id == *ask) {
            waiting.is_answered = false;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// What stands before the cursor, while a question is before the person.
    pub(crate) fn question(&self) -> Option<String> {
        let front = self.waiting.front().filter(|front| !front.is_answered)?;
        let bar = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        let lines: Vec<String> =
            front.dialog.question().iter().map(|line| format!("{bar}▌{bar:#} {line}")).collect();
        Some(format!("{} › ", lines.join("\n")))
    }

    pub(crate) fn is_secret(&self) -> bool {
        self.waiting.front().is_some_and(|front| !front.is_answered && front.dialog.is_secret())
    }

    /// A line that was typed while a question is before the person.
    pub(crate) fn typed(&mut self, line: &str) -> Heard {
        let Some(front) = self.waiting.front_mut() else { return Heard::Again(Vec::new()) };
        match front.dialog.read(line) {
            Reading::Decided { decision, reason } => {
                front.is_answered = true;
                let surface = Some(SURFACE.to_owned());
                let answer = AnswerRequest { decision, reason, remember: None, surface };
                Heard::Decided(front.ask.id.clone(), Box::new(answer))
            }
            Reading::View => Heard::Again(self.put(Extent::Whole)),
            Reading::Again(Some(note)) => Heard::Again(vec![note]),
            Reading::Again(None) | Reading::Later => {
                Heard::Again(vec!["that is no answer; choose one of the letters".to_owned()])
            }
        }
    }

    pub(crate) fn approve(&mut self, yes: Yes) -> Result<(AskId, AnswerRequest), String> {
        let front = self.front()?;
        let grant = |holds| match &front.ask.content.kind {
            AskKind::Permissions(ask) => {
                Some(Decision::Grant { permissions: ask.wanted.clone(), holds })
            }
            _ => None,
        };
        let decision = match yes {
            // A rule of ours is made of a yes for this once: it is narrower than what Codex would remember.
            Yes::Once | Yes::Always => grant(GrantHolds::Turn).unwrap_or(Decision::Once),
            Yes::Session => grant(GrantHolds::Session).unwrap_or(Decision::Session),
        };
        let wants_words = match &front.ask.content.kind {
            AskKind::UserInput(_) => true,
            AskKind::Elicitation(asked) => matches!(asked.want, ElicitationWant::Form(_)),
            _ => false,
        };
        if wants_words {
            return Err("it asks for more than a yes; type the answer".to_owned());
        }
        if !front.ask.content.takes(&decision) {
            return Err("the question does not take this answer".to_owned());
        }
        let remember = (yes == Yes::Always)
            .then_some(Remembering { reach: Reach::Directory(None), expires_at: None });
        front.is_answered = true;
        let surface = Some(SURFACE.to_owned());
        Ok((front.ask.id.clone(), AnswerRequest { decision, reason: None, remember, surface }))
    }

    pub(crate) fn deny(&mut self, reason: &str) -> Result<(AskId, AnswerRequest), String> {
        let front = self.front()?;
        front.is_answered = true;
        Ok((front.ask.id.clone(), denial(reason, SURFACE)))
    }

    fn front(&mut self) -> Result<&mut Waiting, String> {
        let front = self.waiting.front_mut().filter(|front| !front.is_answered);
        front.ok_or_else(|| "nothing is asked".to_owned())
    }

    fn put(&self, extent: Extent) -> Vec<String> {
        let text = self.waiting.front().map(|front| ask_text(&front.shown, extent));
        text.map(|text| text.trim_end().split('\n').map(str::to_owned).collect())
            .unwrap_or_default()
    }
}

/// A refusal, with the reason that the model is told.
pub(crate) fn denial(reason: &str, surface: &str) -> AnswerRequest {
    let reason = Some(reason.trim()).filter(|reason| !reason.is_empty()).map(str::to_owned);
    let surface = Some(surface.to_owned());
    AnswerRequest { decision: Decision::Deny, reason, remember: None, surface }
}
