//! Who may name an address that a task's answer is sent to.
//!
//! A target of the configuration is the operator's choice. An address that a caller brings is the caller's, and whatever the task reads
//! can be sent there. So only people may bring one: no agent, no MCP program, and no token that has not all the rights of a person.

use ostler_model::AuditKind;
use ostler_model::notification::is_address;

use crate::Caller;
use crate::guard::{Rights, Scope};
use crate::problem::{Problem, Trouble};

const HINT: &str = "name a target of the configuration, which the operator sets up as a [notify.NAME] section, or `local`; \
                    or let a person start the task with `ostler start --notify ADDRESS`";

/// Refuses addresses from callers that are no persons. The caller must have been looked at.
pub(crate) fn check(caller: &Caller, rights: &Rights, notify: &[String]) -> Result<(), Problem> {
    let Some(address) = notify.iter().find(|target| is_address(target)) else { return Ok(()) };
    let refused = |who: &str| {
        let detail = format!("{who} may not have what a task says sent to {address:?}");
        Err(Problem::new(Trouble::AgentRefused, detail).hint(HINT).audited(AuditKind::AgentRefused))
    };
    if let Some(client) = &caller.mcp {
        return refused(&format!("{client} comes by MCP, and"));
    }
    if let Rights::Key { key, .. } = rights
        && !key.scopes.contains(&Scope::Decide)
    {
        return refused(&format!("{} has not the scope decide, and", caller.name()));
    }
    caller
        .must_be_person(&format!("have what a task says sent to {address:?}"))
        .map_err(|refused| refused.hint(HINT))
}
