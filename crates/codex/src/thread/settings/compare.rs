//! What Codex made of the settings.
//!
//! Codex forgets settings between processes and ignores them on a thread that is loaded, all without an error. So the
//! reply to each opening is held against what was asked. Wider permissions are a fault, anything else is news.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::ThreadSettings;
use crate::protocol::approval_policy::{ApprovalPolicy, GranularApproval};
use crate::protocol::request::thread::{ApprovalsReviewer, ThreadOpened};
use crate::protocol::settings::SandboxPolicy;

/// One setting that is not as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub setting: Setting,
    pub asked: String,
    pub got: String,
    pub direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Cwd,
    Sandbox,
    WritableRoots,
    Network,
    TmpdirVariable,
    SlashTmp,
    ApprovalPolicy,
    ApprovalsReviewer,
    Model,
    ModelProvider,
    Effort,
    ServiceTier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Codex may do more, or asks less.
    Wider,
    Narrower,
    /// It is no matter of permissions.
    Other,
}

impl Difference {
    pub fn is_wider(&self) -> bool {
        self.direction == Direction::Wider
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: asked {}, got {}", self.setting, self.asked, self.got)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Cwd => "cwd",
            Self::Sandbox => "sandbox",
            Self::WritableRoots => "writable roots",
            Self::Network => "network",
            Self::TmpdirVariable => "$TMPDIR",
            Self::SlashTmp => "/tmp",
            Self::ApprovalPolicy => "approval policy",
            Self::ApprovalsReviewer => "approvals reviewer",
            Self::Model => "model",
            Self::ModelProvider => "model provider",
            Self::Effort => "effort",
            Self::ServiceTier => "service tier",
        })
    }
}

/// Every setting that the reply names otherwise than asked. `codex_home` is what the app-server's greeting says: Codex
/// up to 0.130.0 adds the folder `memories` in it to the writable roots of every thread.
pub fn compare(asked: &ThreadSettings, got: &ThreadOpened, codex_home: &str) -> Vec<Difference> {
    let mut differences = Differences(Vec::new());
    differences.cwd(asked, got);
    differences.sandbox(asked, got, codex_home);
    differences.approvals(asked, got);
    for (setting, asked, got) in [
        (Setting::Model, &asked.model, &got.model),
        (Setting::ModelProvider, &asked.model_provider, &got.model_provider),
        (Setting::Effort, &asked.effort, &got.reasoning_effort),
    ] {
        differences.word(setting, asked.as_deref(), got.as_deref());
    }
    // From 0.130.0 on Codex calls `fast` what the model's API calls `priority`.
    let tier = got.service_tier.as_deref();
    if (asked.service_tier.as_deref(), tier) != (Some("fast"), Some("priority")) {
        differences.word(Setting::ServiceTier, asked.service_tier.as_deref(), tier);
    }
    differences.0
}

struct Differences(Vec<Difference>);

impl Differences {
    fn add(
        &mut self,
        setting: Setting,
        asked: impl Into<String>,
        got: impl Into<String>,
        direction: Direction,
    ) {
        self.0.push(Difference { setting, asked: asked.into(), got: got.into(), direction });
    }

    fn word(&mut self, setting: Setting, asked: Option<&str>, got: Option<&str>) {
        if let Some(asked) = asked
            && got != Some(asked)
        {
            self.add(setting, asked, got.unwrap_or("nothing"), Direction::Other);
        }
    }

    fn flag(&mut self, setting: Setting, asked: bool, got: bool) {
        let word = |allowed| if allowed { "allowed" } else { "closed" };
        let direction = if got { Direction::Wider } else { Direction::Narrower };
        if asked != got {
            self.add(setting, word(asked), word(got), direction);
        }
    }

    /// Another folder is a fault where commands may write in it.
    fn cwd(&mut self, asked: &ThreadSettings, got: &ThreadOpened) {
        let Some(cwd) = &got.cwd else {
            return self.add(Setting::Cwd, &asked.cwd, "nothing", Direction::Wider);
        };
        if lexical(cwd) != lexical(&asked.cwd) {
            let writable = matches!(got.sandbox, Some(SandboxPolicy::WorkspaceWrite { .. }));
            let direction = if writable { Direction::Wider } else { Direction::Other };
            self.add(Setting::Cwd, &asked.cwd, cwd, direction);
        }
    }

