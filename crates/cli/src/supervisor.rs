//! The service manager's line to us: `sd_notify(3)` and `sd_watchdog_enabled(3)`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Whoever started us and wants to know how we are; perhaps nobody.
#[derive(Debug)]
pub(crate) struct Supervisor {
    line: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// A line that cannot be opened is logged and done without: the work does not depend on it.
    pub(crate) fn find(environment: &[(OsString, OsString)]) -> Self {
        let variable = |name: &str| {
            let found = environment.iter().find(|(candidate, _)| candidate == name);
            found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
        };
        let line = variable("NOTIFY_SOCKET").and_then(|path| {
            open(path)
                .inspect_err(|error| tracing::warn!(%error, "the service manager cannot be told"))
                .ok()
        });
        let number =
            |name| variable(name).and_then(OsStr::to_str).and_then(|text| text.parse().ok());
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|limit| *limit > 0 && is_ours);
        let watchdog = watchdog.filter(|_| line.is_some()).map(Duration::from_micros);
        Self { line, watchdog }
    }

    pub(crate) fn is_there(&self) -> bool {
        self.line.is_some()
    }

    /// How long we may be silent before we are taken for dead.
    pub(crate) fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    pub(crate) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}\nMAINPID={}", std::process::id()));
    }

    pub(crate) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"));
    }

    pub(crate) fn stopping(&self, status: &str) {
        self.tell(&format!("STOPPING=1\nSTATUS={status}"));
    }

    pub(crate) fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    fn tell(&self, words: &str) {
        if let Some((socket, address)) = &self.line
            && let Err(error) = socket.send_to_addr(words.as_bytes(), address)
        {
            tracing::warn!(%error, "the service manager was not told");
        }
    }
}

/// A path, or a name without a file that begins with `@`.
fn open(path: &OsStr) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    let socket = UnixDatagram::unbound()?;
    // A manager that does not read must not hold us up.
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}
