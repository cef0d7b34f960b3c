//! Who answers Codex's questions.

use tokio::sync::mpsc;

use crate::terminal::typed;

pub(crate) enum Answers {
    /// The person at the terminal.
    Person {
        /// Lines typed at the terminal. One that nobody waits for is thrown away before the next question.
        lines: mpsc::Receiver<String>,
        /// Whether they may leave a question open and go.
        later: bool,
    },
    /// Yes to everything, in the name of this; for the demo alone.
    Always(&'static str),
    /// The driver declines them.
    Nobody,
}

impl Answers {
    /// The person at the terminal from now on.
    pub(crate) fn person(later: bool) -> Self {
        Self::Person { lines: typed::lines(), later }
    }

    /// The next line, if a person is there.
    pub(super) async fn line(&mut self) -> Option<String> {
        match self {
            Self::Person { lines, .. } => lines.recv().await,
            Self::Always(_) | Self::Nobody => std::future::pending().await,
        }
    }

    pub(super) fn throw_away(&mut self) {
        if let Self::Person { lines, .. } = self {
            while lines.try_recv().is_ok() {}
        }
    }
}
