//! Instances of every request that together use every field and every word.

use std::collections::BTreeMap;

use ostler_codex::protocol::approval_policy::{ApprovalPolicy, GranularApproval};
use ostler_codex::protocol::request::account::{
    AccountRateLimitsRead, AccountRead, ConfigRead, ModelList, PermissionProfileList, PluginList,
};
use ostler_codex::protocol::request::command::{
    BackgroundTerminalsClean, CommandExec, ServerDiagnostics, ThreadShellCommand,
};
use ostler_codex::protocol::request::goal::{ThreadGoalClear, ThreadGoalGet, ThreadGoalSet};
use ostler_codex::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use ostler_codex::protocol::request::mcp::McpServerStatusList;
use ostler_codex::protocol::request::thread::{
    ApprovalsReviewer, DynamicTool, HistoryMode, ThreadArchive, ThreadCompact, ThreadFork,
    ThreadInjectItems, ThreadResume, ThreadStart, ThreadUnsubscribe,
};
use ostler_codex::protocol::request::thread_history::{
    ItemsView, SortDirection, ThreadItemsList, ThreadList, ThreadLoadedList, ThreadRead,
    ThreadRevert, ThreadRollback, ThreadSortKey, ThreadSourceKind, ThreadTurnsList,
};
use ostler_codex::protocol::request::turn::{
    CollaborationMode, CollaborationSettings, Mode, ReasoningSummary, ReviewStart, ReviewTarget,
    TurnInterrupt, TurnStart, TurnSteer,
};
use ostler_codex::protocol::settings::{SandboxMode, SandboxPolicy};
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::{ClientRequest, CodexVersion, prepare};
use ostler_codex::schema::reliance::Part;
use ostler_model::{GoalChange, ThreadId, TurnId};
use serde_json::{Value, json};

/// One message as it would go out.
pub(crate) struct Sent {
    pub(crate) part: Part,
    pub(crate) method: &'static str,
    pub(crate) value: Value,
}

/// All requests that this version takes.
pub(crate) fn requests(version: &str) -> Vec<Sent> {
    let mut sent = Outbox { version: CodexVersion::parse(version).unwrap(), sent: Vec::new() };
    openings(&mut sent);
    histories(&mut sent);
    goals(&mut sent);
    turns(&mut sent);
    sent.put(&Initialize {
        client_info: ClientInfo { name: text(), title: Some(text()), version: text() },
        capabilities: Capabilities {
            experimental_api: true,
            opt_out_notification_methods: vec![text()],
        },
    });
    sent.put(&AccountRead { refresh_token: true });
    sent.put(&AccountRateLimitsRead);
    sent.put(&ModelList { cursor: Some(text()), limit: Some(1), include_hidden: Some(true) });
    sent.put(&ConfigRead { include_layers: true, cwd: Some(text()) });
    sent.put(&PluginList { cwds: Some(vec![text()]) });
    sent.put(&PermissionProfileList {});
    sent.put(&McpServerStatusList { cursor: Some(text()), limit: Some(1) });
    sent.put(&ServerDiagnostics {});
    for policy in sandbox_policies() {
        sent.put(&CommandExec {
            cwd: Some(text()),
            env: BTreeMap::from([(text(), Some(text()))]),
            timeout_ms: Some(1),
            output_bytes_cap: Some(1),
            sandbox_policy: Some(policy),
            ..CommandExec::new(vec![text()])
        });
    }
    sent.sent
}

/// Collects what one version takes; what it does not take is refused by `prepare` and stays out.
struct Outbox {
    version: CodexVersion,
    sent: Vec<Sent>,
}

impl Outbox {
    fn put<R: ClientRequest>(&mut self, request: &R) {
        if let Ok(raw) = prepare(request, &self.version) {
            let value = serde_json::from_str(raw.get()).unwrap();
            self.sent.push(Sent { part: Part::Request, method: R::METHOD, value });
        }
    }
}

