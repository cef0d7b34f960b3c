//! Answers that come in pieces: what was cut is asked for again, and the pieces are joined.

use crate::api::{Answer, Finish};

/// An answer that is cut a fourth time will be cut a fifth.
const MOST: u32 = 3;

const CUT: &str = "[Your answer was cut off. Go on exactly where it stopped, without repeating what you have said.]";
const EMPTY: &str = "[Your answer had no text. Answer now.]";

/// The pieces so far.
#[derive(Debug, Default)]
pub(super) struct Continuation {
    text: String,
    asked: u32,
}

pub(super) enum Step {
    /// The answer is whole.
    Over,
    Ask {
        nudge: &'static str,
    },
    GiveUp {
        reason: String,
    },
}

impl Continuation {
    pub(super) fn text(&self) -> String {
        self.text.clone()
    }

    pub(super) fn take(&mut self, answer: &Answer) -> Step {
        self.text = join(&self.text, &answer.text);
        let reason = match &answer.finish {
            Finish::Incomplete { reason } => reason.clone(),
            // Reasoning alone is no answer.
            _ if self.text.trim().is_empty() => "the model said nothing".to_owned(),
            _ => return Step::Over,
        };
        if self.asked >= MOST {
            return Step::GiveUp { reason };
        }
        self.asked += 1;
        Step::Ask { nudge: if self.text.is_empty() { EMPTY } else { CUT } }
    }
}

/// Models repeat some of what they said: the longest end of the first that begins the second is shown once.
fn join(first: &str, second: &str) -> String {
    if second.starts_with(first) {
        return second.to_owned();
    }
    // Shorter ones are chance.
    const LEAST: usize = 12;
    let ends = first.char_indices().map(|(at, _)| &first[at..]);
    let overlap = ends.filter(|end| end.len() >= LEAST).find(|end| second.starts_with(end));
    let rest = second.get(overlap.map_or(0, str::len)..).unwrap_or_default();
    format!("{first}{rest}")
}

#[cfg(test)]
mod tests {
    use super::{Continuation, Step, join};
    use crate::api::{Answer, Finish};

    #[test]
    fn what_is_said_twice_is_shown_once() {
        let joined = [
            join("", "The mare"),
            join("The mare is", " grey."),
            join("The mare is", "The mare is grey."),
            join("Yesterday the mare is fed", "the mare is fed at noon."),
            join("a b", "b c"),
        ];
        let expected = [
            "The mare",
            "The mare is grey.",
            "The mare is grey.",
            "Yesterday the mare is fed at noon.",
            "a bb c",
        ];
        assert_eq!(joined, expected);
    }

    #[test]
    fn a_cut_answer_is_asked_for_three_times() {
        let cut = Answer {
            text: "more ".to_owned(),
            finish: Finish::Incomplete { reason: "max_output_tokens".to_owned() },
            ..Answer::default()
        };
        let mut continuation = Continuation::default();
        for _ in 0..3 {
            assert!(matches!(continuation.take(&cut), Step::Ask { .. }));
        }
        assert!(matches!(continuation.take(&cut), Step::GiveUp { .. }));
    }
}
