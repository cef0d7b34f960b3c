//! Who is told what of a task: each row of the outbox is one thing told to one target, under one name for good.
//!
//! What is told is written down with what caused it, and carries all that is said, so that every attempt says the same. It is
//! sent until its target has it, for which it gives a receipt, or until it is given up and becomes a dead letter.
//!
//! Start reading at [`kind_of_move`] for which event is told, at [`addressees`] for whom, at [`Notification::tried`] for what
//! becomes of an attempt.

mod addressee;
mod content;
mod delivery;
mod occasion;
mod text;

pub use addressee::{Addressee, LOCAL, addressees, is_address};
pub use content::{Asked, Content};
pub use delivery::{Notification, Outcome, Persistence, Proof, State, Try};
pub use occasion::{Kind, Occasion, kind_of_ask, kind_of_move};
