//! The requests we send.

use super::Kind::{Any, Between, Boolean, Either, Integer, List, Map, Object, Tagged, Text, Words};
use super::shapes::{APPROVAL_POLICY, APPROVALS_REVIEWER, SANDBOX_POLICY, TEXTS, USER_INPUT};
use super::{Field, Kind, Message, Part, always, sometimes, variant};
use crate::protocol::versions::{Known, R0_130_0, R0_142_5};

const fn asked(method: &'static str, fields: &'static [Field]) -> Message {
    Message { part: Part::Request, method, fields: Some(fields), definition: None }
}

const THREAD_ID: Field = always("threadId", Text);
const SANDBOX_MODE: Kind = Words(&["read-only", "workspace-write", "danger-full-access"]);
const SORT_DIRECTION: Field = sometimes("sortDirection", Words(&["asc", "desc"]));
const CURSOR: Field = sometimes("cursor", Text);
const LIMIT: Field = sometimes("limit", Integer);
// Settings that `thread/start`, `thread/resume` and `thread/fork` share.
const CWD: Field = sometimes("cwd", Text);
const MODEL: Field = sometimes("model", Text);
const MODEL_PROVIDER: Field = sometimes("modelProvider", Text);
const SERVICE_TIER: Field = sometimes("serviceTier", Text);
const POLICY: Field = sometimes("approvalPolicy", APPROVAL_POLICY);
const REVIEWER: Field = sometimes("approvalsReviewer", APPROVALS_REVIEWER);
const SANDBOX: Field = sometimes("sandbox", SANDBOX_MODE);
const PERMISSIONS: Field = sometimes(
    "permissions",
    Either(&[
        Between(
            Known { since: R0_130_0, last: Some(R0_130_0) },
            &Object(&[always("type", Words(&["profile"])), always("id", Text)]),
        ),
        Between(Known::since(R0_142_5), &Text),
    ]),
);
const CONFIG: Field = sometimes("config", Map(&Any));
const BASE_INSTRUCTIONS: Field = sometimes("baseInstructions", Text);
const DEVELOPER_INSTRUCTIONS: Field = sometimes("developerInstructions", Text);

