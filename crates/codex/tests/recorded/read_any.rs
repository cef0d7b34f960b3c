//! The view of each reply, by method.

use ostler_codex::protocol::request::account::{
    AccountRateLimitsRead, AccountRead, ConfigRead, ModelList, PermissionProfileList, PluginList,
};
use ostler_codex::protocol::request::command::{
    BackgroundTerminalsClean, CommandExec, ServerDiagnostics, ThreadShellCommand,
};
use ostler_codex::protocol::request::goal::{ThreadGoalClear, ThreadGoalGet, ThreadGoalSet};
use ostler_codex::protocol::request::initialize::Initialize;
use ostler_codex::protocol::request::mcp::McpServerStatusList;
use ostler_codex::protocol::request::thread::{
    ThreadArchive, ThreadCompact, ThreadFork, ThreadInjectItems, ThreadResume, ThreadStart,
    ThreadUnsubscribe,
};
use ostler_codex::protocol::request::thread_history::{
    ThreadItemsList, ThreadList, ThreadLoadedList, ThreadRead, ThreadRevert, ThreadRollback,
    ThreadTurnsList,
};
use ostler_codex::protocol::request::turn::{ReviewStart, TurnInterrupt, TurnStart, TurnSteer};
use ostler_codex::protocol::{ClientRequest, read_reply};
use serde_json::value::RawValue;

/// Reads a reply with the view of its method, and shows what was read.
pub(crate) fn read_any(method: &str, result: &RawValue) -> Result<String, serde_json::Error> {
    fn shown<R: ClientRequest<Reply: std::fmt::Debug>>(
        result: &RawValue,
    ) -> Result<String, serde_json::Error> {
        read_reply::<R>(result).map(|reply| format!("{reply:?}"))
    }
    match method {
        "initialize" => shown::<Initialize>(result),
        "thread/start" => shown::<ThreadStart>(result),
        "thread/resume" => shown::<ThreadResume>(result),
        "thread/fork" => shown::<ThreadFork>(result),
        "thread/read" => shown::<ThreadRead>(result),
        "thread/list" => shown::<ThreadList>(result),
        "thread/loaded/list" => shown::<ThreadLoadedList>(result),
        "thread/turns/list" => shown::<ThreadTurnsList>(result),
        "thread/items/list" => shown::<ThreadItemsList>(result),
        "thread/archive" => shown::<ThreadArchive>(result),
        "thread/unsubscribe" => shown::<ThreadUnsubscribe>(result),
        "thread/compact/start" => shown::<ThreadCompact>(result),
        "thread/inject_items" => shown::<ThreadInjectItems>(result),
        "thread/backgroundTerminals/clean" => shown::<BackgroundTerminalsClean>(result),
        "thread/shellCommand" => shown::<ThreadShellCommand>(result),
        "thread/goal/set" => shown::<ThreadGoalSet>(result),
        "thread/goal/get" => shown::<ThreadGoalGet>(result),
        "thread/goal/clear" => shown::<ThreadGoalClear>(result),
        "turn/start" => shown::<TurnStart>(result),
        "turn/steer" => shown::<TurnSteer>(result),
        "turn/interrupt" => shown::<TurnInterrupt>(result),
        "review/start" => shown::<ReviewStart>(result),
        "model/list" => shown::<ModelList>(result),
        "account/rateLimits/read" => shown::<AccountRateLimitsRead>(result),
        "thread/revert" => shown::<ThreadRevert>(result),
        "thread/rollback" => shown::<ThreadRollback>(result),
        "account/read" => shown::<AccountRead>(result),
        "config/read" => shown::<ConfigRead>(result),
        "plugin/list" => shown::<PluginList>(result),
        "permissionProfile/list" => shown::<PermissionProfileList>(result),
        "mcpServerStatus/list" => shown::<McpServerStatusList>(result),
        "server/diagnostics" => shown::<ServerDiagnostics>(result),
        "command/exec" => shown::<CommandExec>(result),
        // Sent by the recorder to provoke a notification; we do not send it.
        "thread/name/set" => Ok(String::new()),
        other => panic!("no view for the reply to {other}"),
    }
}
