//! What can be wrong about settings that are each right by themselves.

use crate::config::Config;
use crate::source::Source;

/// What a socket's address has room for on Linux: `sun_path` has 108 bytes, the last is 0.
const SOCKET_PATH_LIMIT_BYTES: usize = 107;

pub(crate) fn check(config: &Config, source: &mut Source<'_, '_>) {
    let length = config.daemon.socket.as_os_str().len();
    if length > SOCKET_PATH_LIMIT_BYTES {
        let message = format!(
            "has {length} bytes, and the system takes {SOCKET_PATH_LIMIT_BYTES} for a socket"
        );
        source.complain("daemon", "socket", &message, "write a shorter path");
    }
    if config.limits.running_per_pool > config.limits.running {
        let message = format!("is more than limits.running, which is {}", config.limits.running);
        source.complain(
            "limits",
            "running_per_pool",
            &message,
            "lower it, or raise limits.running",
        );
    }
}
