//! What the person sees of a talk: its beginning, its end, and the frame in between.

use std::io::Write;

use super::super::surface::Frame;
use super::super::view::{complaint, note, runtime_words};
use super::{Person, Talk, Until};
use crate::terminal::keys::Key;

impl<W: Write> Talk<W> {
    pub(super) fn draw(&mut self) {
        let (now, size) = (self.clock.elapsed(), (self.size)());
        let offered = self.editor.offered();
        let hint = match offered.is_empty() {
            true => self.hint.clone().or_else(|| self.waiting()),
            false => Some(offered.join("  ")),
        };
        let frame = Frame {
            live: self.view.live(now, size.columns),
            status: self.view.status(now),
            question: self.asks.question(),
            text: self.editor.text().to_owned(),
            cursor: self.editor.cursor(),
            is_secret: self.asks.is_secret(),
            hint,
        };
        let rows = std::mem::take(&mut self.rows);
        if let Some(last) = rows.last() {
            self.has_gap = last.is_empty();
        }
        self.surface.show(&rows, &frame, size);
    }

    /// What was typed and is not said yet: the turn is about to begin, or a summary is made first.
    fn waiting(&self) -> Option<String> {
        let first = self.unheard.front()?;
        Some(format!("waits to be said: {}", crate::terminal::safe(first).replace('\n', " ")))
    }

    pub(super) fn banner(&mut self) {
        let Some(session) = &self.session else { return };
        let (conversation, manner) = (session.conversation(), session.manner());
        let bold = anstyle::Style::new().bold();
        let dim = anstyle::Style::new().dimmed();
        let mut facts =
            vec![format!("{bold}ostler chat{bold:#}  conversation {}", conversation.id)];
        if conversation.messages > 0 {
            let title = conversation.title.as_deref().unwrap_or("without a title");
            let title = crate::terminal::safe(title).replace('\n', " ");
            facts.push(format!("Goes on: {title} ({} messages)", conversation.messages));
        }
        if manner.runtime == ostler_agent::runtime::Runtime::CodexAppServer {
            facts.push(format!("Runtime: {}", runtime_words(manner.runtime)));
        }
        let effort = manner.effort.map_or_else(String::new, |effort| format!(", effort {effort}"));
        let model = manner.model.unwrap_or_else(|| "Codex's own choice".to_owned());
        facts.push(format!(
            "Model: {}{}",
            crate::terminal::safe(&model),
            crate::terminal::safe(&effort)
        ));
        facts.push(format!("{dim}/help lists the commands; Ctrl-D leaves{dim:#}"));
        self.rows.extend(facts);
    }

    /// Lets go of the conversation, and says how to come back to it.
    pub(super) async fn farewell(&mut self, until: Until, person: &mut Person) {
        let width = self.width();
        let mut rows = std::mem::take(&mut self.rows);
        rows.extend(self.view.pause(width));
        if let Some(session) = self.session.take() {
            let id = session.conversation().id;
            if until == Until::Left {
                rows.extend(note(&format!("go on: ostler chat --resume {id}"), width));
            }
            self.closing.spawn(session.close());
        }
        self.surface.leave(&rows);
        let all = async { while self.closing.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = impatience(person) => {}
        }
    }

    /// An empty row, unless there is one.
    pub(super) fn gap(&mut self) {
        if !self.rows.last().map_or(self.has_gap, String::is_empty) {
            self.rows.push(String::new());
        }
    }

    pub(super) fn echo(&mut self, line: &str) {
        let dim = anstyle::Style::new().dimmed();
        let line = crate::terminal::safe(line.trim()).replace('\n', " ");
        self.gap();
        self.rows.push(format!("{dim}› {line}{dim:#}"));
    }

    pub(super) fn note(&mut self, text: &str) {
        let width = self.width();
        self.rows.extend(note(text, width));
    }

    pub(super) fn complain(&mut self, text: &str) {
        let width = self.width();
        self.rows.extend(complaint(text, width));
    }

    pub(super) fn width(&self) -> usize {
        (self.size)().columns
    }
}

/// Whoever presses Ctrl-C or Ctrl-D after having left does not wait for what is still being learnt.
async fn impatience(person: &mut Person) {
    loop {
        tokio::select! {
            _ = person.signs.next() => return,
            key = person.keys.recv() => match key {
                Some(Key::CtrlC | Key::CtrlD) => return,
                Some(_) => {}
                None => std::future::pending().await,
            },
        }
    }
}
