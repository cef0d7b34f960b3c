use std::collections::BTreeMap;
use std::time::Duration;

use ostler_model::ThreadId;
use serde_json::{Value, json, to_value};

use super::{McpServer, ThreadSettings};
use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::request::thread::{ApprovalsReviewer, DynamicTool, HistoryMode};
use crate::protocol::request::turn::ReasoningSummary;
use crate::protocol::settings::SandboxPolicy;
use crate::protocol::user_input::UserInput;

fn faults(settings: &ThreadSettings) -> Vec<String> {
    let faults = settings.check().err().map_or_else(Vec::new, |invalid| invalid.0);
    faults.iter().map(ToString::to_string).collect()
}

fn tool(name: &str) -> DynamicTool {
    DynamicTool::new(name.into(), "Blows.".into(), json!({"type": "object"}))
}

fn roots(roots: &[&str]) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: roots.iter().map(|&root| root.to_owned()).collect(),
        network_access: true,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: false,
    }
}

/// Every field set.
fn full() -> ThreadSettings {
    let server = McpServer {
        command: Some("farrier".into()),
        args: vec!["--key=hush-arg".into()],
        env: BTreeMap::from([("KEY".into(), "hush-env".into())]),
        url: None,
        startup_timeout: Some(Duration::from_millis(1500)),
        tool_timeout: Some(Duration::from_secs(9)),
    };
    let address = McpServer { url: Some("http://hush-url/".into()), ..McpServer::default() };
    ThreadSettings {
        cwd: "/stable".into(),
        sandbox: roots(&["/hay"]),
        approval_policy: ApprovalPolicy::Untrusted,
        approvals_reviewer: ApprovalsReviewer::AutoReview,
        model: Some("gpt-5.4".into()),
        model_provider: Some("scripted".into()),
        effort: Some("high".into()),
        reasoning_summary: Some(ReasoningSummary::Detailed),
        service_tier: Some("flex".into()),
        base_instructions: Some("base".into()),
        developer_instructions: Some("developer".into()),
        ephemeral: true,
        history_mode: Some(HistoryMode::Legacy),
        config: [("mcp_servers.other.enabled".to_owned(), json!("hush-config"))]
            .into_iter()
            .collect(),
        mcp_servers: BTreeMap::from([("shoe".into(), server), ("far".into(), address)]),
        dynamic_tools: vec![tool("horn")],
        trust: None,
    }
}

#[test]
fn valid_settings_have_no_faults() {
    assert_eq!(faults(&full()), Vec::<String>::new());
    assert_eq!(faults(&ThreadSettings::new("/stable")), Vec::<String>::new());
}

#[test]
fn every_fault_is_told_at_once() {
    let both = McpServer {
        command: Some("a".into()),
        url: Some("http://b".into()),
        env: BTreeMap::from([("A=B".into(), String::new())]),
        startup_timeout: Some(Duration::ZERO),
        ..McpServer::default()
    };
    let url =
        McpServer { url: Some("http://b".into()), args: vec!["x".into()], ..McpServer::default() };
    let keys = [
        "",
        "a..b",
        "model",
        "model_providers.x.name",
        "sandbox_workspace_write.network_access",
        "mcp_servers",
        "mcp_servers.both.command",
        "mcp_servers.both-of-them.command",
    ];
    let settings = ThreadSettings {
        cwd: "stable".into(),
        sandbox: roots(&["/hay", "oats", ""]),
        approval_policy: ApprovalPolicy::Other("on-failure".into()),
        model: Some(" ".into()),
        model_provider: Some(String::new()),
        effort: Some(String::new()),
        service_tier: Some(String::new()),
        config: keys.into_iter().map(|key| (key.to_owned(), json!(1))).collect(),
        mcp_servers: BTreeMap::from([
            ("both".into(), both),
            ("dot.ted".into(), McpServer::default()),
            ("url".into(), url),
        ]),
        dynamic_tools: vec![tool("horn"), tool("two words"), tool("horn")],
        ..ThreadSettings::default()
    };

    assert_eq!(
        faults(&settings),
        [
            "cwd `stable` is relative; give an absolute folder",
            "writable root `oats` is not an absolute folder",
            "writable root `` is not an absolute folder",
            "approval policy `on-failure` is not one we know; use untrusted, on-request, never or granular",
            "model is empty; leave it out or name one",
            "model provider is empty; leave it out or name one",
            "effort is empty; leave it out or name one",
            "service tier is empty; leave it out or name one",
            "config key `` is no dotted key",
            "config key `a..b` is no dotted key",
            "config key `mcp_servers` is set by `mcp_servers`; use that",
            "config key `mcp_servers.both.command` is set by `mcp_servers`; use that",
            "config key `model` is set by `model`; use that",
            "config key `sandbox_workspace_write.network_access` is set by `sandbox`; use that",
            "mcp server `both` has both a command and a url; keep one",
            "mcp server `both` has a variable whose name is empty or holds `=`",
            "mcp server `both` has a timeout of zero",
            "mcp server name `dot.ted` may hold only letters, digits, `_` and `-`",
            "mcp server `dot.ted` has neither a command nor a url; give one",
            "mcp server `url` has arguments or variables beside a url; only a command takes them",
            "tool name `two words` may hold only letters, digits, `_` and `-`",
            "tool `horn` is there twice",
        ]
    );
    let unknown = ThreadSettings {
        sandbox: SandboxPolicy::Other("brandNew".into()),
        ..ThreadSettings::default()
    };
    assert_eq!(
        unknown.check().unwrap_err().to_string(),
        "cwd is empty; give an absolute folder; sandbox `brandNew` is not one we know"
    );
}

