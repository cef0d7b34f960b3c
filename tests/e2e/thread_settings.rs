//! Settings reach Codex: what the model is sent, and what the sandbox then lets a command do.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use ostler_codex::account::{Models, all_models, read_account, read_rate_limits};
use ostler_codex::protocol::Notification;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::account::ModelList;
use ostler_codex::protocol::request::thread::{DynamicTool, HistoryMode};
use ostler_codex::protocol::request::turn::ReasoningSummary;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::words::{McpServerState, TurnStatus};
use ostler_codex::thread::settings::{McpServer, ThreadSettings};
use ostler_model::ThreadId;
use ostler_scripted_model::{Conversation, Script};
use ostler_testkit::{Client, Stage};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{command, text};

/// Makes the model try every door.
const TRY: &str = "try every door";

/// Says `+door` for each that is open. The workspace's neighbours are reached by relative paths.
const DOORS: &str = "(touch inside) 2>/dev/null && echo +inside; \
    (touch ../hay/x) 2>/dev/null && echo +hay; \
    (touch ../codex-home/memories/x) 2>/dev/null && echo +memories; \
    (touch /tmp/ostler-door-$(cat port)) 2>/dev/null && echo +tmp; \
    (exec 3<>/dev/tcp/127.0.0.1/$(cat port)) 2>/dev/null && echo +network; \
    true";

/// A world whose model answers anything, and tries the doors when told so.
pub(crate) fn world(version: &str) -> Stage {
    let trying =
        Conversation { prompt: TRY.to_owned(), answers: vec![command(DOORS), text("Tried.")] };
    let script = Script {
        conversations: vec![trying],
        fallback: Some(text("As you wish.")),
        ..Script::default()
    };
    let stage =
        Stage::set(env!("CARGO_BIN_EXE_ostler"), env!("CARGO_TARGET_TMPDIR"), version, script)
            .unwrap();
    fs::write(stage.workspace().join("port"), stage.model().port().to_string()).unwrap();
    fs::create_dir(stage.workspace().with_file_name("hay")).unwrap();
    stage
}

/// Read-only in the workspace, never asking.
pub(crate) fn quiet(stage: &Stage) -> ThreadSettings {
    ThreadSettings {
        approval_policy: ApprovalPolicy::Never,
        ..ThreadSettings::new(stage.workspace().display().to_string())
    }
}

pub(crate) fn writable(stage: &Stage) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: vec![stage.workspace().with_file_name("hay").display().to_string()],
        network_access: true,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    }
}

/// One turn under the settings, to its end.
pub(crate) async fn turn(
    client: &mut Client,
    thread: &ThreadId,
    settings: &ThreadSettings,
    prompt: &str,
) {
    let input = vec![UserInput::Text(prompt.to_owned())];
    client.server.call(&settings.turn_start(thread.clone(), input)).await.unwrap();
    let ended = client.turn_end(thread).await.unwrap();
    assert_eq!(ended.status, Some(TurnStatus::Completed), "{ended:?}");
}

/// What the model was sent last.
pub(crate) fn last_request(stage: &Stage) -> Value {
    stage.model().requests().last().unwrap().json()
}

/// The doors that the last command found open.
fn open_doors(stage: &Stage) -> Vec<String> {
    let request = last_request(stage);
    let mut outputs = request.pointer("/input").and_then(Value::as_array).unwrap().iter();
    let output = outputs.rfind(|item| item["type"] == "function_call_output").unwrap();
    let words = output["output"].as_str().unwrap().split_whitespace();
    words.filter(|word| word.starts_with('+')).map(str::to_owned).collect()
}

async fn doors(client: &mut Client, stage: &Stage, settings: &ThreadSettings) -> Vec<String> {
    let opened = client.server.start_thread(settings).await.unwrap();
    assert_eq!(opened.differences, []);
    turn(client, &opened.id, settings, TRY).await;
    open_doors(stage)
}

