//! `[daemon]`: the process in the background.

use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use crate::value::{HOUR, LogFilter, seconds};

section! {
    /// The process in the background.
    Daemon = "daemon", at;

    /// The socket that commands reach it by, also with systemd after `ostler service install`. Whoever may open it may act as
    /// you, so its folder must be yours alone; one that is not there is made.
    socket: PathBuf = at.runtime.join("daemon.sock");
    /// What it logs, on stderr or in the background to `logs/daemon.log` in the state folder: `"off"`, `"error"`, `"warn"`, `"info"`, `"debug"` or `"trace"`, also by part of the
    /// program. The variable `OSTLER_LOG` beats it.
    log: LogFilter = LogFilter::trusted("info");
    /// `ostler service install` tells systemd to restart the daemon when it has been silent for this long. Tasks go on
    /// meanwhile.
    watchdog: Option<Duration> = Some(seconds(60)), 5..=HOUR;
}
