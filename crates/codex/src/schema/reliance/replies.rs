//! The replies we read. The schema does not say which definition answers which method, so each names its own.

use super::Kind::{Any, Boolean, Integer, List, Map, Object, Text, Words};
use super::shapes::{APPROVAL_POLICY_READ, GOAL, RATE_LIMITS, SANDBOX_POLICY, TEXTS, THREAD, TURN};
use super::{Field, Message, Part, always, sometimes};
use crate::protocol::versions::{R0_130_0, R0_166_0};

const fn reply(
    method: &'static str,
    definition: &'static str,
    fields: &'static [Field],
) -> Message {
    Message { part: Part::Reply, method, fields: Some(fields), definition: Some(definition) }
}

const OPENED: &[Field] = &[
    sometimes("thread", Object(THREAD)),
    sometimes("cwd", Text),
    sometimes("model", Text),
    sometimes("modelProvider", Text),
    sometimes("reasoningEffort", Text),
    sometimes("serviceTier", Text),
    sometimes("approvalPolicy", APPROVAL_POLICY_READ),
    sometimes("approvalsReviewer", Text),
    sometimes("sandbox", SANDBOX_POLICY),
];
const ONE_THREAD: &[Field] = &[sometimes("thread", Object(THREAD))];
const NEXT: Field = sometimes("nextCursor", Text);
const BACK: Field = sometimes("backwardsCursor", Text);

const ONE_GOAL: &[Field] = &[sometimes("goal", Object(GOAL))];

pub(super) const REPLIES: &[Message] = &[
    reply(
        "initialize",
        "InitializeResponse",
        &[
            sometimes("userAgent", Text),
            sometimes("codexHome", Text),
            sometimes("platformFamily", Text),
            sometimes("platformOs", Text),
        ],
    ),
    reply("thread/start", "ThreadStartResponse", OPENED),
    reply("thread/resume", "ThreadResumeResponse", OPENED),
    reply("thread/fork", "ThreadForkResponse", OPENED),
    reply("thread/read", "ThreadReadResponse", ONE_THREAD),
    reply("thread/goal/set", "ThreadGoalSetResponse", ONE_GOAL),
    reply("thread/goal/get", "ThreadGoalGetResponse", ONE_GOAL),
    reply("thread/goal/clear", "ThreadGoalClearResponse", &[sometimes("cleared", Boolean)]),
    reply("thread/revert", "ThreadRevertResponse", ONE_THREAD),
    reply("thread/rollback", "ThreadRollbackResponse", ONE_THREAD),
    reply(
        "thread/list",
        "ThreadListResponse",
        &[sometimes("data", List(&Object(THREAD))), NEXT, BACK],
    ),
    reply("thread/loaded/list", "ThreadLoadedListResponse", &[sometimes("data", TEXTS), NEXT]),
    reply(
        "thread/turns/list",
        "ThreadTurnsListResponse",
        &[sometimes("data", List(&Object(TURN))), NEXT, BACK],
    ),
    reply(
        "thread/items/list",
        "ThreadItemsListResponse",
        &[
            sometimes(
                "data",
                List(&Object(&[
                    sometimes("turnId", Text),
                    always("item", Any),
                    sometimes("startedAtMs", Integer),
                    sometimes("completedAtMs", Integer),
                ])),
            ),
            NEXT,
            BACK,
        ],
    ),
    reply(
        "thread/unsubscribe",
        "ThreadUnsubscribeResponse",
        &[sometimes("status", Words(&["unsubscribed", "notSubscribed", "notLoaded"]))],
    ),
    reply("turn/start", "TurnStartResponse", &[sometimes("turn", Object(TURN))]),
    reply("turn/steer", "TurnSteerResponse", &[sometimes("turnId", Text)]),
    reply(
        "review/start",
        "ReviewStartResponse",
        &[sometimes("turn", Object(TURN)), sometimes("reviewThreadId", Text)],
    ),
    reply(
        "model/list",
        "ModelListResponse",
        &[
            sometimes(
                "data",
                List(&Object(&[
                    always("id", Text),
                    sometimes("model", Text),
                    sometimes("displayName", Text),
                    sometimes("description", Text),
                    sometimes("hidden", Boolean),
                    sometimes("isDefault", Boolean),
                    sometimes(
                        "supportedReasoningEfforts",
                        List(&Object(&[
                            always("reasoningEffort", Text),
                            sometimes("description", Text),
                        ])),
                    ),
                    sometimes("defaultReasoningEffort", Text),
                ])),
            ),
            NEXT,
        ],
    ),
    reply(
        "account/read",
        "GetAccountResponse",
        &[
            sometimes(
                "account",
                Object(&[
                    sometimes("type", Text),
                    sometimes("email", Text),
                    sometimes("planType", Text),
                ]),
            ),
            sometimes("requiresOpenaiAuth", Boolean),
        ],
    ),
    reply(
        "account/rateLimits/read",
        "GetAccountRateLimitsResponse",
        &[
            sometimes("rateLimits", RATE_LIMITS),
            sometimes("rateLimitsByLimitId", Map(&RATE_LIMITS)),
        ],
    ),
    reply(
        "config/read",
        "ConfigReadResponse",
        &[always("config", Any), sometimes("origins", Any), sometimes("layers", Any)],
    ),
    reply(
        "plugin/list",
        "PluginListResponse",
        &[
            sometimes(
                "marketplaces",
                List(&Object(&[
                    always("name", Text),
                    sometimes("path", Text),
                    sometimes(
                        "plugins",
                        List(&Object(&[
                            always("id", Text),
                            sometimes("name", Text),
                            sometimes("installed", Boolean),
                            sometimes("enabled", Boolean),
                            sometimes("availability", Text).since(R0_130_0),
                        ])),
                    ),
                ])),
            ),
            sometimes(
                "marketplaceLoadErrors",
                List(&Object(&[sometimes("marketplacePath", Text), sometimes("message", Text)])),
            ),
        ],
    ),
    reply(
        "permissionProfile/list",
        "PermissionProfileListResponse",
        &[sometimes("data", List(&Object(&[always("id", Text), sometimes("allowed", Boolean)])))],
    ),
    reply(
        "mcpServerStatus/list",
        "ListMcpServerStatusResponse",
        &[
            sometimes(
                "data",
                List(&Object(&[
                    always("name", Text),
                    sometimes("tools", Map(&Object(&[sometimes("name", Text)]))),
                    sometimes("toolsError", Text).since(R0_166_0),
                    sometimes("authStatus", Text),
                ])),
            ),
            sometimes("nextCursor", Text),
        ],
    ),
    reply(
        "server/diagnostics",
        "ServerDiagnosticsResponse",
        &[
            sometimes(
                "process",
                Object(&[sometimes("id", Integer), sometimes("residentMemoryBytes", Integer)]),
            ),
            sometimes(
                "gauges",
                List(&Object(&[always("name", Text), sometimes("value", Integer)])),
            ),
        ],
    ),
    reply(
        "command/exec",
        "CommandExecResponse",
        &[sometimes("exitCode", Integer), sometimes("stdout", Text), sometimes("stderr", Text)],
    ),
];