    fn sandbox(&mut self, asked: &ThreadSettings, got: &ThreadOpened, codex_home: &str) {
        use SandboxPolicy::{DangerFullAccess, ExternalSandbox, Other, ReadOnly, WorkspaceWrite};
        let Some(got) = &got.sandbox else {
            return self.add(Setting::Sandbox, kind(&asked.sandbox), "nothing", Direction::Wider);
        };
        let direction = match (&asked.sandbox, got) {
            (DangerFullAccess, DangerFullAccess)
            // Both are opened as read-only without network; their turns bring the rest.
            | (ExternalSandbox { .. }, ReadOnly { network_access: false })
            | (ReadOnly { network_access: true }, ReadOnly { network_access: false }) => return,
            (ReadOnly { network_access: asked }, ReadOnly { network_access: got })
            | (ExternalSandbox { network_access: asked }, ExternalSandbox { network_access: got }) => {
                return self.flag(Setting::Network, *asked, *got);
            }
            (WorkspaceWrite { .. }, WorkspaceWrite { .. }) => {
                return self.workspace(asked, got, codex_home);
            }
            (_, DangerFullAccess | ExternalSandbox { .. } | Other(_))
            | (ReadOnly { .. } | Other(_), WorkspaceWrite { .. })
            // Narrower in the files but with a network that was not asked for.
            | (WorkspaceWrite { network_access: false, .. }, ReadOnly { network_access: true })
            | (ExternalSandbox { network_access: false }, ReadOnly { .. })
            | (ExternalSandbox { network_access: false }, WorkspaceWrite { network_access: true, .. }) => {
                Direction::Wider
            }
            (DangerFullAccess | ExternalSandbox { .. }, WorkspaceWrite { .. })
            | (_, ReadOnly { .. }) => Direction::Narrower,
        };
        self.add(Setting::Sandbox, kind(&asked.sandbox), kind(got), direction);
    }

    fn workspace(&mut self, asked: &ThreadSettings, got: &SandboxPolicy, codex_home: &str) {
        let (
            SandboxPolicy::WorkspaceWrite {
                writable_roots: asked_roots,
                network_access: asked_network,
                exclude_tmpdir_env_var: asked_tmpdir,
                exclude_slash_tmp: asked_tmp,
            },
            SandboxPolicy::WorkspaceWrite {
                writable_roots: got_roots,
                network_access: got_network,
                exclude_tmpdir_env_var: got_tmpdir,
                exclude_slash_tmp: got_tmp,
            },
        ) = (&asked.sandbox, got)
        else {
            return;
        };
        self.roots(asked_roots, got_roots, &[lexical(&asked.cwd), memories(codex_home)]);
        self.flag(Setting::Network, *asked_network, *got_network);
        self.flag(Setting::TmpdirVariable, !asked_tmpdir, !got_tmpdir);
        self.flag(Setting::SlashTmp, !asked_tmp, !got_tmp);
    }

    /// `silent` roots do not matter on either side: the working folder is writable anyhow and Codex since 0.130.0
    /// drops it from the list, the memories come unasked.
    fn roots(&mut self, asked: &[String], got: &[String], silent: &[PathBuf]) {
        let set = |roots: &[String]| -> BTreeSet<PathBuf> {
            let roots = roots.iter().map(|root| lexical(root));
            roots.filter(|root| !silent.contains(root)).collect()
        };
        let (asked, got) = (set(asked), set(got));
        if asked != got {
            let wider = !got.is_subset(&asked);
            let direction = if wider { Direction::Wider } else { Direction::Narrower };
            self.add(Setting::WritableRoots, listed(&asked), listed(&got), direction);
        }
    }

