//! The items of a turn, by kind.

use super::Kind::{Any, Boolean, Integer, List, Map, Object, Tagged, Text, Words};
use super::shapes::{COMMAND_ACTIONS, FILE_UPDATES, TEXTS};
use super::{Field, Kind, Variant, always, sometimes, variant};
use crate::protocol::versions::{R0_142_5, R0_166_0};

pub(super) const ITEM: Kind = Tagged { tag: "type", variants: ITEMS };

const ID: Field = always("id", Text);
const COMMAND_STATUS: Kind = Words(&["inProgress", "completed", "failed", "declined"]);
const CALL_STATUS: Kind = Words(&["inProgress", "completed", "failed"]);

const ITEMS: &[Variant] = &[
    variant(
        "userMessage",
        &[
            ID,
            sometimes("content", List(&USER_INPUT_READ)),
            sometimes("clientId", Text).since(R0_142_5),
        ],
    ),
    variant(
        "agentMessage",
        &[ID, sometimes("text", Text), sometimes("phase", Words(&["commentary", "final_answer"]))],
    ),
    variant("reasoning", &[ID, sometimes("summary", TEXTS), sometimes("content", TEXTS)]),
    variant("plan", &[ID, sometimes("text", Text)]),
    variant(
        "commandExecution",
        &[
            ID,
            sometimes("command", Text),
            sometimes("cwd", Text),
            sometimes("processId", Text),
            sometimes(
                "source",
                Words(&["agent", "userShell", "unifiedExecStartup", "unifiedExecInteraction"]),
            ),
            sometimes("status", COMMAND_STATUS),
            sometimes("commandActions", COMMAND_ACTIONS),
            sometimes("aggregatedOutput", Text),
            sometimes("exitCode", Integer),
            sometimes("durationMs", Integer),
        ],
    ),
    variant(
        "fileChange",
        &[ID, sometimes("changes", FILE_UPDATES), sometimes("status", COMMAND_STATUS)],
    ),
    variant(
        "mcpToolCall",
        &[
            ID,
            sometimes("server", Text),
            sometimes("tool", Text),
            sometimes("arguments", Any),
            sometimes("status", CALL_STATUS),
            sometimes(
                "result",
                Object(&[sometimes("content", List(&Any)), sometimes("structuredContent", Any)]),
            ),
            sometimes("error", Object(&[sometimes("message", Text)])),
            sometimes("durationMs", Integer),
        ],
    ),
    variant(
        "dynamicToolCall",
        &[
            ID,
            sometimes("namespace", Text),
            sometimes("tool", Text),
            sometimes("arguments", Any),
            sometimes("status", CALL_STATUS),
            sometimes("contentItems", List(&Any)),
            sometimes("success", Boolean),
            sometimes("durationMs", Integer),
        ],
    ),
    variant(
        "collabAgentToolCall",
        &[
            ID,
            sometimes("tool", Text),
            sometimes("status", CALL_STATUS),
            sometimes("senderThreadId", Text),
            sometimes("receiverThreadIds", TEXTS),
            sometimes("prompt", Text),
            sometimes("model", Text),
            sometimes(
                "agentsStates",
                Map(&Object(&[sometimes("status", Text), sometimes("message", Text)])),
            ),
        ],
    ),
    variant(
        "subAgentActivity",
        &[
            ID,
            sometimes("kind", Text),
            sometimes("agentThreadId", Text),
            sometimes("agentPath", Text),
        ],
    )
    .since(R0_142_5),
    variant(
        "webSearch",
        &[
            ID,
            sometimes("query", Text),
            sometimes(
                "action",
                Object(&[
                    sometimes("type", Text),
                    sometimes("query", Text),
                    sometimes("queries", TEXTS),
                    sometimes("url", Text),
                    sometimes("pattern", Text),
                ]),
            ),
        ],
    ),
    variant("imageView", &[ID, sometimes("path", Text)]),
    variant(
        "imageGeneration",
        &[
            ID,
            sometimes("status", Text),
            sometimes("revisedPrompt", Text),
            sometimes("savedPath", Text),
        ],
    ),
    variant("sleep", &[ID, sometimes("durationMs", Integer)]).since(R0_142_5),
    variant(
        "functionCallOutput",
        &[ID, sometimes("name", Text), sometimes("namespace", Text), sometimes("output", Any)],
    )
    .since(R0_166_0),
    variant(
        "hookPrompt",
        &[
            ID,
            sometimes(
                "fragments",
                List(&Object(&[sometimes("text", Text), sometimes("hookRunId", Text)])),
            ),
        ],
    ),
    variant("enteredReviewMode", &[ID, sometimes("review", Text)]),
    variant("exitedReviewMode", &[ID, sometimes("review", Text)]),
    variant("contextCompaction", &[ID]),
];

/// As Codex echoes it: since 0.166.0 an image may have a file id instead of its address.
const USER_INPUT_READ: Kind = Tagged {
    tag: "type",
    variants: &[
        variant("text", &[always("text", Text)]),
        variant("image", &[sometimes("url", Text)]),
        variant("localImage", &[always("path", Text)]),
        variant("skill", &[always("name", Text), always("path", Text)]),
        variant("mention", &[always("name", Text), always("path", Text)]),
    ],
};
