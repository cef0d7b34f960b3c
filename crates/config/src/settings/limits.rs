//! `[limits]`: how much runs at once.

use std::time::Duration;

use crate::section::section;
use crate::value::{DAY, GIBIBYTE, MEBIBYTE, Size, minutes, seconds};

section! {
    /// How much runs at once. What is beyond a limit waits; only `queued` refuses.
    Limits = "limits", _at;

    /// The tasks that work at the same time. The default is low because the commands of all tasks share this machine;
    /// app-servers by themselves bear hundreds.
    running: u32 = 8, 1..=10_000;
    /// The tasks of one pool that work at the same time. A pool is what can share app-servers: one Codex version, one
    /// home, one account, one environment.
    running_per_pool: u32 = 8, 1..=10_000;
    /// The tasks that may wait for their turn. A start beyond that is refused.
    queued: u32 = 10_000, 1..=1_000_000;
    /// The threads in one app-server; past that another one is started. A loaded thread takes about 2 MB.
    threads_per_app_server: u32 = 50, 1..=1_000;
    /// How long an app-server without a loaded thread is kept.
    idle_app_server: Duration = minutes(5), 1..=7 * DAY;
    /// How long a thread stays loaded after its turn has ended, so that a follow-up is quick.
    idle_thread: Duration = seconds(60), 1..=DAY;
    /// The memory of one app-server, without the commands that it runs. One that has more takes no further task, and is
    /// replaced when its turns have ended. The default is six times what 100 running tasks were measured to take.
    memory_per_app_server: Option<Size> = Some(Size::from_bytes(2 * GIBIBYTE)), 256 * MEBIBYTE..=1024 * GIBIBYTE;
    /// The files that one app-server may have open. Many shells give 1024, which 50 threads with their commands and MCP
    /// servers can use up. It is lowered to what the system allows.
    open_files_per_app_server: u32 = 4096, 256..=1_048_576;
}
