//! What a word means for a question. Pure, but for the clock.

use ostler_engine::{Reach, Remembering};
use ostler_model::ask::ElicitationWant;
use ostler_model::decision::GrantHolds;
use ostler_model::task::AskRecord;
use ostler_model::{AskKind, Decision};
use ostler_server::api::AnswerRequest;

use super::{AnswerArguments, Word};
use crate::asking::{Besides, Dialog, Memory, Reading};
use crate::failure::{Exit, Failure};
use crate::tasks::time;

/// The door that the person used.
pub(super) const SURFACE: &str = "ostler answer";

pub(super) fn of_word(
    ask: &AskRecord,
    word: Word,
    arguments: &AnswerArguments,
) -> Result<AnswerRequest, Failure> {
    let decision = decision(&ask.content.kind, word);
    if !ask.content.takes(&decision) {
        let message = "the ask does not take this answer".to_owned();
        return Err(Failure::new(Exit::Usage, message).hint(hint(ask)));
    }
    let is_limited =
        arguments.holds.is_some() || arguments.here || arguments.everywhere || arguments.task;
    let remember = match word {
        Word::Always => Some(remembering(arguments)),
        Word::Deny if is_limited => Some(remembering(arguments)),
        _ if is_limited => {
            return Err(Failure::new(Exit::Usage, "only `always` and `deny` make a rule")
                .hint("leave out --for, --here, --task and --everywhere"));
        }
        _ => None,
    };
    let reason = arguments.reason.clone();
    Ok(AnswerRequest { decision, reason, remember, surface: Some(SURFACE.to_owned()) })
}

/// A rule of ours is made of a yes for this once: it is narrower than what Codex would remember, and it can end.
fn decision(kind: &AskKind, word: Word) -> Decision {
    let grant = |holds| match kind {
        AskKind::Permissions(ask) => {
            Some(Decision::Grant { permissions: ask.wanted.clone(), holds })
        }
        _ => None,
    };
    match word {
        Word::Once | Word::Always => grant(GrantHolds::Turn).unwrap_or(Decision::Once),
        Word::Session => grant(GrantHolds::Session).unwrap_or(Decision::Session),
        Word::Deny => Decision::Deny,
        Word::Cancel => Decision::Cancel,
    }
}

fn remembering(arguments: &AnswerArguments) -> Remembering {
    let reach = match (arguments.task, arguments.everywhere) {
        (true, _) => Reach::Task,
        (_, true) => Reach::Everywhere,
        _ => Reach::Directory(None),
    };
    let holds = arguments.holds.map(time::milliseconds);
    let end = |holds: u64| time::now().saturating_add(i64::try_from(holds).unwrap_or(i64::MAX));
    Remembering { reach, expires_at: holds.map(end) }
}

/// Answers and fields by their names or numbers, read as if they had been typed one after the other.
pub(super) fn of_values(ask: &AskRecord, given: &[String]) -> Result<AnswerRequest, Failure> {
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let names = names(&ask.content.kind);
    let mut values = vec![None; names.len()];
    for pair in given {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| usage(format!("{pair:?} has no `=`; write NAME=VALUE")))?;
        let number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_name = names.iter().position(|known| known == name);
        let place = by_name.or(number).and_then(|at| values.get_mut(at));
        *place.ok_or_else(|| {
            usage(format!("nothing is asked by the name {name:?}")).hint(hint(ask))
        })? = Some(value);
    }
    let besides = Besides { view: false, later: false };
    let mut dialog = Dialog::new(&ask.content, besides, Memory::Rule)
        .ok_or_else(|| usage("no person answers this".to_owned()))?;
    for (name, value) in names.iter().zip(values) {
        // A word with a slash is no command here.
        let value = value.unwrap_or_default();
        if value.starts_with('/') && ["/no", "/later"].contains(&value) {
            return Err(usage(format!("{name}: {value:?} is no answer; say `deny` to decline")));
        }
        match dialog.read(value) {
            Reading::Decided { decision, reason } => {
                let surface = Some(SURFACE.to_owned());
                return Ok(AnswerRequest { decision, reason, remember: None, surface });
            }
            Reading::Again(Some(note)) => return Err(usage(format!("{name}: {note}"))),
            Reading::Again(None) | Reading::View | Reading::Later => {}
        }
    }
    Err(usage("this ask takes a word, not values".to_owned()).hint(hint(ask)))
}

fn names(kind: &AskKind) -> Vec<String> {
    match kind {
        AskKind::UserInput(ask) => ask.questions.iter().map(|it| it.id.to_string()).collect(),
        AskKind::Elicitation(ask) => match &ask.want {
            ElicitationWant::Form(fields) => fields.iter().map(|it| it.name.clone()).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// How this ask can be answered without a terminal.
pub(super) fn hint(ask: &AskRecord) -> String {
    let names = names(&ask.content.kind);
    if !names.is_empty() {
        let sets: Vec<String> = names.iter().map(|name| format!("--set {name}=…")).collect();
        return format!("ostler answer {} {}", ask.id, sets.join(" "));
    }
    let kind = &ask.content.kind;
    let all = [
        (Word::Once, "once"),
        (Word::Session, "session"),
        (Word::Always, "always"),
        (Word::Deny, "deny"),
        (Word::Cancel, "cancel"),
    ];
    let taken = all.iter().filter(|(word, _)| ask.content.takes(&decision(kind, *word)));
    let taken: Vec<&str> = taken.map(|(_, name)| *name).collect();
    format!("ostler answer {} {}", ask.id, taken.join("|"))
}
