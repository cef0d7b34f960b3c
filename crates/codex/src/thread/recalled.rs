//! What a program must remember of a thread to drive it again after the program itself was gone.
//!
//! All of it is told by the updates of the thread, so whoever writes those down has it.

use ostler_model::thread::{IfBusy, InputState, RecalledPast, RecalledTurn};
use ostler_model::usage::Tokens;
use ostler_model::{Goal, InputId, Interrupter, TurnId};

use super::input::TurnInput;
use super::update::Agent;

/// A thread as it was known last. What is known here is not told again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recalled {
    /// The turn that was told as begun and not as ended, with all that was told of it.
    pub turn: Option<RecalledTurn>,
    /// The inputs that were told neither as taken nor as refused, in the order they were handed over.
    pub inputs: Vec<RecalledInput>,
    /// The last turns that were told as ended, oldest first: those since the first of the inputs was handed over, and a few
    /// before (up to 64 are kept in mind), since a turn that we gave up may run on.
    pub past: Vec<RecalledPast>,
    /// The last turn that was told as ended when the first of the inputs was handed over; without inputs, the last of all.
    /// No input is looked for before it: on Codex before 0.142.5 an older message of the same words could be taken for one.
    pub after: Option<TurnId>,
    /// Whether a turn was told as ended other than with its app-server: then Codex has a file of the thread. One without
    /// turns is replaced by another if Codex has forgotten it.
    pub has_turns: bool,
    /// Who wanted the turn to end that runs, or that is about to begin.
    pub interrupted_by: Option<Interrupter>,
    /// The sum of the whole thread as it was told last; by it the share of a turn that nobody saw is reckoned.
    pub thread_usage: Option<Tokens>,
    /// The thread's goal as it was told last: Codex starts turns for it by itself.
    pub goal: Option<Goal>,
    /// Sub-agents that have a turn told as begun and not as ended.
    pub agents: Vec<RecalledAgent>,
}

/// An input that was handed over.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledInput {
    /// The name under which it was sent, or would have been.
    pub id: InputId,
    pub content: TurnInput,
    pub if_busy: IfBusy,
    pub state: InputState,
}

/// A sub-agent at work.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledAgent {
    pub agent: Agent,
    pub turn: RecalledTurn,
}

impl Recalled {
    /// As the machine of the thread needs it.
    pub(crate) fn to_model(&self) -> ostler_model::thread::Recalled {
        let inputs = self.inputs.iter().map(|input| ostler_model::thread::RecalledInput {
            input: input.id.clone(),
            kind: input.content.kind(),
            if_busy: input.if_busy,
            state: input.state,
        });
        ostler_model::thread::Recalled {
            turn: self.turn.clone(),
            inputs: inputs.collect(),
            after: self.after.clone(),
            past: self.past.clone(),
            interrupted_by: self.interrupted_by.clone(),
            thread_usage: self.thread_usage,
            goal: self.goal.clone(),
        }
    }
}
