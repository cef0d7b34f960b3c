//! What a person types.

use std::io::BufRead;
use std::thread;

use tokio::sync::mpsc;

/// Nobody types ahead further than this; what comes beyond waits in the terminal.
const TYPED_AHEAD: usize = 8;

/// The lines from now on. They are read on a thread of its own, because a read from a terminal cannot be called off; the
/// thread ends with the process.
pub(crate) fn lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(TYPED_AHEAD);
    let reading = thread::Builder::new().name("typed".to_owned()).spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    if let Err(error) = reading {
        tracing::error!(%error, "cannot read what is typed");
    }
    lines
}
