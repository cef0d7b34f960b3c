//! Our own words for whoever looks for a fault: `OSTLER_LOG=debug ostler …`, on stderr. A command logs nothing without it; the
//! daemon says what it does.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use ostler_codex::keeper::{LogLimit, RotatingLog};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::failure::{Exit, Failure};
use crate::places;

const VARIABLE: &str = "OSTLER_LOG";

/// A daemon says a line per start, stop and fault; this holds years of them, or some hours at `debug`.
const DAEMON_LOG: LogLimit = LogLimit { file_bytes: 4 * 1024 * 1024, files: 3 };

/// Where the daemon's words go.
#[derive(Debug)]
pub(crate) enum DaemonLog {
    Stderr,
    /// What does not come through the log (a panic) still goes to stderr, which is the same file until it is rotated.
    File(PathBuf),
}

pub(crate) fn start() -> Result<(), Failure> {
    if let Some(targets) = wanted()? {
        begin(targets, io::stderr);
    }
    Ok(())
}

/// `level` is what the settings say, where the variable says nothing.
pub(crate) fn start_daemon(log: DaemonLog, level: &str) -> Result<(), Failure> {
    let usual = || level.parse().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO));
    let targets = wanted()?.unwrap_or_else(usual);
    match log {
        DaemonLog::Stderr => begin(targets, io::stderr),
        DaemonLog::File(path) => {
            begin(targets, Mutex::new(Words(RotatingLog::new(path, DAEMON_LOG))));
        }
    }
    Ok(())
}

fn wanted() -> Result<Option<Targets>, Failure> {
    let Some(wanted) = places::variable(VARIABLE) else { return Ok(None) };
    wanted.to_string_lossy().parse().map(Some).map_err(|error| {
        Failure::new(Exit::Usage, format!("{VARIABLE} cannot be read: {error}"))
            .hint("use a level such as debug, or targets such as ostler_codex::peer=trace")
    })
}

fn begin(targets: Targets, writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(false)
        // It would tell of a stderr that cannot be written on that very stderr, and panic.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(lines).with(targets).init();
}

struct Words(RotatingLog);

impl io::Write for Words {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