fn openings(sent: &mut Outbox) {
    let reviewers = [ApprovalsReviewer::User, ApprovalsReviewer::AutoReview];
    let sandboxes =
        [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess];
    let modes = [HistoryMode::Legacy, HistoryMode::Paginated];
    for (index, policy) in approval_policies().into_iter().enumerate() {
        let reviewer = Some(reviewers[index % 2]);
        let sandbox = Some(sandboxes[index % 3]);
        // Only versions that take a profile are given one, so that the others are still tested with the rest.
        for permissions in [None, Some(text())] {
            let start = ThreadStart {
                cwd: Some(text()),
                model: Some(text()),
                model_provider: Some(text()),
                service_tier: Some(text()),
                approval_policy: Some(policy.clone()),
                approvals_reviewer: reviewer,
                sandbox,
                permissions: permissions.clone(),
                config: Some([(text(), json!(1))].into_iter().collect()),
                base_instructions: Some(text()),
                developer_instructions: Some(text()),
                ephemeral: Some(true),
                history_mode: Some(modes[index % 2]),
                dynamic_tools: Some(vec![DynamicTool::new(text(), text(), json!({}))]),
            };
            for last_turn_id in [None, Some(TurnId::new("u"))] {
                sent.put(&ThreadFork {
                    thread_id: thread(),
                    exclude_turns: true,
                    last_turn_id,
                    ephemeral: true,
                    cwd: start.cwd.clone(),
                    model: start.model.clone(),
                    model_provider: start.model_provider.clone(),
                    service_tier: start.service_tier.clone(),
                    approval_policy: start.approval_policy.clone(),
                    approvals_reviewer: start.approvals_reviewer,
                    sandbox: start.sandbox,
                    permissions: permissions.clone(),
                    config: start.config.clone(),
                    base_instructions: start.base_instructions.clone(),
                    developer_instructions: start.developer_instructions.clone(),
                });
            }
            sent.put(&ThreadResume {
                thread_id: thread(),
                exclude_turns: true,
                cwd: start.cwd.clone(),
                model: start.model.clone(),
                model_provider: start.model_provider.clone(),
                service_tier: start.service_tier.clone(),
                approval_policy: start.approval_policy.clone(),
                approvals_reviewer: start.approvals_reviewer,
                sandbox: start.sandbox,
                permissions,
                config: start.config.clone(),
                base_instructions: start.base_instructions.clone(),
                developer_instructions: start.developer_instructions.clone(),
            });
            sent.put(&start);
        }
    }
}

fn goals(sent: &mut Outbox) {
    let set = GoalChange::Set { objective: text(), token_budget: Some(1) };
    for change in [set, GoalChange::Pause, GoalChange::Resume] {
        sent.put(&ThreadGoalSet::of(thread(), &change).unwrap());
    }
    sent.put(&ThreadGoalGet { thread_id: thread() });
    sent.put(&ThreadGoalClear { thread_id: thread() });
}

fn histories(sent: &mut Outbox) {
    sent.put(&ThreadRead { thread_id: thread(), include_turns: true });
    let directions = [SortDirection::Asc, SortDirection::Desc];
    let keys = [ThreadSortKey::CreatedAt, ThreadSortKey::UpdatedAt];
    for (sort_direction, sort_key) in directions.into_iter().zip(keys) {
        for parent_thread_id in [None, Some(thread())] {
            sent.put(&ThreadList {
                cursor: Some(text()),
                limit: Some(1),
                sort_key: Some(sort_key),
                sort_direction: Some(sort_direction),
                model_providers: Some(vec![text()]),
                source_kinds: Some(source_kinds()),
                archived: Some(true),
                cwd: Some(text()),
                search_term: Some(text()),
                parent_thread_id,
            });
        }
        for view in [ItemsView::NotLoaded, ItemsView::Summary, ItemsView::Full] {
            sent.put(&ThreadTurnsList {
                thread_id: thread(),
                cursor: Some(text()),
                limit: Some(1),
                sort_direction: Some(sort_direction),
                items_view: Some(view),
            });
        }
        sent.put(&ThreadItemsList {
            thread_id: thread(),
            turn_id: Some(TurnId::new("u")),
            cursor: Some(text()),
            limit: Some(1),
            sort_direction: Some(sort_direction),
        });
    }
    sent.put(&ThreadLoadedList { cursor: Some(text()), limit: Some(1) });
    sent.put(&ThreadArchive { thread_id: thread() });
    sent.put(&ThreadUnsubscribe { thread_id: thread() });
    sent.put(&BackgroundTerminalsClean { thread_id: thread() });
    sent.put(&ThreadCompact { thread_id: thread() });
    sent.put(&ThreadInjectItems { thread_id: thread(), items: vec![json!({"type": "message"})] });
    sent.put(&ThreadRevert { thread_id: thread(), before_turn_id: TurnId::new("u") });
    sent.put(&ThreadRollback { thread_id: thread(), num_turns: 1 });
}

