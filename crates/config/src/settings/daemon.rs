//! `[daemon]`: the process in the background.

use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use crate::value::{HOUR, LogFilter, seconds};

section! {
    /// The process in the background.
    Daemon = "daemon", at;

    /// The socket that commands reach it by. Whoever may open it may act as you: its folder must be yours alone.
    socket: PathBuf = at.runtime.join("daemon.sock");
    /// What it logs, on stderr: `"off"`, `"error"`, `"warn"`, `"info"`, `"debug"` or `"trace"`, also by part of the
    /// program. The variable `OSTLER_LOG` beats it.
    log: LogFilter = LogFilter::trusted("info");
    /// `ostler service install` tells systemd to restart the daemon when it has been silent for this long. Tasks go on
    /// meanwhile.
    watchdog: Option<Duration> = Some(seconds(60)), 5..=HOUR;
}
