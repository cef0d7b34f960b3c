//! Open questions, of which one at a time is put to the person.

use std::collections::VecDeque;

use anstyle::{AnsiColor, Style};
use ostler_codex::thread::Decided;
use ostler_model::{Ask, AskId, Decision};

use super::answers::Answers;
use crate::asking::{Besides, Dialog, Memory, Reading};
use crate::conversation::shown::AskShown;
use crate::conversation::{Extent, Screen, is_cut, translate};
use crate::terminal::hidden::Hidden;

pub(crate) struct Asked {
    answers: Answers,
    memory: Memory,
    /// In the order they came; the first is before the person.
    waiting: VecDeque<Waiting>,
    /// Lives while a secret is typed.
    hidden: Option<Hidden>,
}

struct Waiting {
    id: AskId,
    shown: AskShown,
    dialog: Dialog,
    /// The answer was given, and Codex has not confirmed it.
    is_answered: bool,
}

/// What became of a typed line.
pub(crate) enum Heard {
    Nothing,
    Decided(AskId, Decided),
    /// The person goes and leaves it open.
    Later,
}

impl Asked {
    pub(crate) fn new(answers: Answers, memory: Memory) -> Self {
        Self { answers, memory, waiting: VecDeque::new(), hidden: None }
    }

    pub(crate) fn has_nobody(&self) -> bool {
        matches!(self.answers, Answers::Nobody)
    }

    /// The next line, while a question is before the person; never otherwise.
    pub(crate) async fn line(&mut self) -> Option<String> {
        match self.waiting.front() {
            Some(front) if !front.is_answered => self.answers.line().await,
            _ => std::future::pending().await,
        }
    }

    /// A new question. The decision is given if nobody need be asked.
    ///
    /// One that is told again is the same question; an answer that was given to it has been lost.
    pub(crate) fn opened(&mut self, id: &AskId, ask: &Ask, screen: &mut Screen) -> Option<Decided> {
        if let Some(known) = self.waiting.iter().find(|waiting| waiting.id == *id) {
            if known.is_answered {
                self.refused(id, screen);
            }
            return None;
        }
        let later = match &self.answers {
            Answers::Always(who) => {
                let shown = translate::ask(id, ask);
                screen.put(&shown, Extent::Cut);
                let decision = [Decision::Once, Decision::Deny]
                    .into_iter()
                    .find(|decision| ask.takes(decision))?;
                return Some(Decided { decision, by: (*who).to_owned(), reason: None });
            }
            Answers::Nobody => {
                screen.put(&translate::ask(id, ask), Extent::Cut);
                return None;
            }
            Answers::Person { later, .. } => *later,
        };
        let shown = translate::ask(id, ask);
        let besides = Besides { view: is_cut(&shown), later };
        // What no person answers is served or refused by the driver.
        let dialog = Dialog::new(ask, besides, self.memory)?;
        self.waiting.push_back(Waiting { id: id.clone(), shown, dialog, is_answered: false });
        if self.waiting.len() == 1 {
            self.put(screen);
        }
        None
    }

    /// The question needs no answer any more.
    pub(crate) fn closed(&mut self, id: &AskId, screen: &mut Screen) {
        if self.waiting.front().is_some_and(|front| front.id == *id) {
            self.hidden = None;
            screen.take_off();
        }
        self.waiting.retain(|waiting| waiting.id != *id);
    }

    /// The answer was not taken; if the question is still open, it is asked again.
    pub(crate) fn refused(&mut self, id: &AskId, screen: &mut Screen) {
        if let Some(front) = self.waiting.front_mut().filter(|front| front.id == *id) {
            front.is_answered = false;
            self.ask(screen);
        }
    }

    /// Puts the next question, if none is before the person.
    pub(crate) fn put_next(&mut self, screen: &mut Screen) {
        if !screen.is_asking() && self.waiting.front().is_some_and(|front| !front.is_answered) {
            self.put(screen);
        }
    }

    fn put(&mut self, screen: &mut Screen) {
        // What was typed before the question was seen is no answer to it.
        self.answers.throw_away();
        if let Some(front) = self.waiting.front() {
            screen.put(&front.shown, Extent::Cut);
        }
        self.ask(screen);
    }

    fn ask(&mut self, screen: &mut Screen) {
        let Some(front) = self.waiting.front() else { return };
        self.hidden = if front.dialog.is_secret() { Hidden::begin() } else { None };
        screen.prompt(marked(&front.dialog.question()));
    }

    pub(crate) fn typed(&mut self, line: Option<String>, screen: &mut Screen) -> Heard {
        let Some(front) = self.waiting.front_mut() else { return Heard::Nothing };
        self.hidden = None;
        screen.answered();
        let Some(line) = line else {
            // The end of input: nobody will answer any more.
            screen.take_off();
            let decided =
                Decided { decision: Decision::Deny, by: "end of input".to_owned(), reason: None };
            front.is_answered = true;
            return Heard::Decided(front.id.clone(), decided);
        };
        match front.dialog.read(&line) {
            Reading::Decided { decision, reason } => {
                front.is_answered = true;
                let decided = Decided { decision, by: "you".to_owned(), reason };
                return Heard::Decided(front.id.clone(), decided);
            }
            Reading::Later => return Heard::Later,
            Reading::View => screen.put(&front.shown, Extent::Whole),
            Reading::Again(Some(note)) => screen.warn_person(&note),
            Reading::Again(None) => {}
        }
        self.ask(screen);
        Heard::Nothing
    }
}

/// The lines before the cursor, marked as belonging to the question.
fn marked(lines: &[String]) -> String {
    let bar = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    let lines: Vec<String> = lines.iter().map(|line| format!("{bar}▌{bar:#} {line}")).collect();
    format!("{} › ", lines.join("\n"))
}
