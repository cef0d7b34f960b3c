//! The machine of a task: each of its rules by itself, and all of them together in random histories.

mod budgets;
mod crashes;
mod histories;
mod inputs;
mod interrupts;
mod limits;
mod loading;
mod rig;
mod world;
