//! One thread as a pure state machine: signals in, effects out.
//!
//! The rules of driving Codex right live here and nowhere else: turns are serialised, every event is filed to its turn,
//! every input ends as taken or refused, every ask is answered or withdrawn, every turn ends once. A driver feeds
//! [`Signal`]s with the time they happened, performs the [`Effect`]s, and feeds back what became of them. The machine
//! asks to be woken by [`Machine::wake_at`].
//!
//! Start reading at [`machine`] for the state, then `turns` (how a turn lives), `inputs` (how an input gets to Codex and
//! how we know), `views` (what a look at the thread tells), `asks`, `liveness`, `link` (what happens when the connection
//! breaks), and `recall` (what happens when all of us was gone).

mod asks;
mod effect;
mod inputs;
mod items;
mod limits;
mod link;
mod liveness;
pub mod machine;
mod recall;
mod refusals;
mod signal;
mod turns;
mod views;

pub use effect::{
    AskEnd, DecisionRefusal, Effect, Finding, ServerWanted, StrayReason, Update, Withdrawal,
};
pub use inputs::Echo;
pub use limits::{Limits, OnStall};
pub use machine::Machine;
pub use recall::{InputState, Recalled, RecalledInput, RecalledPast, RecalledTurn};
pub use signal::{
    Deciders, DeltaKind, GiveFailure, IfBusy, InputKind, Said, SaidEnd, SeenInput, SeenState,
    SeenTurn, Signal, View, What,
};