fn turns(sent: &mut Outbox) {
    let input = vec![
        UserInput::Text(text()),
        UserInput::Image { url: text() },
        UserInput::LocalImage { path: text() },
        UserInput::Skill { name: text(), path: text() },
        UserInput::Mention { name: text(), path: text() },
    ];
    let summaries = [
        ReasoningSummary::Auto,
        ReasoningSummary::Concise,
        ReasoningSummary::Detailed,
        ReasoningSummary::None,
    ];
    let reviewers = [ApprovalsReviewer::User, ApprovalsReviewer::AutoReview];
    let policies = approval_policies();
    for (index, sandbox) in sandbox_policies().into_iter().enumerate() {
        let (policy, summary) = (&policies[index % 4], summaries[index % 4]);
        for permissions in [None, Some(text())] {
            sent.put(&TurnStart {
                thread_id: thread(),
                input: input.clone(),
                client_user_message_id: Some(text()),
                cwd: Some(text()),
                approval_policy: Some(policy.clone()),
                approvals_reviewer: Some(reviewers[index % 2]),
                sandbox_policy: Some(sandbox.clone()),
                permissions,
                model: Some(text()),
                effort: Some(text()),
                summary: Some(summary),
                service_tier: Some(text()),
                output_schema: Some(json!({})),
                collaboration_mode: Some(CollaborationMode {
                    mode: [Mode::Plan, Mode::Default][index % 2],
                    settings: CollaborationSettings {
                        model: text(),
                        reasoning_effort: Some(text()),
                    },
                }),
            });
        }
    }
    sent.put(&TurnSteer {
        thread_id: thread(),
        expected_turn_id: TurnId::new("u"),
        input,
        client_user_message_id: Some(text()),
    });
    sent.put(&TurnInterrupt { thread_id: thread(), turn_id: TurnId::new("u") });
    for target in [
        ReviewTarget::UncommittedChanges,
        ReviewTarget::BaseBranch { branch: text() },
        ReviewTarget::Commit { sha: text(), title: Some(text()) },
        ReviewTarget::Custom { instructions: text() },
    ] {
        sent.put(&ReviewStart { thread_id: thread(), target });
    }
    sent.put(&ThreadShellCommand { thread_id: thread(), command: text(), timeout_ms: Some(1) });
}

fn approval_policies() -> [ApprovalPolicy; 4] {
    [
        ApprovalPolicy::Untrusted,
        ApprovalPolicy::OnRequest,
        ApprovalPolicy::Never,
        ApprovalPolicy::Granular(GranularApproval::default()),
    ]
}

/// Every policy; the network of an external sandbox has two words.
fn sandbox_policies() -> Vec<SandboxPolicy> {
    vec![
        SandboxPolicy::DangerFullAccess,
        SandboxPolicy::ReadOnly { network_access: true },
        SandboxPolicy::ExternalSandbox { network_access: true },
        SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![text()],
            network_access: true,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        },
        SandboxPolicy::ExternalSandbox { network_access: false },
    ]
}

fn source_kinds() -> Vec<ThreadSourceKind> {
    vec![
        ThreadSourceKind::Cli,
        ThreadSourceKind::Vscode,
        ThreadSourceKind::Exec,
        ThreadSourceKind::AppServer,
        ThreadSourceKind::SubAgent,
        ThreadSourceKind::SubAgentReview,
        ThreadSourceKind::SubAgentCompact,
        ThreadSourceKind::SubAgentThreadSpawn,
        ThreadSourceKind::SubAgentOther,
        ThreadSourceKind::Unknown,
    ]
}

pub(crate) fn text() -> String {
    "text".to_owned()
}

fn thread() -> ThreadId {
    ThreadId::new("t")
}