    fn approvals(&mut self, asked: &ThreadSettings, got: &ThreadOpened) {
        let policy = &asked.approval_policy;
        match &got.approval_policy {
            None => self.add(Setting::ApprovalPolicy, word(policy), "nothing", Direction::Wider),
            Some(got) if got != policy => {
                let wider = asks_less(policy, got);
                let direction = if wider { Direction::Wider } else { Direction::Narrower };
                self.add(Setting::ApprovalPolicy, word(policy), word(got), direction);
            }
            Some(_) => {}
        }
        let reviewer = got.approvals_reviewer.as_deref();
        match (asked.approvals_reviewer, reviewer) {
            (ApprovalsReviewer::User, Some("user"))
            // Codex 0.130.0 takes the new word and answers with its old one.
            | (ApprovalsReviewer::AutoReview, Some("auto_review" | "guardian_subagent")) => {}
            (ApprovalsReviewer::AutoReview, Some("user")) => {
                self.add(Setting::ApprovalsReviewer, "auto_review", "user", Direction::Narrower);
            }
            (asked, got) => {
                let asked = match asked {
                    ApprovalsReviewer::User => "user",
                    ApprovalsReviewer::AutoReview => "auto_review",
                };
                let got = got.unwrap_or("nothing");
                self.add(Setting::ApprovalsReviewer, asked, got, Direction::Wider);
            }
        }
    }
}

/// Whether Codex would ask a person less often. What it does not ask it does, or in `granular` refuses; which of the
/// two is not ours to weigh.
fn asks_less(asked: &ApprovalPolicy, got: &ApprovalPolicy) -> bool {
    if let (ApprovalPolicy::Granular(asked), ApprovalPolicy::Granular(got)) = (asked, got) {
        return kinds(asked).into_iter().zip(kinds(got)).any(|(asked, got)| asked && !got);
    }
    eagerness(got) < eagerness(asked)
}

fn eagerness(policy: &ApprovalPolicy) -> u8 {
    match policy {
        ApprovalPolicy::Untrusted => 3,
        ApprovalPolicy::OnRequest => 2,
        ApprovalPolicy::Granular(_) => 1,
        ApprovalPolicy::Never | ApprovalPolicy::Other(_) => 0,
    }
}

fn kinds(granular: &GranularApproval) -> [bool; 5] {
    let GranularApproval {
        sandbox_approval,
        rules,
        skill_approval,
        request_permissions,
        mcp_elicitations,
    } = *granular;
    [sandbox_approval, rules, skill_approval, request_permissions, mcp_elicitations]
}

fn kind(policy: &SandboxPolicy) -> String {
    match policy {
        SandboxPolicy::ReadOnly { network_access: false } => "read-only".into(),
        SandboxPolicy::ReadOnly { network_access: true } => "read-only with network".into(),
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write".into(),
        SandboxPolicy::DangerFullAccess => "danger-full-access".into(),
        SandboxPolicy::ExternalSandbox { .. } => "external-sandbox".into(),
        SandboxPolicy::Other(kind) => format!("unknown sandbox `{kind}`"),
    }
}

fn word(policy: &ApprovalPolicy) -> String {
    match policy {
        ApprovalPolicy::Untrusted => "untrusted".into(),
        ApprovalPolicy::OnRequest => "on-request".into(),
        ApprovalPolicy::Never => "never".into(),
        ApprovalPolicy::Granular(granular) => {
            let names = [
                "sandbox_approval",
                "rules",
                "skill_approval",
                "request_permissions",
                "mcp_elicitations",
            ];
            let asked = names.into_iter().zip(kinds(granular)).filter(|(_, asked)| *asked);
            let asked: Vec<_> = asked.map(|(name, _)| name).collect();
            format!("granular ({})", asked.join(", "))
        }
        ApprovalPolicy::Other(word) => format!("unknown policy `{word}`"),
    }
}

fn listed(roots: &BTreeSet<PathBuf>) -> String {
    let roots: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
    if roots.is_empty() { "none".into() } else { roots.join(", ") }
}

fn memories(codex_home: &str) -> PathBuf {
    lexical(codex_home).join("memories")
}

/// As Codex writes paths in its replies: `.` and `..` are worked out in the text, links are not followed.
fn lexical(path: &str) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
