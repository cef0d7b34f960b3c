//! Who may answer Codex's questions here. Whoever asked cannot answer: nothing that runs below an app-server decides.

use std::io::{self, IsTerminal};
use std::path::Path;

use ostler_codex::keeper::{self, Above};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;

use crate::conversation::Screen;
use crate::failure::{Exit, Failure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Present {
    Person,
    /// Nobody can be asked; the text says why.
    Nobody(&'static str),
}

/// Looks who is there. An agent on a terminal is turned away rather than let answer itself.
pub(super) fn look(
    keepers: &Path,
    approval: &ApprovalPolicy,
    screen: &Screen,
) -> Result<Present, Failure> {
    let is_attended = io::stdin().is_terminal() && screen.is_seen();
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    match keeper::above(keepers, pid) {
        Above::Nothing if is_attended => Ok(Present::Person),
        Above::Nothing => Ok(Present::Nobody("no terminal to ask on: what Codex asks is declined")),
        what if is_attended && *approval != ApprovalPolicy::Never => {
            let message = format!("this terminal belongs to an agent: it {what}");
            Err(Failure::new(Exit::Usage, message).hint(
                "an agent may not answer Codex's questions; use --approval never, or a terminal of your own",
            ))
        }
        _ => Ok(Present::Nobody("an agent may not answer: what Codex asks is declined")),
    }
}
