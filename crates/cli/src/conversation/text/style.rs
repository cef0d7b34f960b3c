//! The few colours that are used.

use anstyle::{AnsiColor, Style};

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const CYAN: Style = colour(AnsiColor::Cyan);
pub(super) const BLUE: Style = colour(AnsiColor::Blue);
pub(super) const MAGENTA: Style = colour(AnsiColor::Magenta);
pub(super) const GREEN: Style = colour(AnsiColor::Green);
pub(super) const RED: Style = colour(AnsiColor::Red);
pub(super) const YELLOW: Style = colour(AnsiColor::Yellow);

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}