#[rstest]
#[tokio::test]
async fn every_setting_arrives(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let stage = world(version);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let note = stage.workspace().join("mcp.txt");
    fs::write(stage.workspace().join("STABLE.md"), "Hay is in the loft.").unwrap();
    let server = McpServer {
        command: Some("sh".to_owned()),
        args: vec![
            "-c".into(),
            format!("echo \"$KEY $1\" > {}; sleep 60", note.display()),
            "sh".into(),
            "oats".into(),
        ],
        env: BTreeMap::from([("KEY".into(), "value".into())]),
        // It never answers, but it must have come to write its note.
        startup_timeout: Some(Duration::from_secs(15)),
        tool_timeout: Some(Duration::from_secs(5)),
        ..McpServer::default()
    };
    let horn = DynamicTool::new(
        "horn".into(),
        "Blows.".into(),
        json!({"type": "object", "properties": {}}),
    );
    let settings = ThreadSettings {
        sandbox: writable(&stage),
        model: Some("gpt-5.4".into()),
        model_provider: Some("scripted".into()),
        effort: Some("high".into()),
        reasoning_summary: Some(ReasoningSummary::Detailed),
        service_tier: Some("flex".into()),
        base_instructions: Some("You are a horse.".into()),
        developer_instructions: Some("Mind the oats.".into()),
        history_mode: Some(HistoryMode::Legacy),
        config: [("project_doc_fallback_filenames".to_owned(), json!(["STABLE.md"]))]
            .into_iter()
            .collect(),
        mcp_servers: BTreeMap::from([("farrier".into(), server)]),
        dynamic_tools: vec![horn],
        ..quiet(&stage)
    };

    let opened = client.server.start_thread(&settings).await.unwrap();
    let told: Vec<_> = opened.differences.iter().map(ToString::to_string).collect();
    // The catalogue of 0.142.5 has no such tier for this model.
    let dropped: &[&str] =
        if version == "0.142.5" { &["service tier: asked flex, got nothing"] } else { &[] };
    assert_eq!(told, dropped);
    assert_eq!(
        (opened.model.as_deref(), opened.effort.as_deref()),
        (Some("gpt-5.4"), Some("high"))
    );
    assert_eq!(opened.active_turn, None);
    let history = opened.reply.thread.history_mode.as_deref();
    assert_eq!(history, (version == "0.166.0").then_some("legacy"));
    client
        .until("the end of the MCP server's time", |notification| {
            matches!(notification, Notification::McpServerStatusUpdated(update)
                if update.status == Some(McpServerState::Failed)
                    && update.error.as_ref().is_some_and(|error| error.contains("timed out after 15 seconds")))
        })
        .await
        .unwrap();
    assert_eq!(fs::read_to_string(note).unwrap(), "value oats\n");

    turn(&mut client, &opened.id, &settings, TRY).await;
    let request = last_request(&stage);
    assert_eq!(request["model"], "gpt-5.4");
    assert_eq!(request["reasoning"], json!({"effort": "high", "summary": "detailed"}));
    let from_config = messages(&request, "user").concat();
    assert!(from_config.contains("Hay is in the loft."), "{from_config}");
    let tier = if version == "0.142.5" { Value::Null } else { json!("flex") };
    assert_eq!(request["service_tier"], tier);
    let developer: Vec<_> = messages(&request, "developer");
    // Since 0.166.0 the base instructions are the first message of the developer.
    let base = [request["instructions"].as_str().unwrap_or_default(), developer[0].as_str()];
    assert!(base.contains(&"You are a horse."), "{base:?}");
    assert!(developer.iter().any(|text| text.contains("Mind the oats.")), "{developer:?}");
    let tools = request["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "horn"), "{tools:?}");
    assert_eq!(open_doors(&stage), ["+inside", "+hay", "+network"]);
    client.close().await;
}

/// The texts of all messages of this role.
fn messages(request: &Value, role: &str) -> Vec<String> {
    let input = request.pointer("/input").and_then(Value::as_array).unwrap().iter();
    let parts =
        input.filter(|item| item["role"] == role).flat_map(|item| item["content"].as_array());
    parts.flatten().filter_map(|part| part["text"].as_str()).map(str::to_owned).collect()
}

#[rstest]
#[tokio::test]
async fn the_sandbox_is_as_wide_as_asked(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let stage = world(version);
    let hay = stage.workspace().with_file_name("hay");
    // The home would open everything; what is not asked for stays closed all the same.
    let config = stage.codex_home().join("config.toml");
    let mut toml = fs::read_to_string(&config).unwrap();
    toml.push_str(&format!(
        "\n[sandbox_workspace_write]\nwritable_roots = [{hay:?}]\nnetwork_access = true\n"
    ));
    fs::write(&config, toml).unwrap();
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let plain = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    };
    let external = SandboxPolicy::ExternalSandbox { network_access: true };
    // In a checkout below /tmp everything of this world is there; Codex's own memories are once Codex has made a folder for them.
    let is_below_tmp = hay.starts_with("/tmp");
    let plain_doors = match is_below_tmp {
        true => vec!["+inside", "+hay", "+tmp"],
        false => vec!["+inside", "+tmp"],
    };
    let cases = [
        (SandboxPolicy::ReadOnly { network_access: false }, vec![]),
        (SandboxPolicy::ReadOnly { network_access: true }, vec!["+network"]),
        (plain, plain_doors),
        (writable(&stage), vec!["+inside", "+hay", "+network"]),
    ];
    for (sandbox, expected) in cases {
        let settings = ThreadSettings { sandbox: sandbox.clone(), ..quiet(&stage) };
        let mut open = doors(&mut client, &stage, &settings).await;
        open.retain(|door| !(is_below_tmp && expected.contains(&"+tmp") && door == "+memories"));
        assert_eq!(open, expected, "{sandbox:?}");
    }
    for sandbox in [SandboxPolicy::DangerFullAccess, external] {
        let settings = ThreadSettings { sandbox: sandbox.clone(), ..quiet(&stage) };
        let open = doors(&mut client, &stage, &settings).await;
        for door in ["+inside", "+hay", "+tmp", "+network"] {
            assert!(open.iter().any(|open| open == door), "{sandbox:?}: {open:?}");
        }
    }
    fs::remove_file(format!("/tmp/ostler-door-{}", stage.model().port())).unwrap();
    client.close().await;
}

#[rstest]
#[tokio::test]
async fn all_models_are_listed_and_the_account_is_read(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = world(version);
    let codex = stage.codex().await.unwrap();
    let client = stage.client(&codex).await.unwrap();

    for (which, include_hidden) in [(Models::Offered, false), (Models::WithHidden, true)] {
        let mut one_by_one = Vec::new();
        let mut cursor = None;
        loop {
            let page = ModelList { cursor, limit: Some(1), include_hidden: Some(include_hidden) };
            let page = client.server.call(&page).await.unwrap();
            one_by_one.extend(page.data);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert!(one_by_one.iter().any(|model| model.id == "gpt-5.5"), "{one_by_one:?}");
        assert!(one_by_one.len() > 2, "{one_by_one:?}");
        assert_eq!(all_models(&client.server, which).await.unwrap(), one_by_one);
    }
    let account = read_account(&client.server).await.unwrap();
    assert_eq!((account.account, account.requires_openai_auth), (None, false));
    let refused = read_rate_limits(&client.server).await.unwrap_err().to_string();
    assert!(refused.contains("authentication required to read rate limits"), "{refused}");
    client.close().await;
}
