//! Instances of every answer that together use every field and every word.

use std::collections::BTreeMap;

use ostler_codex::protocol::legacy::LegacyDecision;
use ostler_codex::protocol::permission::{
    FileSystemPermissions, NetworkPermissions, PermissionProfile,
};
use ostler_codex::protocol::reply::{
    AttestationReply, CommandReply, CurrentTimeReply, ElicitationAction, ElicitationReply,
    ElicitationReplyMeta, FileChangeDecision, FileChangeReply, LegacyReply, PermissionScope,
    PermissionsReply, Persist, TokenRefreshReply, ToolCallOutput, ToolCallReply, UserInputAnswer,
    UserInputReply,
};
use ostler_codex::protocol::server_request::{
    CommandDecision, NetworkPolicyAction, NetworkPolicyAmendment,
};
use ostler_codex::schema::reliance::Part;
use ostler_model::QuestionId;
use serde::Serialize;
use serde_json::{Value, json, to_value};

use crate::sent_instances::{Sent, text};

/// All answers, in every spelling.
pub(crate) fn answers() -> Vec<Sent> {
    let mut sent = Vec::new();
    let mut put = |method, reply: Value| {
        sent.push(Sent { part: Part::Answer, method, value: reply });
    };
    for decision in command_decisions() {
        put("item/commandExecution/requestApproval", value(&CommandReply { decision }));
    }
    for decision in [
        FileChangeDecision::Accept,
        FileChangeDecision::AcceptForSession,
        FileChangeDecision::Decline,
        FileChangeDecision::Cancel,
    ] {
        put("item/fileChange/requestApproval", value(&FileChangeReply { decision }));
    }
    for scope in [PermissionScope::Turn, PermissionScope::Session] {
        let permissions = PermissionProfile {
            network: Some(NetworkPermissions { enabled: Some(true) }),
            file_system: Some(FileSystemPermissions {
                read: vec![text()],
                write: vec![text()],
                entries: vec![serde_json::from_str("{}").unwrap()],
            }),
        };
        put("item/permissions/requestApproval", value(&PermissionsReply { permissions, scope }));
    }
    let answer = UserInputAnswer { answers: vec![text()] };
    let answers = BTreeMap::from([(QuestionId::new("q"), answer)]);
    put("item/tool/requestUserInput", value(&UserInputReply { answers }));
    for action in [ElicitationAction::Accept, ElicitationAction::Decline, ElicitationAction::Cancel]
    {
        let meta = Some(ElicitationReplyMeta { persist: Persist::Session });
        let reply = ElicitationReply { action, content: Some(json!({})), meta };
        put("mcpServer/elicitation/request", value(&reply));
    }
    let content_items = vec![
        ToolCallOutput::InputText { text: text() },
        ToolCallOutput::InputImage { image_url: text() },
    ];
    put("item/tool/call", value(&ToolCallReply { content_items, success: true }));
    put(
        "account/chatgptAuthTokens/refresh",
        value(&TokenRefreshReply {
            access_token: text(),
            chatgpt_account_id: text(),
            chatgpt_plan_type: Some(text()),
        }),
    );
    put("attestation/generate", value(&AttestationReply { token: text() }));
    put("currentTime/read", value(&CurrentTimeReply { current_time_at: 1 }));
    for decision in [
        LegacyDecision::Approved,
        LegacyDecision::ApprovedForSession,
        LegacyDecision::DeniedWord,
        LegacyDecision::Denied { rejection: text() },
        LegacyDecision::Abort,
    ] {
        put("applyPatchApproval", value(&LegacyReply { decision: decision.clone() }));
        put("execCommandApproval", value(&LegacyReply { decision }));
    }
    sent
}

fn command_decisions() -> Vec<CommandDecision> {
    let amendment = |action| CommandDecision::ApplyNetworkPolicyAmendment {
        network_policy_amendment: NetworkPolicyAmendment { host: text(), action },
    };
    vec![
        CommandDecision::Accept,
        CommandDecision::AcceptForSession,
        CommandDecision::AcceptWithExecpolicyAmendment { execpolicy_amendment: vec![text()] },
        amendment(NetworkPolicyAction::Allow),
        amendment(NetworkPolicyAction::Deny),
        CommandDecision::Decline,
        CommandDecision::Cancel,
    ]
}

fn value(reply: &impl Serialize) -> Value {
    to_value(reply).unwrap()
}
