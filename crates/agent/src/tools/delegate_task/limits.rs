//! What a task may do that the agent starts: never more than the agent itself, so that it is no way around the agent's walls.

use std::path::Path;

use ostler_model::TaskSettings;
use ostler_model::ask::Permissions;
use ostler_model::task::{Approval, Sandbox, SandboxMode};

use crate::sandbox::{Boundary, Reach, resolved};

/// The narrower of both in everything. A model can never start a task that nothing holds, nor one that never asks.
pub(super) fn limited(settings: TaskSettings, boundary: &Boundary) -> TaskSettings {
    let wanted = &settings.sandbox;
    let may_write = |root: &String| boundary.reach(&resolved(Path::new(root))) == Reach::Inside;
    let sandbox = Sandbox {
        mode: match (wanted.mode, boundary.mode) {
            (SandboxMode::ReadOnly, _) | (_, SandboxMode::ReadOnly) => SandboxMode::ReadOnly,
            _ => SandboxMode::WorkspaceWrite,
        },
        writable_roots: wanted.writable_roots.iter().filter(|it| may_write(it)).cloned().collect(),
        network: wanted.network && boundary.network,
    };
    let approval = match (settings.approval, boundary.approval) {
        (Approval::Untrusted, _) | (_, Approval::Untrusted) => Approval::Untrusted,
        _ => Approval::OnRequest,
    };
    TaskSettings { sandbox, approval, ..settings }
}

/// Why a person is asked before a task works in this folder, which must be a real one; none if it is free. The error is for
/// the model: that folder is nobody's to give.
pub(super) fn why_asked(
    folder: &Path,
    mode: SandboxMode,
    boundary: &Boundary,
    workspace: &Path,
) -> Result<Option<String>, String> {
    let shown = folder.display();
    let reach = boundary.reach(folder);
    if reach == Reach::Protected {
        return Err(format!("{shown} belongs to Ostler or Codex itself; no task works there"));
    }
    let writes = mode != SandboxMode::ReadOnly;
    if writes && boundary.protected.iter().any(|it| it.starts_with(folder)) {
        return Ok(Some(format!("settings of Ostler or Codex itself are below {shown}")));
    }
    Ok(match reach {
        Reach::Guarded(name) => Some(format!(
            "what is below `{name}` decides what programs do later, outside of every sandbox"
        )),
        Reach::Outside if writes => Some(format!("{shown} is outside of what may be written here")),
        // Where only reading is allowed, every folder is outside of what may be written.
        Reach::Outside if !folder.starts_with(workspace) => {
            Some(format!("{shown} is outside of the folder that this conversation works in"))
        }
        _ if boundary.approval == Approval::Untrusted => {
            Some("every task is asked for here".to_owned())
        }
        _ => None,
    })
}

/// What the task gets, as a question shows it. By this no rule for a command is about a task.
pub(super) fn permissions(sandbox: &Sandbox, folder: &str) -> Permissions {
    let folder = vec![folder.to_owned()];
    let (read, write) = match sandbox.mode {
        SandboxMode::ReadOnly => (folder, Vec::new()),
        _ => (Vec::new(), [folder, sandbox.writable_roots.clone()].concat()),
    };
    Permissions { network: sandbox.network.then_some(true), read, write, rules: Vec::new() }
}
