//! The line on stderr that shows work in progress.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

/// Fast enough for the spinner to look alive.
const TICK: Duration = Duration::from_millis(120);

/// Room for the `^C` that the terminal itself writes behind the line, twice. Were the line as wide as the terminal, the
/// `^C` would begin another one, and clearing that would leave the line behind.
const MARGIN: u16 = 4;

/// The usual width, for a terminal that does not say.
const USUAL_WIDTH: u16 = 80;

/// A bar that is redrawn on one line, never as wide as the terminal. Only where stderr is a terminal.
pub(crate) fn moving_line() -> ProgressBar {
    let target = ProgressDrawTarget::term_like_with_hz(Box::<Narrow>::default(), 20);
    let bar = ProgressBar::with_draw_target(None, target);
    bar.enable_steady_tick(TICK);
    bar
}

/// A style from a constant; were that wrong, the default style would be shown.
pub(crate) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Stderr, a little narrower than it is.
#[derive(Debug, Default)]
struct Narrow {
    /// Written in one go, so that nobody sees half a line.
    pending: Mutex<String>,
}

impl Narrow {
    fn add(&self, text: &str) -> io::Result<()> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }

    fn go(&self, count: usize, direction: char) -> io::Result<()> {
        // Zero would mean one.
        if count == 0 { Ok(()) } else { self.add(&format!("\u{1b}[{count}{direction}")) }
    }
}

impl TermLike for Narrow {
    fn width(&self) -> u16 {
        let size = rustix::termios::tcgetwinsize(io::stderr()).map(|size| size.ws_col);
        let width = size.ok().filter(|width| *width > 0).unwrap_or(USUAL_WIDTH);
        width.saturating_sub(MARGIN).max(1)
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        self.go(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        self.go(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        self.go(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        self.go(count, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.add(text)?;
        self.add("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.add(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let text = std::mem::take(&mut *pending);
        io::stderr().lock().write_all(text.as_bytes())
    }
}