pub(super) const REQUESTS: &[Message] = &[
    asked(
        "initialize",
        &[
            always(
                "clientInfo",
                Object(&[always("name", Text), sometimes("title", Text), always("version", Text)]),
            ),
            always(
                "capabilities",
                Object(&[
                    always("experimentalApi", Boolean),
                    sometimes("optOutNotificationMethods", TEXTS),
                ]),
            ),
        ],
    ),
    asked(
        "thread/start",
        &[
            CWD,
            MODEL,
            MODEL_PROVIDER,
            SERVICE_TIER,
            POLICY,
            REVIEWER,
            SANDBOX,
            PERMISSIONS,
            CONFIG,
            BASE_INSTRUCTIONS,
            DEVELOPER_INSTRUCTIONS,
            sometimes("ephemeral", Boolean),
            sometimes("historyMode", Words(&["legacy", "paginated"])),
            sometimes("dynamicTools", List(&DYNAMIC_TOOL)),
        ],
    ),
    asked(
        "thread/resume",
        &[
            THREAD_ID,
            always("excludeTurns", Boolean),
            CWD,
            MODEL,
            MODEL_PROVIDER,
            SERVICE_TIER,
            POLICY,
            REVIEWER,
            SANDBOX,
            PERMISSIONS,
            CONFIG,
            BASE_INSTRUCTIONS,
            DEVELOPER_INSTRUCTIONS,
        ],
    ),
    asked(
        "thread/fork",
        &[
            THREAD_ID,
            always("excludeTurns", Boolean),
            sometimes("lastTurnId", Text),
            always("ephemeral", Boolean),
            CWD,
            MODEL,
            MODEL_PROVIDER,
            SERVICE_TIER,
            POLICY,
            REVIEWER,
            SANDBOX,
            PERMISSIONS,
            CONFIG,
            BASE_INSTRUCTIONS,
            DEVELOPER_INSTRUCTIONS,
        ],
    ),
    asked(
        "thread/goal/set",
        &[
            THREAD_ID,
            sometimes("objective", Text),
            always("status", Words(&["active", "paused"])),
            sometimes("tokenBudget", Integer),
        ],
    ),
    asked("thread/goal/get", &[THREAD_ID]),
    asked("thread/goal/clear", &[THREAD_ID]),
    asked("thread/read", &[THREAD_ID, always("includeTurns", Boolean)]),
    asked(
        "thread/list",
        &[
            CURSOR,
            LIMIT,
            sometimes("sortKey", Words(&["created_at", "updated_at"])),
            SORT_DIRECTION,
            sometimes("modelProviders", TEXTS),
            sometimes(
                "sourceKinds",
                List(&Words(&[
                    "cli",
                    "vscode",
                    "exec",
                    "appServer",
                    "subAgent",
                    "subAgentReview",
                    "subAgentCompact",
                    "subAgentThreadSpawn",
                    "subAgentOther",
                    "unknown",
                ])),
            ),
            sometimes("archived", Boolean),
            CWD,
            sometimes("searchTerm", Text),
            sometimes("parentThreadId", Text),
        ],
    ),
    asked("thread/loaded/list", &[CURSOR, LIMIT]),
    asked("thread/archive", &[THREAD_ID]),
    asked("thread/unsubscribe", &[THREAD_ID]),
    asked("thread/backgroundTerminals/clean", &[THREAD_ID]),
    asked(
        "thread/turns/list",
        &[
            THREAD_ID,
            CURSOR,
            LIMIT,
            SORT_DIRECTION,
            sometimes("itemsView", Words(&["notLoaded", "summary", "full"])),
        ],
    ),
    asked(
        "thread/items/list",
        &[THREAD_ID, sometimes("turnId", Text), CURSOR, LIMIT, SORT_DIRECTION],
    ),
    asked("thread/compact/start", &[THREAD_ID]),
    asked("thread/inject_items", &[THREAD_ID, always("items", List(&Any))]),
    asked("thread/revert", &[THREAD_ID, always("beforeTurnId", Text)]),
    asked("thread/rollback", &[THREAD_ID, always("numTurns", Integer)]),
    asked(
        "thread/shellCommand",
        &[THREAD_ID, always("command", Text), sometimes("timeoutMs", Integer)],
    ),
    asked(
        "turn/start",
        &[
            THREAD_ID,
            always("input", List(&USER_INPUT)),
            sometimes("clientUserMessageId", Text),
            CWD,
            POLICY,
            REVIEWER,
            sometimes("sandboxPolicy", SANDBOX_POLICY),
            PERMISSIONS,
            MODEL,
            sometimes("effort", Text),
            sometimes("summary", Words(&["auto", "concise", "detailed", "none"])),
            SERVICE_TIER,
            sometimes("outputSchema", Any),
            sometimes(
                "collaborationMode",
                Object(&[
                    always("mode", Words(&["default", "plan"])),
                    always(
                        "settings",
                        Object(&[always("model", Text), sometimes("reasoning_effort", Text)]),
                    ),
                ]),
            ),
        ],
    ),
    asked(
        "turn/steer",
        &[
            THREAD_ID,
            always("expectedTurnId", Text),
            always("input", List(&USER_INPUT)),
            sometimes("clientUserMessageId", Text),
        ],
    ),
    asked("turn/interrupt", &[THREAD_ID, always("turnId", Text)]),
    asked("review/start", &[THREAD_ID, always("target", REVIEW_TARGET)]),
    asked("model/list", &[CURSOR, LIMIT, sometimes("includeHidden", Boolean)]),
    asked("account/read", &[always("refreshToken", Boolean)]),
    Message {
        part: Part::Request,
        method: "account/rateLimits/read",
        fields: None,
        definition: None,
    },
    asked("config/read", &[always("includeLayers", Boolean), CWD]),
    asked("plugin/list", &[sometimes("cwds", TEXTS)]),
    asked("permissionProfile/list", &[]),
    asked("mcpServerStatus/list", &[CURSOR, LIMIT]),
    asked("server/diagnostics", &[]),
    asked(
        "command/exec",
        &[
            always("command", TEXTS),
            CWD,
            sometimes("env", Map(&Text)),
            sometimes("timeoutMs", Integer),
            sometimes("outputBytesCap", Integer),
            sometimes("sandboxPolicy", SANDBOX_POLICY),
        ],
    ),
];

const DYNAMIC_TOOL: Kind = Object(&[
    always("type", Words(&["function"])).since(R0_142_5),
    always("name", Text),
    always("description", Text),
    always("inputSchema", Any),
]);

const REVIEW_TARGET: Kind = Tagged {
    tag: "type",
    variants: &[
        variant("uncommittedChanges", &[]),
        variant("baseBranch", &[always("branch", Text)]),
        variant("commit", &[always("sha", Text), sometimes("title", Text)]),
        variant("custom", &[always("instructions", Text)]),
    ],
};
