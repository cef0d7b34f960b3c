//! `[approver]`: a program of the operator's own that decides asks.

use std::time::Duration;

use crate::section::section;
use crate::value::words::words;
use crate::value::{HOUR, Invocation, seconds};

words! {
    /// What is asked.
    AskKind {
        /// May this command run?
        Command = "command",
        /// May these files be changed?
        FileChange = "file-change",
        /// May the sandbox be widened?
        Permissions = "permissions",
        /// Questions of the model to the person.
        UserInput = "user-input",
        /// A question of an MCP server.
        Elicitation = "elicitation",
    }
}

section! {
    /// A program that decides asks before a person is asked. It gets the ask as JSON on stdin and writes its decision to
    /// stdout; if it fails, says nothing or takes too long, the ask goes to people.
    Approver = "approver", _at;

    /// The program and its arguments, each a text of its own; no shell is in between. Without it there is no approver.
    command: Option<Invocation> = None;
    /// How long it may take.
    timeout: Duration = seconds(30), 1..=HOUR;
    /// The asks that it is given. Answers to questions of the model and of MCP servers are left to people unless they are
    /// named here.
    kinds: Vec<AskKind> = vec![AskKind::Command, AskKind::FileChange, AskKind::Permissions];
}
