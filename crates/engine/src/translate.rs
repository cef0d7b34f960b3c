//! Our stored words for settings and inputs, as the codex room takes them.

use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::config_overrides::ConfigOverrides;
use ostler_codex::protocol::request::thread::DynamicTool;
use ostler_codex::protocol::request::turn::ReviewTarget;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{TurnContent, TurnInput};
use ostler_model::Input;
use ostler_model::input::{Content, Part, ReviewOf};
use ostler_model::task::{Approval, OfferedTool, SandboxMode, TaskSettings};
use ostler_model::thread::Limits;
use serde_json::Value;
use thiserror::Error;

/// Stored JSON text that is no JSON. It was checked when it was stored, so the record is damaged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is no JSON: {reason}")]
pub(crate) struct NotJson {
    name: String,
    reason: String,
}

pub(crate) fn thread_settings(settings: &TaskSettings) -> Result<ThreadSettings, NotJson> {
    let mut config = ConfigOverrides::default();
    for (key, value) in &settings.config {
        config.insert(key.clone(), json(key, value)?);
    }
    let mut dynamic_tools = Vec::new();
    for OfferedTool { name, description, schema } in &settings.tools {
        let schema = json(name, schema)?;
        dynamic_tools.push(DynamicTool::new(name.clone(), description.clone(), schema));
    }
    Ok(ThreadSettings {
        sandbox: sandbox(settings),
        approval_policy: match settings.approval {
            Approval::Untrusted => ApprovalPolicy::Untrusted,
            Approval::OnRequest => ApprovalPolicy::OnRequest,
            Approval::Never => ApprovalPolicy::Never,
        },
        model: settings.model.clone(),
        model_provider: settings.model_provider.clone(),
        effort: settings.effort.clone(),
        service_tier: settings.service_tier.clone(),
        developer_instructions: settings.developer_instructions.clone(),
        config,
        dynamic_tools,
        ..ThreadSettings::new(settings.cwd.clone())
    })
}

fn sandbox(settings: &TaskSettings) -> SandboxPolicy {
    let network_access = settings.sandbox.network;
    match settings.sandbox.mode {
        SandboxMode::ReadOnly => SandboxPolicy::ReadOnly { network_access },
        SandboxMode::WorkspaceWrite => SandboxPolicy::WorkspaceWrite {
            writable_roots: settings.sandbox.writable_roots.clone(),
            network_access,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        },
        SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
    }
}

pub(crate) fn limits(settings: &TaskSettings) -> Limits {
    let usual = Limits::default();
    Limits {
        budget: settings.turn_timeout(),
        on_stall: settings.on_stall,
        stall_after: settings.silence().unwrap_or(usual.stall_after),
        ..usual
    }
}

pub(crate) fn turn_input(input: &Input) -> Result<TurnInput, NotJson> {
    let content = match &input.content {
        Content::Message(parts) => TurnContent::Message(parts.iter().map(part).collect()),
        Content::Review(of) => TurnContent::Review(match of {
            ReviewOf::UncommittedChanges => ReviewTarget::UncommittedChanges,
            ReviewOf::BaseBranch(branch) => ReviewTarget::BaseBranch { branch: branch.clone() },
            ReviewOf::Commit(sha) => ReviewTarget::Commit { sha: sha.clone(), title: None },
            ReviewOf::Custom(instructions) => {
                ReviewTarget::Custom { instructions: instructions.clone() }
            }
        }),
        Content::Compaction => TurnContent::Compaction,
    };
    let schema = input.output_schema.as_deref();
    Ok(TurnInput {
        model: input.model.clone(),
        effort: input.effort.clone(),
        output_schema: schema.map(|schema| json("output_schema", schema)).transpose()?,
        context: input.context.clone(),
        ..TurnInput::new(content)
    })
}

fn part(part: &Part) -> UserInput {
    match part.clone() {
        Part::Text(text) => UserInput::Text(text),
        Part::ImageUrl(url) => UserInput::Image { url },
        Part::ImageFile(path) => UserInput::LocalImage { path },
        Part::Skill { name, path } => UserInput::Skill { name, path },
        Part::Mention { name, path } => UserInput::Mention { name, path },
    }
}

fn json(name: &str, text: &str) -> Result<Value, NotJson> {
    serde_json::from_str(text)
        .map_err(|error| NotJson { name: name.to_owned(), reason: error.to_string() })
}
