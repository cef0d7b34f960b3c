//! The notifications we read.

use super::Kind::{Boolean, Either, Integer, List, Object, Tagged, Text, Words};
use super::items::ITEM;
use super::shapes::{
    APPROVAL_POLICY_READ, FILE_UPDATES, GOAL, RATE_LIMITS, SANDBOX_POLICY, TEXTS, THREAD,
    THREAD_STATUS, TOKEN_USAGE, TURN, TURN_ERROR,
};
use super::{Field, Message, Part, always, sometimes, variant};
use crate::protocol::versions::{R0_130_0, R0_142_5, R0_166_0};

const fn told(method: &'static str, fields: &'static [Field]) -> Message {
    Message { part: Part::Notification, method, fields: Some(fields), definition: None }
}

const THREAD_ID: Field = always("threadId", Text);
const TURN_ID: Field = sometimes("turnId", Text);
const ITEM_ID: Field = always("itemId", Text);
const DELTA: &[Field] = &[THREAD_ID, TURN_ID, ITEM_ID, always("delta", Text)];

const AUTO_REVIEW: &[Field] = &[
    THREAD_ID,
    TURN_ID,
    always("reviewId", Text),
    sometimes("targetItemId", Text),
    sometimes(
        "review",
        Object(&[
            sometimes(
                "status",
                Words(&["inProgress", "approved", "denied", "timedOut", "aborted"]),
            ),
            sometimes("rationale", Text),
            sometimes("riskLevel", Text),
        ]),
    ),
    sometimes(
        "action",
        Tagged {
            tag: "type",
            variants: &[
                variant("command", &[sometimes("command", Text)]),
                variant("execve", &[sometimes("argv", TEXTS)]),
                variant("writeStdin", &[sometimes("stdin", Text)]).since(R0_166_0),
                variant("applyPatch", &[sometimes("files", TEXTS)]),
                variant("networkAccess", &[sometimes("target", Text)]),
                variant("mcpToolCall", &[sometimes("server", Text), sometimes("toolName", Text)]),
                variant("requestPermissions", &[sometimes("reason", Text)]),
            ],
        },
    ),
];

pub(super) const NOTIFICATIONS: &[Message] = &[
    told("thread/started", &[sometimes("thread", Object(THREAD))]),
    told("thread/status/changed", &[THREAD_ID, sometimes("status", THREAD_STATUS)]),
    told("thread/closed", &[THREAD_ID]),
    told("thread/archived", &[THREAD_ID]),
    told("thread/tokenUsage/updated", &[THREAD_ID, TURN_ID, sometimes("tokenUsage", TOKEN_USAGE)]),
    told(
        "thread/settings/updated",
        &[
            THREAD_ID,
            sometimes(
                "threadSettings",
                Object(&[
                    sometimes("cwd", Text),
                    sometimes("model", Text),
                    sometimes("modelProvider", Text),
                    sometimes("effort", Text),
                    sometimes("summary", Text),
                    sometimes("serviceTier", Text),
                    sometimes("approvalPolicy", APPROVAL_POLICY_READ),
                    sometimes("approvalsReviewer", Text),
                    sometimes("sandboxPolicy", SANDBOX_POLICY),
                ]),
            ),
        ],
    ),
    told("thread/compacted", &[THREAD_ID, TURN_ID]),
    told("thread/name/updated", &[THREAD_ID, sometimes("threadName", Text)]),
    told("thread/goal/updated", &[THREAD_ID, sometimes("goal", Object(GOAL))]),
    told("thread/goal/cleared", &[THREAD_ID]),
    told("item/autoApprovalReview/started", AUTO_REVIEW),
    told("item/autoApprovalReview/completed", AUTO_REVIEW),
    told("turn/started", &[THREAD_ID, sometimes("turn", Object(TURN))]),
    told("turn/completed", &[THREAD_ID, sometimes("turn", Object(TURN))]),
    told("turn/diff/updated", &[THREAD_ID, TURN_ID, always("diff", Text)]),
    told(
        "turn/plan/updated",
        &[
            THREAD_ID,
            TURN_ID,
            sometimes("explanation", Text),
            sometimes(
                "plan",
                List(&Object(&[
                    sometimes("step", Text),
                    sometimes("status", Words(&["pending", "inProgress", "completed"])),
                ])),
            ),
        ],
    ),
    told(
        "item/started",
        &[
            THREAD_ID,
            TURN_ID,
            always("item", ITEM),
            sometimes("startedAtMs", Integer).since(R0_130_0),
        ],
    ),
    told(
        "item/completed",
        &[
            THREAD_ID,
            TURN_ID,
            always("item", ITEM),
            sometimes("completedAtMs", Integer).since(R0_130_0),
        ],
    ),
    told("item/agentMessage/delta", DELTA),
    told(
        "item/reasoning/textDelta",
        &[THREAD_ID, TURN_ID, ITEM_ID, always("delta", Text), sometimes("contentIndex", Integer)],
    ),
    told(
        "item/reasoning/summaryTextDelta",
        &[THREAD_ID, TURN_ID, ITEM_ID, always("delta", Text), sometimes("summaryIndex", Integer)],
    ),
    told(
        "item/reasoning/summaryPartAdded",
        &[THREAD_ID, TURN_ID, ITEM_ID, sometimes("summaryIndex", Integer)],
    ),
    told("item/plan/delta", DELTA),
    told("item/commandExecution/outputDelta", DELTA),
    told(
        "item/commandExecution/terminalInteraction",
        &[THREAD_ID, TURN_ID, ITEM_ID, sometimes("processId", Text), sometimes("stdin", Text)],
    ),
    told("item/fileChange/outputDelta", DELTA),
    told(
        "item/fileChange/patchUpdated",
        &[THREAD_ID, TURN_ID, ITEM_ID, sometimes("changes", FILE_UPDATES)],
    ),
    told("item/mcpToolCall/progress", &[THREAD_ID, TURN_ID, ITEM_ID, sometimes("message", Text)]),
    told(
        "mcpServer/startupStatus/updated",
        &[
            sometimes("threadId", Text).since(R0_142_5),
            always("name", Text),
            sometimes("status", Words(&["starting", "ready", "failed", "cancelled"])),
            sometimes("error", Text),
            sometimes("failureReason", Text).since(R0_166_0),
        ],
    ),
    told(
        "serverRequest/resolved",
        &[sometimes("threadId", Text), always("requestId", Either(&[Text, Integer]))],
    ),
    told(
        "error",
        &[
            sometimes("threadId", Text),
            TURN_ID,
            sometimes("error", Object(TURN_ERROR)),
            sometimes("willRetry", Boolean),
        ],
    ),
    told("warning", &[sometimes("threadId", Text), sometimes("message", Text)]),
    told(
        "configWarning",
        &[sometimes("summary", Text), sometimes("details", Text), sometimes("path", Text)],
    ),
    told("deprecationNotice", &[sometimes("summary", Text), sometimes("details", Text)]),
    told("account/rateLimits/updated", &[sometimes("rateLimits", RATE_LIMITS)]),
    told("account/updated", &[sometimes("authMode", Text), sometimes("planType", Text)]),
    told(
        "account/login/completed",
        &[sometimes("loginId", Text), sometimes("success", Boolean), sometimes("error", Text)],
    ),
    told(
        "model/rerouted",
        &[
            sometimes("threadId", Text),
            TURN_ID,
            sometimes("fromModel", Text),
            sometimes("toModel", Text),
            sometimes("reason", Text),
        ],
    ),
];
