//! A task's log as a person reads it: what `ostler run` would have shown, and what became of the task besides.

use std::collections::HashMap;

use ostler_codex::thread::Notice;
use ostler_model::task::{Agent, Intent, Partial, Wish};
use ostler_model::{Event, ItemId, TaskState};

use super::{time, words};
use crate::conversation::shown::{AgentShown, Line, Shown};
use crate::conversation::{translate, words as thread_words};

/// How much of each growing text was shown.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    shown: HashMap<(ItemId, &'static str), usize>,
}

/// What a person sees of an event; nothing for a few of them.
pub(crate) fn line(event: &Event) -> Option<Line> {
    let shown = match event {
        Event::Thread { agent, update } => {
            let shown = translate::update(update)?;
            return Some(Line { agent: agent.as_ref().map(shown_agent), shown });
        }
        Event::Notice { json, agent, .. } => {
            let notice: Notice = serde_json::from_str(json).ok()?;
            let shown = translate::notice(&notice)?;
            return Some(Line { agent: agent.as_ref().map(shown_agent), shown });
        }
        Event::AskOpened { ask, content, agent, .. } => {
            let shown = Shown::Ask(Box::new(translate::ask(ask, content)));
            return Some(Line { agent: agent.as_ref().map(shown_agent), shown });
        }
        Event::Intended { intent } => match &intent.wish {
            Wish::Send { input, .. } if intent.by == Intent::OURSELVES => {
                step(format!("Ostler tells Codex: {}", input.summary(PROMPT_CHARACTERS)))
            }
            Wish::Send { input, .. } => Shown::Prompt { text: input.summary(PROMPT_CHARACTERS) },
            Wish::Interrupt => Shown::Step { text: format!("{} ends the turn", intent.by) },
            Wish::Goal { goal } => {
                Shown::Step { text: format!("{}: {}", intent.by, goal.describe()) }
            }
            Wish::Answer { .. } => return None,
        },
        Event::State { to, cause, .. } => match to {
            // What happens next says it.
            TaskState::Queued
            | TaskState::Starting
            | TaskState::Working
            | TaskState::WaitingForApproval
            | TaskState::WaitingForUserInput
            | TaskState::Completed => return None,
            to => Shown::Step {
                text: format!("{}: {}", words::state(*to), words::cause(cause, time::now())),
            },
        },
        Event::Placed { keeper, codex_version, .. } => {
            Shown::Step { text: format!("Codex {codex_version} (keeper {keeper})") }
        }
        Event::AskDecided { ask, decision } => Shown::Answer {
            id: ask.to_string(),
            decision: thread_words::decision(&decision.decision),
            by: decision.by.describe(),
        },
        Event::AskClosed { how: ostler_model::task::AskClosed::Answered, .. } => return None,
        Event::AskClosed { ask, how } => {
            Shown::AskClosed { id: ask.to_string(), text: words::ask_closed(how) }
        }
        Event::AskReturned { ask } => step(format!("Codex asks again (ask {ask})")),
        Event::AskParked { ask } => {
            step(format!("Codex was lost while it asked; an answer to ask {ask} is kept for it"))
        }
        Event::AutoReview { agent, review, .. } => {
            let shown = step(review.describe());
            return Some(Line { agent: agent.as_ref().map(shown_agent), shown });
        }
        Event::AskEscalated { ask } => {
            Shown::Warning { text: format!("ask {ask} has waited for long") }
        }
        Event::SelfApprovalRefused { who, why, .. } => Shown::Warning {
            text: format!("an agent tried to answer for a person and was refused: {who} {why}"),
        },
        Event::RuleMade { rule, text, by } => step(format!("rule {rule} of {by}: {text}")),
        Event::Lost { events, why } => {
            Shown::Warning { text: format!("{events} events could not be kept: {why}") }
        }
        Event::IntentMoved { to, .. } => match to {
            ostler_model::task::IntentState::NotDone { .. }
            | ostler_model::task::IntentState::Unknown { .. } => {
                Shown::Warning { text: format!("what was sent: {}", words::intent(to)) }
            }
            _ => return None,
        },
        Event::Created { .. } => return None,
    };
    Some(shown.into())
}

/// A prompt is shown whole unless somebody pasted a book.
const PROMPT_CHARACTERS: usize = 2000;

impl Growing {
    /// A piece that has come.
    pub(crate) fn piece(&mut self, partial: &Partial) -> Line {
        *self.entry(partial) += partial.text.len();
        delta(partial, partial.text.clone())
    }

    /// The whole text so far, of which only what was not shown yet is new.
    pub(crate) fn whole(&mut self, partial: &Partial) -> Option<Line> {
        let shown = self.entry(partial);
        let rest = partial.text.get(*shown..).unwrap_or_default().to_owned();
        *shown = partial.text.len().max(*shown);
        (!rest.is_empty()).then(|| delta(partial, rest))
    }

    fn entry(&mut self, partial: &Partial) -> &mut usize {
        use ostler_model::thread::DeltaKind;
        let kind = match partial.kind {
            DeltaKind::Message => "message",
            DeltaKind::Plan => "plan",
            DeltaKind::Reasoning => "reasoning",
            DeltaKind::Output => "output",
        };
        self.shown.entry((partial.item.clone(), kind)).or_default()
    }
}

fn delta(partial: &Partial, text: String) -> Line {
    let update = ostler_model::thread::Update::Delta {
        turn: partial.turn.clone(),
        item: partial.item.clone(),
        kind: partial.kind,
        text,
    };
    let shown = translate::update(&update).unwrap_or_else(|| step(String::new()));
    Line { agent: partial.agent.as_ref().map(shown_agent), shown }
}

fn shown_agent(agent: &Agent) -> AgentShown {
    AgentShown {
        thread: agent.thread.to_string(),
        name: agent.name.clone(),
        role: agent.role.clone(),
    }
}

fn step(text: String) -> Shown {
    Shown::Step { text }
}
