//! `ostler chat`: the talk with the host agent.
//!
//! The agent itself is another room; what is needed of it is [`session`]. [`commands`] is the one table of slash commands,
//! [`talk`] the loop with a person, [`one_shot`] the one without. What is told of a turn becomes rows in [`view`], with
//! [`markdown`] for the model's text, and [`surface`] puts them on the terminal above the line that [`editor`] edits.

mod agent_session;
mod asks;
pub(crate) mod commands;
pub(crate) mod editor;
mod ending;
pub(crate) mod history;
pub(crate) mod house;
pub(crate) mod inbox;
pub(crate) mod markdown;
mod models;
pub(crate) mod one_shot;
mod opening;
#[cfg(test)]
mod played;
pub(crate) mod retention;
pub(crate) mod session;
pub(crate) mod surface;
pub(crate) mod switching;
pub(crate) mod talk;
pub(crate) mod view;