/// What all three opening requests say.
fn shared() -> Value {
    json!({
        "cwd": "/stable",
        "model": "gpt-5.4",
        "modelProvider": "scripted",
        "serviceTier": "flex",
        "approvalPolicy": "untrusted",
        "approvalsReviewer": "auto_review",
        "sandbox": "workspace-write",
        "config": {
            "mcp_servers.other.enabled": "hush-config",
            "mcp_servers.far": {"url": "http://hush-url/"},
            "mcp_servers.shoe": {
                "command": "farrier",
                "args": ["--key=hush-arg"],
                "env": {"KEY": "hush-env"},
                "startup_timeout_sec": 1.5,
                "tool_timeout_sec": 9.0,
            },
            "model_reasoning_effort": "high",
            "model_reasoning_summary": "detailed",
            "sandbox_workspace_write.writable_roots": ["/hay"],
            "sandbox_workspace_write.network_access": true,
            "sandbox_workspace_write.exclude_tmpdir_env_var": true,
            "sandbox_workspace_write.exclude_slash_tmp": false,
            "projects": {
                "/": {"trust_level": "trusted"},
                "/stable": {"trust_level": "trusted"},
            },
        },
        "baseInstructions": "base",
        "developerInstructions": "developer",
    })
}

fn shared_and(more: Value) -> Value {
    let mut all = shared();
    let (Some(fields), Value::Object(more)) = (all.as_object_mut(), more) else {
        unreachable!("both are objects")
    };
    fields.extend(more);
    all
}

#[test]
fn every_opening_says_everything() {
    let (settings, thread) = (full(), ThreadId::new("t"));

    assert_eq!(
        [
            to_value(settings.thread_start()).unwrap(),
            to_value(settings.thread_resume(thread.clone())).unwrap(),
            to_value(settings.thread_fork(thread)).unwrap(),
        ],
        [
            shared_and(json!({
                "ephemeral": true,
                "historyMode": "legacy",
                "dynamicTools": [{
                    "type": "function",
                    "name": "horn",
                    "description": "Blows.",
                    "inputSchema": {"type": "object"},
                }],
            })),
            shared_and(json!({"threadId": "t", "excludeTurns": true})),
            shared_and(json!({"threadId": "t", "excludeTurns": true, "ephemeral": true})),
        ]
    );
}

#[test]
fn a_turn_says_what_a_turn_can() {
    let turn = full().turn_start(ThreadId::new("t"), vec![UserInput::Text("hi".into())]);

    assert_eq!(
        to_value(turn).unwrap(),
        json!({
            "threadId": "t",
            "input": [{"type": "text", "text": "hi"}],
            "cwd": "/stable",
            "approvalPolicy": "untrusted",
            "approvalsReviewer": "auto_review",
            "sandboxPolicy": {
                "type": "workspaceWrite",
                "writableRoots": ["/hay"],
                "networkAccess": true,
                "excludeTmpdirEnvVar": true,
                "excludeSlashTmp": false,
            },
            "model": "gpt-5.4",
            "effort": "high",
            "summary": "detailed",
            "serviceTier": "flex",
        })
    );
}

#[test]
fn what_only_turns_can_widen_is_opened_read_only() {
    let modes = [
        SandboxPolicy::ReadOnly { network_access: true },
        SandboxPolicy::ExternalSandbox { network_access: true },
        SandboxPolicy::DangerFullAccess,
    ]
    .map(|sandbox| {
        let settings = ThreadSettings { sandbox, ..ThreadSettings::new("/stable") };
        to_value(settings.thread_start()).unwrap()["sandbox"].clone()
    });

    assert_eq!(modes, ["read-only", "read-only", "danger-full-access"]);
}

#[test]
fn secrets_are_not_shown() {
    let (settings, thread) = (full(), ThreadId::new("t"));

    for shown in [
        format!("{settings:?}"),
        format!("{:?}", settings.thread_start()),
        format!("{:?}", settings.thread_resume(thread.clone())),
        format!("{:?}", settings.thread_fork(thread)),
    ] {
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains("mcp_servers.other.enabled"), "{shown}");
    }
}
