//! Shapes that several messages carry.

use super::Kind::{Any, Boolean, Either, Integer, List, Object, Tagged, Text, Words};
use super::{Field, Kind, always, sometimes, variant};
use crate::protocol::versions::{R0_130_0, R0_142_5, R0_166_0};

pub(super) const TEXTS: Kind = List(&Text);

pub(super) const GOAL: &[Field] = &[
    sometimes("objective", Text),
    sometimes(
        "status",
        Words(&["active", "paused", "blocked", "usageLimited", "budgetLimited", "complete"]),
    ),
    sometimes("tokenBudget", Integer),
    sometimes("tokensUsed", Integer),
    sometimes("timeUsedSeconds", Integer),
];

pub(super) const SANDBOX_POLICY: Kind = Tagged {
    tag: "type",
    variants: &[
        variant("dangerFullAccess", &[]),
        variant("readOnly", &[sometimes("networkAccess", Boolean)]),
        variant(
            "externalSandbox",
            &[sometimes("networkAccess", Words(&["restricted", "enabled"]))],
        ),
        variant(
            "workspaceWrite",
            &[
                sometimes("writableRoots", TEXTS),
                sometimes("networkAccess", Boolean),
                sometimes("excludeTmpdirEnvVar", Boolean),
                sometimes("excludeSlashTmp", Boolean),
            ],
        ),
    ],
};

pub(super) const APPROVAL_POLICY: Kind = Either(&[
    Words(&["untrusted", "on-request", "never"]),
    Object(&[always(
        "granular",
        Object(&[
            always("sandbox_approval", Boolean),
            always("rules", Boolean),
            always("skill_approval", Boolean),
            always("request_permissions", Boolean),
            always("mcp_elicitations", Boolean),
        ]),
    )]),
]);

/// The same policy as Codex writes it, where the later two flags may be missing.
pub(super) const APPROVAL_POLICY_READ: Kind = Either(&[
    Words(&["untrusted", "on-request", "never"]),
    Object(&[sometimes(
        "granular",
        Object(&[
            sometimes("sandbox_approval", Boolean),
            sometimes("rules", Boolean),
            sometimes("skill_approval", Boolean),
            sometimes("request_permissions", Boolean),
            sometimes("mcp_elicitations", Boolean),
        ]),
    )]),
]);

pub(super) const APPROVALS_REVIEWER: Kind = Words(&["user", "auto_review"]);

pub(super) const USER_INPUT: Kind = Tagged {
    tag: "type",
    variants: &[
        variant("text", &[always("text", Text)]),
        variant("image", &[always("url", Text)]),
        variant("localImage", &[always("path", Text)]),
        variant("skill", &[always("name", Text), always("path", Text)]),
        variant("mention", &[always("name", Text), always("path", Text)]),
    ],
};

pub(super) const THREAD: &[Field] = &[
    sometimes("id", Text),
    sometimes("sessionId", Text).since(R0_130_0),
    sometimes("status", THREAD_STATUS),
    sometimes("name", Text),
    sometimes("preview", Text),
    sometimes("cwd", Text),
    sometimes("path", Text),
    sometimes("ephemeral", Boolean),
    sometimes("modelProvider", Text),
    sometimes("historyMode", Text).since(R0_166_0),
    sometimes("cliVersion", Text),
    sometimes("createdAt", Integer),
    sometimes("updatedAt", Integer),
    sometimes("forkedFromId", Text),
    sometimes("parentThreadId", Text).since(R0_142_5),
    sometimes("agentNickname", Text),
    sometimes("agentRole", Text),
    sometimes("source", Any),
    sometimes("turns", List(&Object(TURN))),
];

pub(super) const THREAD_STATUS: Kind = Object(&[
    always("type", Words(&["notLoaded", "idle", "active", "systemError"])),
    sometimes("activeFlags", List(&Words(&["waitingOnApproval", "waitingOnUserInput"]))),
]);

pub(super) const TURN: &[Field] = &[
    sometimes("id", Text),
    sometimes("status", Words(&["inProgress", "completed", "interrupted", "failed"])),
    sometimes("error", Object(TURN_ERROR)),
    sometimes("startedAt", Integer),
    sometimes("completedAt", Integer),
    sometimes("durationMs", Integer),
    sometimes("itemsView", Words(&["notLoaded", "summary", "full"])).since(R0_130_0),
    sometimes("items", List(&Any)),
];

pub(super) const TURN_ERROR: &[Field] = &[
    sometimes("message", Text),
    sometimes("codexErrorInfo", ERROR_CLASS),
    sometimes("additionalDetails", Text),
];

const ERROR_CLASS: Kind = Either(&[
    Words(&[
        "contextWindowExceeded",
        "usageLimitExceeded",
        "serverOverloaded",
        "internalServerError",
        "unauthorized",
        "badRequest",
        "sandboxError",
    ]),
    Object(&[sometimes("httpConnectionFailed", HTTP_STATUS)]),
    Object(&[sometimes("responseStreamConnectionFailed", HTTP_STATUS)]),
    Object(&[sometimes("responseStreamDisconnected", HTTP_STATUS)]),
    Object(&[sometimes("responseTooManyFailedAttempts", HTTP_STATUS)]),
    Object(&[sometimes("activeTurnNotSteerable", Object(&[sometimes("turnKind", Text)]))]),
]);

const HTTP_STATUS: Kind = Object(&[sometimes("httpStatusCode", Integer)]);

pub(super) const TOKEN_USAGE: Kind = Object(&[
    sometimes("total", TOKEN_COUNT),
    sometimes("last", TOKEN_COUNT),
    sometimes("modelContextWindow", Integer),
]);

const TOKEN_COUNT: Kind = Object(&[
    sometimes("totalTokens", Integer),
    sometimes("inputTokens", Integer),
    sometimes("cachedInputTokens", Integer),
    sometimes("cacheWriteInputTokens", Integer).since(R0_166_0),
    sometimes("outputTokens", Integer),
    sometimes("reasoningOutputTokens", Integer),
]);

pub(super) const RATE_LIMITS: Kind = Object(&[
    sometimes("limitId", Text),
    sometimes("limitName", Text),
    sometimes("planType", Text),
    sometimes("primary", RATE_LIMIT_WINDOW),
    sometimes("secondary", RATE_LIMIT_WINDOW),
    sometimes(
        "credits",
        Object(&[
            sometimes("hasCredits", Boolean),
            sometimes("unlimited", Boolean),
            sometimes("balance", Text),
        ]),
    ),
    sometimes("rateLimitReachedType", Text),
]);

const RATE_LIMIT_WINDOW: Kind = Object(&[
    sometimes("usedPercent", Integer),
    sometimes("windowDurationMins", Integer),
    sometimes("resetsAt", Integer),
]);

pub(super) const PERMISSION_PROFILE: Kind = Object(&[
    sometimes("network", Object(&[sometimes("enabled", Boolean)])),
    sometimes(
        "fileSystem",
        Object(&[
            sometimes("read", TEXTS),
            sometimes("write", TEXTS),
            sometimes("entries", List(&Any)),
        ]),
    ),
]);

pub(super) const COMMAND_ACTIONS: Kind = List(&Object(&[
    sometimes("type", Text),
    sometimes("command", Text),
    sometimes("name", Text),
    sometimes("path", Text),
    sometimes("query", Text),
]));

pub(super) const FILE_UPDATES: Kind = List(&Object(&[
    sometimes("path", Text),
    sometimes(
        "kind",
        Object(&[
            sometimes("type", Words(&["add", "delete", "update"])),
            sometimes("move_path", Text),
        ]),
    ),
    sometimes("diff", Text),
]));
