//! What is wrong with a file, so that a person finds the place and knows what to write instead.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;
use thiserror::Error;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Error)]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The dotted name of the setting, such as `tasks.sandbox`; absent where the text is no TOML at all.
    pub key: Option<String>,
    pub message: String,
    /// What to do, where the message does not say it already.
    pub advice: Option<String>,
}

impl Problem {
    /// `offset` is that of a byte in `text`.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before: String =
            String::from_utf8_lossy(text.as_bytes().get(..offset).unwrap_or(text.as_bytes()))
                .into_owned();
        let column = before.chars().rev().take_while(|character| *character != '\n').count();
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + column,
            key: None,
            message: message.into(),
            advice: None,
        }
    }

    pub(crate) fn about(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// One line, without the place in the file's text: `line 3: tasks.sandbox is …; write …`.
impl Display for Problem {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: ", self.line)?;
        if let Some(key) = &self.key {
            write!(formatter, "{key} ")?;
        }
        formatter.write_str(&self.message)?;
        match &self.advice {
            Some(advice) => write!(formatter, "; {advice}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_lines_and_characters() {
        let place = |text, offset| {
            let problem = Problem::at(text, offset, "");
            (problem.line, problem.column)
        };
        assert_eq!(place("", 0), (1, 1));
        assert_eq!(place("a\nbc", 3), (2, 2));
        assert_eq!(place("ä = ö", 6), (1, 6));
        assert_eq!(place("a\n", 2), (2, 1));
        // Beyond the end, and in the middle of a character.
        assert_eq!(place("a\nb", 9), (2, 2));
        assert_eq!(place("ä", 1), (1, 2));
    }

    #[test]
    fn a_problem_is_one_line() {
        let problem = Problem::at("x", 0, "is unknown").about("codex.pth").advise("write path");
        assert_eq!(problem.to_string(), "line 1: codex.pth is unknown; write path");
        assert_eq!(Problem::at("x", 0, "no TOML").to_string(), "line 1: no TOML");
    }
}
