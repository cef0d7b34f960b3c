//! The requests of Codex that we read, and the answers we send.

use super::Kind::{Any, Between, Boolean, Either, Integer, List, Map, Object, Tagged, Text, Words};
use super::shapes::{COMMAND_ACTIONS, PERMISSION_PROFILE, TEXTS};
use super::{Field, Kind, Message, Part, always, sometimes, variant};
use crate::protocol::versions::{Known, R0_125_0, R0_142_5, R0_166_0};

const fn asks(method: &'static str, fields: &'static [Field]) -> Message {
    Message { part: Part::ServerRequest, method, fields: Some(fields), definition: None }
}

const fn answer(
    method: &'static str,
    definition: &'static str,
    fields: &'static [Field],
) -> Message {
    Message { part: Part::Answer, method, fields: Some(fields), definition: Some(definition) }
}

const THREAD_ID: Field = sometimes("threadId", Text);
const TURN_ID: Field = sometimes("turnId", Text);
const ITEM_ID: Field = sometimes("itemId", Text);
const NETWORK_AMENDMENT: Kind =
    Object(&[always("host", Text), always("action", Words(&["allow", "deny"]))]);

const COMMAND_DECISION: Kind = Either(&[
    Words(&["accept", "acceptForSession", "decline", "cancel"]),
    Object(&[always(
        "acceptWithExecpolicyAmendment",
        Object(&[always("execpolicy_amendment", TEXTS)]),
    )]),
    Object(&[always(
        "applyNetworkPolicyAmendment",
        Object(&[always("network_policy_amendment", NETWORK_AMENDMENT)]),
    )]),
]);

pub(super) const SERVER_REQUESTS: &[Message] = &[
    asks(
        "item/commandExecution/requestApproval",
        &[
            THREAD_ID,
            TURN_ID,
            ITEM_ID,
            sometimes("approvalId", Text),
            sometimes("kind", Words(&["command", "writeStdin"])).since(R0_166_0),
            sometimes("command", Text),
            sometimes("cwd", Text),
            sometimes("reason", Text),
            sometimes("commandActions", COMMAND_ACTIONS),
            sometimes(
                "networkApprovalContext",
                Object(&[sometimes("host", Text), sometimes("protocol", Text)]),
            ),
            sometimes("additionalPermissions", PERMISSION_PROFILE),
            sometimes("proposedExecpolicyAmendment", TEXTS),
            sometimes("proposedNetworkPolicyAmendments", List(&NETWORK_AMENDMENT)),
            sometimes("availableDecisions", List(&COMMAND_DECISION)),
        ],
    ),
    asks(
        "item/fileChange/requestApproval",
        &[THREAD_ID, TURN_ID, ITEM_ID, sometimes("reason", Text), sometimes("grantRoot", Text)],
    ),
    asks(
        "item/permissions/requestApproval",
        &[
            THREAD_ID,
            TURN_ID,
            ITEM_ID,
            sometimes("cwd", Text),
            sometimes("reason", Text),
            sometimes("permissions", PERMISSION_PROFILE),
        ],
    ),
    asks(
        "item/tool/requestUserInput",
        &[
            THREAD_ID,
            TURN_ID,
            ITEM_ID,
            sometimes(
                "questions",
                List(&Object(&[
                    always("id", Text),
                    sometimes("header", Text),
                    sometimes("question", Text),
                    sometimes("isOther", Boolean),
                    sometimes("isSecret", Boolean),
                    sometimes(
                        "options",
                        List(&Object(&[always("label", Text), sometimes("description", Text)])),
                    ),
                ])),
            ),
            sometimes("autoResolutionMs", Integer).since(R0_142_5),
        ],
    ),
    asks(
        "mcpServer/elicitation/request",
        &[
            THREAD_ID,
            TURN_ID,
            sometimes("serverName", Text),
            sometimes("mode", Words(&["form", "url"])),
            sometimes("message", Text),
            sometimes("requestedSchema", Any),
            sometimes("url", Text),
            // What it holds is no part of the schema; the recorded lines guard it.
            sometimes("_meta", Any),
        ],
    ),
    asks(
        "item/tool/call",
        &[
            THREAD_ID,
            TURN_ID,
            sometimes("callId", Text),
            sometimes("namespace", Text),
            sometimes("tool", Text),
            sometimes("arguments", Any),
        ],
    ),
    asks(
        "account/chatgptAuthTokens/refresh",
        &[sometimes("reason", Text), sometimes("previousAccountId", Text)],
    ),
    asks("attestation/generate", &[]),
    asks("currentTime/read", &[THREAD_ID]),
    asks(
        "applyPatchApproval",
        &[
            sometimes("conversationId", Text),
            sometimes("callId", Text),
            sometimes(
                "fileChanges",
                Map(&Object(&[
                    sometimes("type", Words(&["add", "delete", "update"])),
                    sometimes("content", Text),
                    sometimes("unified_diff", Text),
                    sometimes("move_path", Text),
                ])),
            ),
            sometimes("reason", Text),
            sometimes("grantRoot", Text),
        ],
    ),
    asks(
        "execCommandApproval",
        &[
            sometimes("conversationId", Text),
            sometimes("callId", Text),
            sometimes("approvalId", Text),
            sometimes("command", TEXTS),
            sometimes("cwd", Text),
            sometimes("reason", Text),
        ],
    ),
];

