//! What settings must be before Codex sees them. Every fault is told at once.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use thiserror::Error;

use super::{McpServer, ThreadSettings};
use crate::folder_trust;
use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::settings::SandboxPolicy;

/// Everything that is wrong with the settings, in the order of their fields.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct InvalidSettings(pub Vec<SettingError>);

impl fmt::Display for InvalidSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        formatter.write_str(&texts.join("; "))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    #[error("cwd is empty; give an absolute folder")]
    CwdEmpty,
    #[error("cwd `{0}` is relative; give an absolute folder")]
    CwdRelative(String),
    #[error("writable root `{0}` is not an absolute folder")]
    RootRelative(String),
    #[error("sandbox `{0}` is not one we know")]
    SandboxUnknown(String),
    #[error(
        "approval policy `{0}` is not one we know; use untrusted, on-request, never or granular"
    )]
    ApprovalPolicyUnknown(String),
    #[error("{0} is empty; leave it out or name one")]
    NameEmpty(&'static str),
    #[error("config key `{0}` is no dotted key")]
    ConfigKey(String),
    #[error("config key `{key}` is set by `{setting}`; use that")]
    ConfigCollision { key: String, setting: &'static str },
    #[error("mcp server name `{0}` may hold only letters, digits, `_` and `-`")]
    McpName(String),
    #[error("mcp server `{name}` {fault}")]
    McpServer { name: String, fault: McpFault },
    #[error("tool name `{0}` may hold only letters, digits, `_` and `-`")]
    ToolName(String),
    #[error("tool `{0}` is there twice")]
    ToolTwice(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum McpFault {
    #[error("has both a command and a url; keep one")]
    CommandAndUrl,
    #[error("has neither a command nor a url; give one")]
    NoCommandNoUrl,
    #[error("has arguments or variables beside a url; only a command takes them")]
    UrlWithProcess,
    #[error("has a variable whose name is empty or holds `=`")]
    VariableName,
    #[error("has a timeout of zero")]
    ZeroTimeout,
}

/// Keys of Codex's configuration that one of our fields speaks for, with all keys below them.
const TYPED_KEYS: [(&str, &str); 16] = [
    ("cwd", "cwd"),
    ("sandbox_mode", "sandbox"),
    ("sandbox_workspace_write", "sandbox"),
    ("default_permissions", "sandbox"),
    ("approval_policy", "approval_policy"),
    ("approvals_reviewer", "approvals_reviewer"),
    ("model", "model"),
    ("model_provider", "model_provider"),
    ("model_reasoning_effort", "effort"),
    ("model_reasoning_summary", "reasoning_summary"),
    ("service_tier", "service_tier"),
    ("instructions", "base_instructions"),
    ("model_instructions_file", "base_instructions"),
    ("experimental_instructions_file", "base_instructions"),
    ("developer_instructions", "developer_instructions"),
    (folder_trust::KEY, "ostler trust"),
];

impl ThreadSettings {
    /// Looks at the settings alone, at no file and no Codex.
    pub fn check(&self) -> Result<(), InvalidSettings> {
        let mut errors = Vec::new();
        self.check_permissions(&mut errors);
        for (field, name) in [
            ("model", &self.model),
            ("model provider", &self.model_provider),
            ("effort", &self.effort),
            ("service tier", &self.service_tier),
        ] {
            if name.as_ref().is_some_and(|name| name.trim().is_empty()) {
                errors.push(SettingError::NameEmpty(field));
            }
        }
        errors.extend(self.config.keys().filter_map(|key| self.config_key_fault(key)));
        for (name, server) in &self.mcp_servers {
            if !is_name(name) {
                errors.push(SettingError::McpName(name.clone()));
            }
            let named = |fault| SettingError::McpServer { name: name.clone(), fault };
            errors.extend(server_faults(server).into_iter().map(named));
        }
        self.check_tools(&mut errors);
        if errors.is_empty() { Ok(()) } else { Err(InvalidSettings(errors)) }
    }

    fn check_permissions(&self, errors: &mut Vec<SettingError>) {
        if self.cwd.is_empty() {
            errors.push(SettingError::CwdEmpty);
        } else if !Path::new(&self.cwd).is_absolute() {
            errors.push(SettingError::CwdRelative(self.cwd.clone()));
        }
        match &self.sandbox {
            SandboxPolicy::WorkspaceWrite { writable_roots, .. } => {
                let relative = writable_roots.iter().filter(|root| !Path::new(root).is_absolute());
                errors.extend(relative.cloned().map(SettingError::RootRelative));
            }
            SandboxPolicy::Other(kind) => errors.push(SettingError::SandboxUnknown(kind.clone())),
            _ => {}
        }
        if let ApprovalPolicy::Other(word) = &self.approval_policy {
            errors.push(SettingError::ApprovalPolicyUnknown(word.clone()));
        }
    }

    fn config_key_fault(&self, key: &str) -> Option<SettingError> {
        if key.split('.').any(|part| part.trim().is_empty()) {
            return Some(SettingError::ConfigKey(key.to_owned()));
        }
        let covers = |typed: &str| {
            key.strip_prefix(typed).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let typed = TYPED_KEYS.iter().find(|(typed, _)| covers(typed)).map(|(_, setting)| *setting);
        // The home's own servers may be changed by key, one that is given here may not.
        let ours = || {
            key == "mcp_servers"
                || self.mcp_servers.keys().any(|name| covers(&format!("mcp_servers.{name}")))
        };
        let setting = typed.or_else(|| ours().then_some("mcp_servers"))?;
        Some(SettingError::ConfigCollision { key: key.to_owned(), setting })
    }

    fn check_tools(&self, errors: &mut Vec<SettingError>) {
        let mut seen = BTreeSet::new();
        for tool in &self.dynamic_tools {
            if !is_name(&tool.name) {
                errors.push(SettingError::ToolName(tool.name.clone()));
            }
            if !seen.insert(&tool.name) {
                errors.push(SettingError::ToolTwice(tool.name.clone()));
            }
        }
    }
}

fn server_faults(server: &McpServer) -> Vec<McpFault> {
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let mut faults = Vec::new();
    match (is_set(&server.command), is_set(&server.url)) {
        (true, true) => faults.push(McpFault::CommandAndUrl),
        (false, false) => faults.push(McpFault::NoCommandNoUrl),
        (false, true) if !server.args.is_empty() || !server.env.is_empty() => {
            faults.push(McpFault::UrlWithProcess);
        }
        _ => {}
    }
    if server.env.keys().any(|name| name.is_empty() || name.contains('=')) {
        faults.push(McpFault::VariableName);
    }
    if [server.startup_timeout, server.tool_timeout]
        .into_iter()
        .flatten()
        .any(|time| time.is_zero())
    {
        faults.push(McpFault::ZeroTimeout);
    }
    faults
}

/// What Codex takes as the name of a tool, and what cannot be split at a dot.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
}
