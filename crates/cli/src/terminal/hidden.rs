//! Typing that nobody may see.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// While it lives, the terminal does not show what is typed.
#[derive(Debug)]
pub(crate) struct Hidden {
    before: Termios,
}

impl Hidden {
    /// None if stdin is no terminal, or does not let us.
    pub(crate) fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // The line end is shown, so that the person sees that the answer was taken.
        hidden.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden).ok()?;
        Some(Self { before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.before) {
            tracing::warn!(%error, "the terminal does not show what is typed; `stty echo` helps");
        }
    }
}
