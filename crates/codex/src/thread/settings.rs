//! Everything a thread is opened with, in our own words.
//!
//! The same settings go out at every start, resume and fork, and again with each turn: Codex forgets most of them
//! between processes (tests/e2e/thread_opening.rs shows what it forgets). Permissions are never left to Codex: what is
//! not said here is the narrowest.

mod check;
mod compare;
mod mcp_server;
mod programs;
#[cfg(test)]
mod tests;
mod translate;

pub use check::{InvalidSettings, SettingError};
pub use compare::{Difference, Direction, Setting, compare};
pub use mcp_server::McpServer;
pub use programs::{names_program, widens_nothing};

use std::collections::BTreeMap;

use crate::folder_trust::Trust;
use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::config_overrides::ConfigOverrides;
use crate::protocol::request::thread::{ApprovalsReviewer, DynamicTool, HistoryMode};
use crate::protocol::request::turn::ReasoningSummary;
use crate::protocol::settings::SandboxPolicy;

/// What a thread shall be. `None` leaves a choice to the Codex home.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSettings {
    /// Absolute. Codex also takes a folder that does not exist, so whoever has a file system at hand looks first.
    pub cwd: String,
    /// Confines commands. Network in a read-only sandbox and the external sandbox exist only on turns; until its first
    /// turn such a thread is read-only without network.
    pub sandbox: SandboxPolicy,
    pub approval_policy: ApprovalPolicy,
    pub approvals_reviewer: ApprovalsReviewer,
    pub model: Option<String>,
    pub model_provider: Option<String>,
    /// An open word since 0.142.5; before, `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    pub effort: Option<String>,
    pub reasoning_summary: Option<ReasoningSummary>,
    /// Codex drops a tier that its catalogue does not give the model, without an error.
    pub service_tier: Option<String>,
    /// Instead of the model's own instructions.
    pub base_instructions: Option<String>,
    /// On top of them.
    pub developer_instructions: Option<String>,
    /// Nothing is written; the thread is lost with its process. A resume ignores it.
    pub ephemeral: bool,
    /// For a new thread.
    pub history_mode: Option<HistoryMode>,
    pub config: ConfigOverrides,
    /// By name. Each thread starts its own processes.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// For a new thread; Codex keeps them with it, also over resume and fork, and they cannot be changed.
    pub dynamic_tools: Vec<DynamicTool>,
    /// Which folders may bring programs along. Without it none may.
    pub trust: Option<Trust>,
}

impl Default for ThreadSettings {
    /// What Codex itself takes in a folder that nobody trusts. Without a `cwd` it is not valid yet.
    fn default() -> Self {
        Self {
            cwd: String::new(),
            sandbox: SandboxPolicy::ReadOnly { network_access: false },
            approval_policy: ApprovalPolicy::OnRequest,
            approvals_reviewer: ApprovalsReviewer::User,
            model: None,
            model_provider: None,
            effort: None,
            reasoning_summary: None,
            service_tier: None,
            base_instructions: None,
            developer_instructions: None,
            ephemeral: false,
            history_mode: None,
            config: ConfigOverrides::default(),
            mcp_servers: BTreeMap::new(),
            dynamic_tools: Vec::new(),
            trust: None,
        }
    }
}

impl ThreadSettings {
    /// In this folder, read-only.
    pub fn new(cwd: impl Into<String>) -> Self {
        Self { cwd: cwd.into(), ..Self::default() }
    }

    /// Commands of the model find these variables empty. Codex can leave variables out only by a list, which would replace the
    /// user's own.
    pub fn hide_variables(&mut self, names: Vec<String>) {
        if !names.is_empty() {
            // A snapshot is a file in Codex's home with all variables and their values, whatever the policy says.
            self.config.insert("features.shell_snapshot", false);
        }
        for name in names {
            self.config.insert(format!("shell_environment_policy.set.{name}"), "");
        }
    }

    /// The folders in which commands may write without asking.
    pub fn writable_folders(&self) -> impl Iterator<Item = &str> {
        let (cwd, roots) = match &self.sandbox {
            SandboxPolicy::WorkspaceWrite { writable_roots, .. } => {
                (Some(self.cwd.as_str()), writable_roots.as_slice())
            }
            _ => (None, [].as_slice()),
        };
        cwd.into_iter().chain(roots.iter().map(String::as_str))
    }
}
