//! What the thread may do, from what was typed and what is remembered.

use std::path::Path;

use clap::ValueEnum;
use ostler_codex::folder_trust::Trust;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::config_overrides::ConfigOverrides;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::thread::settings::ThreadSettings;

use super::arguments::{Approval, RunArguments, Sandbox};
use super::memory::{Remembered, RememberedSandbox};
use crate::failure::{Exit, Failure};
use crate::prompt::existing;

/// What is typed counts, then what is remembered of the thread, then the narrowest.
pub(super) fn settings(
    arguments: &RunArguments,
    remembered: Option<&Remembered>,
    trust: Option<Trust>,
) -> Result<ThreadSettings, Failure> {
    let cwd = folder(arguments, remembered)?;
    let remembered_approval = remembered.map(|it| ApprovalPolicy::from(it.approval.as_str()));
    let approval_policy = match (arguments.approval, remembered_approval) {
        (Some(Approval::Untrusted), _) => ApprovalPolicy::Untrusted,
        (Some(Approval::OnRequest), _) => ApprovalPolicy::OnRequest,
        (Some(Approval::Never), _) => ApprovalPolicy::Never,
        (None, Some(remembered)) => remembered,
        (None, None) => ApprovalPolicy::OnRequest,
    };
    let (config, model_provider) = overrides(&arguments.config)?;
    let settings = ThreadSettings {
        sandbox: sandbox(arguments, remembered.map(|remembered| &remembered.sandbox))?,
        approval_policy,
        model: arguments.model.clone().or_else(|| remembered.and_then(|it| it.model.clone())),
        model_provider,
        effort: arguments.effort.clone().or_else(|| remembered.and_then(|it| it.effort.clone())),
        ephemeral: arguments.ephemeral,
        config,
        trust,
        ..ThreadSettings::new(cwd)
    };
    settings.check().map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    Ok(settings)
}

/// Where the thread works.
pub(super) fn folder(
    arguments: &RunArguments,
    remembered: Option<&Remembered>,
) -> Result<String, Failure> {
    match (&arguments.cd, remembered) {
        (None, Some(remembered)) => Ok(remembered.cwd.clone()),
        (cd, _) => {
            let folder = existing(cd.as_deref().unwrap_or(Path::new(".")), "the folder")?;
            if !folder.is_dir() {
                let message = format!("{} is no folder", folder.display());
                return Err(Failure::new(Exit::Usage, message));
            }
            Ok(folder.display().to_string())
        }
    }
}

fn sandbox(
    arguments: &RunArguments,
    remembered: Option<&RememberedSandbox>,
) -> Result<SandboxPolicy, Failure> {
    let mut roots = Vec::new();
    for folder in &arguments.add_dir {
        roots.push(existing(folder, "the folder")?.display().to_string());
    }
    let mut network_access = arguments.network;
    let mode = match (arguments.sandbox, remembered) {
        (Some(mode), _) => mode,
        (None, Some(remembered)) => {
            network_access |= remembered.network;
            let known = remembered.writable_roots.iter().filter(|root| !roots.contains(root));
            let known: Vec<String> = known.cloned().collect();
            roots.extend(known);
            // A word of a later version of ours: the narrowest.
            Sandbox::from_str(&remembered.mode, false).unwrap_or(Sandbox::ReadOnly)
        }
        (None, None) => Sandbox::ReadOnly,
    };
    match mode {
        Sandbox::WorkspaceWrite => Ok(SandboxPolicy::WorkspaceWrite {
            writable_roots: roots,
            network_access,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        }),
        _ if !roots.is_empty() => {
            Err(Failure::new(Exit::Usage, "--add-dir needs --sandbox workspace-write"))
        }
        Sandbox::ReadOnly => Ok(SandboxPolicy::ReadOnly { network_access }),
        Sandbox::DangerFullAccess => Ok(SandboxPolicy::DangerFullAccess),
    }
}

/// What is kept of it for the next time.
pub(super) fn remember_sandbox(policy: &SandboxPolicy) -> RememberedSandbox {
    let (mode, writable_roots, network) = match policy {
        SandboxPolicy::WorkspaceWrite { writable_roots, network_access, .. } => {
            ("workspace-write", writable_roots.clone(), *network_access)
        }
        SandboxPolicy::DangerFullAccess => ("danger-full-access", Vec::new(), true),
        SandboxPolicy::ReadOnly { network_access } => ("read-only", Vec::new(), *network_access),
        SandboxPolicy::ExternalSandbox { .. } | SandboxPolicy::Other(_) => {
            ("read-only", Vec::new(), false)
        }
    };
    RememberedSandbox { mode: mode.to_owned(), writable_roots, network }
}

/// Settings of Codex by key, and the provider of the model, which has a place of its own.
fn overrides(settings: &[String]) -> Result<(ConfigOverrides, Option<String>), Failure> {
    let mut config = ConfigOverrides::default();
    let mut provider = None;
    for setting in settings {
        let (key, value) = ostler_config::parse_override(setting)
            .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
        match (key.as_str(), value.as_str()) {
            ("model_provider", Some(name)) => provider = Some(name.to_owned()),
            _ => config.insert(key, value),
        }
    }
    Ok((config, provider))
}

/// The sandbox in a few words.
pub(super) fn describe_sandbox(policy: &SandboxPolicy) -> String {
    let (name, network, roots) = match policy {
        SandboxPolicy::DangerFullAccess => return "danger-full-access".to_owned(),
        SandboxPolicy::ReadOnly { network_access } => ("read-only", *network_access, 0),
        SandboxPolicy::ExternalSandbox { network_access } => ("external", *network_access, 0),
        SandboxPolicy::WorkspaceWrite { writable_roots, network_access, .. } => {
            ("workspace-write", *network_access, writable_roots.len())
        }
        SandboxPolicy::Other(name) => return name.clone(),
    };
    let mut text = name.to_owned();
    if roots > 0 {
        text.push_str(&format!(" with {roots} more folders"));
    }
    if network {
        text.push_str(" with network");
    }
    text
}

pub(super) fn describe_approval(policy: &ApprovalPolicy) -> String {
    match policy {
        ApprovalPolicy::Untrusted => "untrusted".to_owned(),
        ApprovalPolicy::OnRequest => "on-request".to_owned(),
        ApprovalPolicy::Never => "never".to_owned(),
        ApprovalPolicy::Granular(_) => "granular".to_owned(),
        ApprovalPolicy::Other(word) => word.clone(),
    }
}
