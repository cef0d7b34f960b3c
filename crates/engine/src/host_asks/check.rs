//! What a host agent may ask.

use std::path::Path;

use ostler_model::ask::{Ask, AskKind};

use super::HostAsk;
use crate::refusal::{Problem, Refusal};

/// A name is shown in lists; a key is what HTTP's own keys may be.
const LONGEST_NAME: usize = 128;
const LONGEST_KEY: usize = 255;

pub(super) fn check(wish: &HostAsk) -> Result<(), Refusal> {
    let HostAsk { key, owner, cwd, content, by: _ } = wish;
    let problems: Vec<Problem> = [
        short("owner", owner, LONGEST_NAME),
        short("key", key, LONGEST_KEY),
        (!Path::new(cwd).is_absolute())
            .then(|| problem("cwd", &format!("{cwd:?} is not absolute; write the whole path"))),
        unanswerable(content).map(|why| problem("content", why)),
    ]
    .into_iter()
    .flatten()
    .collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Invalid { problems }),
    }
}

/// Why nobody could decide it, or the answer could not be kept.
fn unanswerable(content: &Ask) -> Option<&'static str> {
    if !content.kind.is_for_people() {
        return Some("people are not asked such a thing; ask for a command, a change or an answer");
    }
    match &content.kind {
        AskKind::UserInput(ask) if ask.questions.is_empty() => {
            Some("it asks nothing; add a question")
        }
        // The owner gets the answer by a request that may be repeated, so it would have to be kept for good.
        AskKind::UserInput(ask) if ask.questions.iter().any(|question| question.is_secret) => {
            Some("secrets are not kept here; ask for them in the terminal")
        }
        AskKind::UserInput(_) | AskKind::Elicitation(_) => None,
        _ if content.offers.is_empty() => Some("it offers no decision; offer at least two"),
        _ => None,
    }
}

fn short(what: &str, text: &str, most: usize) -> Option<Problem> {
    let is_fine = text.len() <= most
        && text.starts_with(|first: char| first.is_ascii_graphic())
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let message = format!(
        "it must be 1 to {most} ASCII letters, digits, signs or blanks, not beginning with a blank"
    );
    (!is_fine).then(|| problem(what, &message))
}

fn problem(what: &str, message: &str) -> Problem {
    Problem { what: what.to_owned(), message: message.to_owned() }
}
