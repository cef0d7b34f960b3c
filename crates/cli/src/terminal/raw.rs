//! The terminal in the hands of the program: every key comes at once, and nothing is shown by itself.

use std::io::{self, Read, Write};
use std::thread;

use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use super::keys::{Decoder, Key};

/// Nobody types ahead further than this; what comes beyond waits in the terminal.
const TYPED_AHEAD: usize = 256;

/// While it lives, keys are ours. What is written goes through the terminal as always.
#[derive(Debug)]
pub(crate) struct Raw {
    before: Termios,
}

impl Raw {
    /// None if stdin is no terminal, or does not let us.
    pub(crate) fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut raw = before.clone();
        raw.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        raw.input_modes.remove(InputModes::IXON | InputModes::ICRNL);
        tcsetattr(io::stdin(), OptionalActions::Now, &raw).ok()?;
        // Pastes come marked, so that their line ends send nothing.
        write("\u{1b}[?2004h");
        Some(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        write("\u{1b}[?2004l");
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.before) {
            tracing::warn!(%error, "the terminal is not as it was; `stty sane` helps");
        }
    }
}

/// The keys from now on. They are read on a thread of its own, because a read from a terminal cannot be called off; the
/// thread ends with the process. The channel closes with the terminal.
pub(crate) fn keys() -> mpsc::Receiver<Key> {
    let (sender, keys) = mpsc::channel(TYPED_AHEAD);
    let reading = thread::Builder::new().name("keys".to_owned()).spawn(move || {
        let (mut stdin, mut decoder, mut bytes) =
            (io::stdin().lock(), Decoder::default(), [0; 4096]);
        while let Ok(count @ 1..) = stdin.read(&mut bytes) {
            for key in decoder.feed(bytes.get(..count).unwrap_or_default()) {
                if sender.blocking_send(key).is_err() {
                    return;
                }
            }
        }
    });
    if let Err(error) = reading {
        tracing::error!(%error, "cannot read what is typed");
    }
    keys
}

fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    // A terminal that is gone needs no answer.
    drop(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
}
