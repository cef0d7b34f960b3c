//! The settings in Codex's words.
//!
//! What was found on 0.130.0, 0.142.5 and 0.166.0: the opening requests take the kind of sandbox alone; roots, network,
//! exclusions, effort and summary go along as `config`, and the reply names them all. Network in a read-only sandbox
//! and the external sandbox are taken on turns alone.

use ostler_model::ThreadId;
use serde_json::Value;

use super::ThreadSettings;
use crate::folder_trust;
use crate::protocol::config_overrides::ConfigOverrides;
use crate::protocol::request::thread::{ThreadFork, ThreadResume, ThreadStart};
use crate::protocol::request::turn::{ReasoningSummary, TurnStart};
use crate::protocol::settings::{SandboxMode, SandboxPolicy};
use crate::protocol::user_input::UserInput;

impl ThreadSettings {
    pub fn thread_start(&self) -> ThreadStart {
        let tools = (!self.dynamic_tools.is_empty()).then(|| self.dynamic_tools.clone());
        ThreadStart {
            cwd: Some(self.cwd.clone()),
            model: self.model.clone(),
            model_provider: self.model_provider.clone(),
            service_tier: self.service_tier.clone(),
            approval_policy: Some(self.approval_policy.clone()),
            approvals_reviewer: Some(self.approvals_reviewer),
            sandbox: Some(self.sandbox_mode()),
            permissions: None,
            config: self.overrides(),
            base_instructions: self.base_instructions.clone(),
            developer_instructions: self.developer_instructions.clone(),
            ephemeral: Some(self.ephemeral),
            history_mode: self.history_mode,
            dynamic_tools: tools,
        }
    }

    pub fn thread_resume(&self, thread_id: ThreadId) -> ThreadResume {
        ThreadResume {
            cwd: Some(self.cwd.clone()),
            model: self.model.clone(),
            model_provider: self.model_provider.clone(),
            service_tier: self.service_tier.clone(),
            approval_policy: Some(self.approval_policy.clone()),
            approvals_reviewer: Some(self.approvals_reviewer),
            sandbox: Some(self.sandbox_mode()),
            config: self.overrides(),
            base_instructions: self.base_instructions.clone(),
            developer_instructions: self.developer_instructions.clone(),
            ..ThreadResume::new(thread_id)
        }
    }

    /// A fork of the whole thread; `last_turn_id` of the request can shorten it.
    pub fn thread_fork(&self, thread_id: ThreadId) -> ThreadFork {
        ThreadFork {
            ephemeral: self.ephemeral,
            cwd: Some(self.cwd.clone()),
            model: self.model.clone(),
            model_provider: self.model_provider.clone(),
            service_tier: self.service_tier.clone(),
            approval_policy: Some(self.approval_policy.clone()),
            approvals_reviewer: Some(self.approvals_reviewer),
            sandbox: Some(self.sandbox_mode()),
            config: self.overrides(),
            base_instructions: self.base_instructions.clone(),
            developer_instructions: self.developer_instructions.clone(),
            ..ThreadFork::new(thread_id)
        }
    }

    /// A turn under these settings. They are sent each time: another client may have changed them, what a turn changes
    /// stays, and only a turn closes the `memories` folder that Codex up to 0.130.0 adds to the writable roots.
    pub fn turn_start(&self, thread_id: ThreadId, input: Vec<UserInput>) -> TurnStart {
        TurnStart {
            cwd: Some(self.cwd.clone()),
            approval_policy: Some(self.approval_policy.clone()),
            approvals_reviewer: Some(self.approvals_reviewer),
            sandbox_policy: Some(self.sandbox.clone()),
            model: self.model.clone(),
            effort: self.effort.clone(),
            summary: self.reasoning_summary,
            service_tier: self.service_tier.clone(),
            ..TurnStart::new(thread_id, input)
        }
    }

    /// The kind of sandbox that an opening request can name and that is never wider than what is asked.
    fn sandbox_mode(&self) -> SandboxMode {
        match self.sandbox {
            SandboxPolicy::DangerFullAccess => SandboxMode::DangerFullAccess,
            SandboxPolicy::WorkspaceWrite { .. } => SandboxMode::WorkspaceWrite,
            SandboxPolicy::ReadOnly { .. }
            | SandboxPolicy::ExternalSandbox { .. }
            | SandboxPolicy::Other(_) => SandboxMode::ReadOnly,
        }
    }

    /// What the opening requests have no field for. Roots and network are named also where there are none, because
    /// those of the Codex home would hold instead.
    fn overrides(&self) -> Option<ConfigOverrides> {
        let mut config = self.config.clone();
        if let SandboxPolicy::WorkspaceWrite {
            writable_roots,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        } = &self.sandbox
        {
            let settings: [(&str, Value); 4] = [
                ("writable_roots", writable_roots.clone().into()),
                ("network_access", (*network_access).into()),
                ("exclude_tmpdir_env_var", (*exclude_tmpdir_env_var).into()),
                ("exclude_slash_tmp", (*exclude_slash_tmp).into()),
            ];
            for (key, value) in settings {
                config.insert(format!("sandbox_workspace_write.{key}"), value);
            }
        }
        if let Some(effort) = &self.effort {
            config.insert("model_reasoning_effort", effort.as_str());
        }
        if let Some(summary) = self.reasoning_summary {
            config.insert("model_reasoning_summary", summary_word(summary));
        }
        for (name, server) in &self.mcp_servers {
            config.insert(format!("mcp_servers.{name}"), server.to_config());
        }
        config.insert(folder_trust::KEY, folder_trust::verdicts(&self.cwd, self.trust.as_ref()));
        Some(config)
    }
}

fn summary_word(summary: ReasoningSummary) -> &'static str {
    match summary {
        ReasoningSummary::Auto => "auto",
        ReasoningSummary::Concise => "concise",
        ReasoningSummary::Detailed => "detailed",
        ReasoningSummary::None => "none",
    }
}