const LEGACY_DECISION: Kind = Either(&[
    Words(&["approved", "approved_for_session", "abort"]),
    Between(Known { since: R0_125_0, last: Some(R0_142_5) }, &Words(&["denied"])),
    Between(
        Known::since(R0_166_0),
        &Object(&[always("denied", Object(&[always("rejection", Text)]))]),
    ),
]);

pub(super) const ANSWERS: &[Message] = &[
    answer(
        "item/commandExecution/requestApproval",
        "CommandExecutionRequestApprovalResponse",
        &[always("decision", COMMAND_DECISION)],
    ),
    answer(
        "item/fileChange/requestApproval",
        "FileChangeRequestApprovalResponse",
        &[always("decision", Words(&["accept", "acceptForSession", "decline", "cancel"]))],
    ),
    answer(
        "item/permissions/requestApproval",
        "PermissionsRequestApprovalResponse",
        &[always("permissions", PERMISSION_PROFILE), always("scope", Words(&["turn", "session"]))],
    ),
    answer(
        "item/tool/requestUserInput",
        "ToolRequestUserInputResponse",
        &[always("answers", Map(&Object(&[always("answers", TEXTS)])))],
    ),
    answer(
        "mcpServer/elicitation/request",
        "McpServerElicitationRequestResponse",
        &[
            always("action", Words(&["accept", "decline", "cancel"])),
            always("content", Any),
            always("_meta", Any),
        ],
    ),
    answer(
        "item/tool/call",
        "DynamicToolCallResponse",
        &[always("contentItems", List(&TOOL_OUTPUT)), always("success", Boolean)],
    ),
    answer(
        "account/chatgptAuthTokens/refresh",
        "ChatgptAuthTokensRefreshResponse",
        &[
            always("accessToken", Text),
            always("chatgptAccountId", Text),
            sometimes("chatgptPlanType", Text),
        ],
    ),
    answer("attestation/generate", "AttestationGenerateResponse", &[always("token", Text)]),
    answer("currentTime/read", "CurrentTimeReadResponse", &[always("currentTimeAt", Integer)]),
    answer(
        "applyPatchApproval",
        "ApplyPatchApprovalResponse",
        &[always("decision", LEGACY_DECISION)],
    ),
    answer(
        "execCommandApproval",
        "ExecCommandApprovalResponse",
        &[always("decision", LEGACY_DECISION)],
    ),
];

const TOOL_OUTPUT: Kind = Tagged {
    tag: "type",
    variants: &[
        variant("inputText", &[always("text", Text)]),
        variant("inputImage", &[always("imageUrl", Text)]),
    ],
};
