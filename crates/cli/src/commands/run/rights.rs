//! Who may answer Codex's questions here. Whoever asked cannot answer: nothing that runs below an app-server decides.

use std::io::{self, IsTerminal};
use std::path::Path;

use ostler_codex::keeper;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;

use crate::conversation::Screen;
use crate::failure::{Exit, Failure};
use crate::places;

/// Variables that Codex sets for the commands that it runs in its sandbox (0.130.0 to 0.166.0).
const SANDBOX_MARKS: [&str; 2] = ["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"];

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
    match above(keepers)? {
        None if is_attended => Ok(Present::Person),
        None => Ok(Present::Nobody("no terminal to ask on: what Codex asks is declined")),
        Some(what) if is_attended && *approval != ApprovalPolicy::Never => {
            let message = format!("this terminal belongs to an agent: it runs below {what}");
            Err(Failure::new(Exit::Usage, message).hint(
                "an agent may not answer Codex's questions; use --approval never, or a terminal of your own",
            ))
        }
        Some(_) => Ok(Present::Nobody("an agent may not answer: what Codex asks is declined")),
    }
}

/// What we run below, if it is an agent of ours or a sandbox of Codex's.
fn above(keepers: &Path) -> Result<Option<String>, Failure> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    if let Some(keeper) = keeper::descends_from_keeper(keepers, pid)? {
        return Ok(Some(format!("keeper {keeper}")));
    }
    let mark = SANDBOX_MARKS.iter().find(|name| places::variable(name).is_some());
    Ok(mark.map(|name| format!("a sandbox of Codex ({name} is set)")))
}
