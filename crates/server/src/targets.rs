//! What only people may have a task do: tell an address of their own, and have settings of Codex that may widen its rights.
//!
//! A target of the configuration is the operator's choice. An address that a caller brings is the caller's, and whatever the task reads
//! can be sent there; a setting of Codex can have tools run unasked. So only people may bring one: no agent, no MCP program, and no
//! token that has not all the rights of a person.

use std::collections::BTreeMap;

use ostler_engine::Engine;
use ostler_model::AuditKind;
use ostler_model::notification::is_address;
use ostler_model::task::TaskSettings;
use serde_json::json;

use crate::Caller;
use crate::guard::{Rights, Scope};
use crate::problem::{Problem, Trouble};

const TARGET_HINT: &str = "name a target of the configuration, which the operator sets up as a [notify.NAME] section, or `local`; \
                           or let a person start the task with `ostler start --notify ADDRESS`";
const CONFIG_HINT: &str = "leave it out, let a person start the task with `ostler start -c KEY=VALUE`, or have the operator name it \
                           in `allow_config` in [tasks]";

/// Refuses addresses and settings of Codex from callers that are no persons. `known` are settings that need nobody's leave: those that the
/// configuration has for all tasks, or those of the task that is copied. The caller must have been looked at.
pub(crate) fn check(
    engine: &Engine,
    caller: &Caller,
    rights: &Rights,
    settings: &TaskSettings,
    known: &TaskSettings,
) -> Result<(), Problem> {
    if let Some(address) = settings.notify.iter().find(|target| is_address(target)) {
        let to_do = format!("have what a task says sent to {address:?}");
        must_be_person(caller, rights, &to_do, TARGET_HINT)?;
    }
    let (config, known) = (codex_config(settings), codex_config(known));
    let mut strange = engine.widening(&config);
    strange.retain(|key| config.get(key) != known.get(key));
    if !strange.is_empty() {
        let to_do = format!(
            "have a task with {}, which may give it more rights than Codex's own file does",
            strange.join(", ")
        );
        must_be_person(caller, rights, &to_do, CONFIG_HINT)?;
    }
    Ok(())
}

/// All that is said to Codex as its configuration. The provider has a field of its own, and decides where prompts and keys are sent.
fn codex_config(settings: &TaskSettings) -> BTreeMap<String, String> {
    let mut config = settings.config.clone();
    if let Some(provider) = &settings.model_provider {
        config.insert("model_provider".to_owned(), json!(provider).to_string());
    }
    config
}

fn must_be_person(
    caller: &Caller,
    rights: &Rights,
    to_do: &str,
    hint: &str,
) -> Result<(), Problem> {
    let refused = |who: &str| {
        let detail = format!("{who} may not {to_do}");
        Err(Problem::new(Trouble::AgentRefused, detail).hint(hint).audited(AuditKind::AgentRefused))
    };
    if let Some(client) = &caller.mcp {
        return refused(&format!("{client} comes by MCP, and"));
    }
    if let Rights::Key { key, .. } = rights
        && !key.scopes.contains(&Scope::Decide)
    {
        return refused(&format!("{} has not the scope decide, and", caller.name()));
    }
    caller.must_be_person(to_do).map_err(|refused| refused.hint(hint))
}
