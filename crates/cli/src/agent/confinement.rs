//! Where the agent's tools may write and what they ask about, from the settings.

use std::path::{Path, PathBuf};

use ostler_agent::sandbox::Confinement;
use ostler_agent::tools::WriteApproval;
use ostler_config::{Config, settings};
use ostler_model::task::{Approval, Sandbox, SandboxMode};

use crate::bench::Bench;
use crate::places;

/// What a conversation may do without asking, on either runtime.
pub(crate) fn rights(config: &Config) -> (Sandbox, Approval) {
    let agent = &config.agent;
    let roots = agent.writable_roots.iter().map(|root| root.display().to_string());
    let sandbox = Sandbox {
        mode: match agent.sandbox {
            settings::Sandbox::ReadOnly => SandboxMode::ReadOnly,
            settings::Sandbox::WorkspaceWrite => SandboxMode::WorkspaceWrite,
        },
        writable_roots: roots.collect(),
        network: agent.network,
    };
    let approval = match agent.approval {
        settings::Approval::Untrusted => Approval::Untrusted,
        settings::Approval::OnRequest => Approval::OnRequest,
    };
    (sandbox, approval)
}

/// For tools that work in this folder.
pub(crate) fn confinement(bench: &Bench, config: &Config, cwd: &Path) -> Confinement {
    let (sandbox, approval) = rights(config);
    let places = &bench.places;
    let temporary = places::variable("TMPDIR").map(PathBuf::from);
    let protected =
        [Some(places.config.clone()), Some(places.state.clone()), bench.usual_codex_home()];
    Confinement {
        sandbox,
        approval,
        cwd: cwd.to_owned(),
        temporary: std::iter::once(PathBuf::from("/tmp")).chain(temporary).collect(),
        protected: protected.into_iter().flatten().collect(),
    }
}

/// Whether a person is asked before something is remembered.
pub(crate) fn memory_approval(config: &Config) -> WriteApproval {
    match config.agent.memory_approval {
        true => WriteApproval::Asked,
        false => WriteApproval::NotNeeded,
    }
}
