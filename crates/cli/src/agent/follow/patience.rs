//! How long a daemon that has gone away is looked for.

use std::time::Duration;

use tokio::time::Instant;

/// How long it may be away: it is back within seconds after a restart, and within a minute after an update.
const AWAY: Duration = Duration::from_secs(60);

/// Counts from the moment at which the daemon went, not from its last word: a turn may be silent for hours.
#[derive(Debug)]
pub(super) struct Patience {
    gone_since: Instant,
    /// It has said something since it was last missed.
    is_there: bool,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { gone_since: Instant::now(), is_there: false }
    }

    /// A line came, whatever it tells.
    pub(super) fn heard(&mut self) {
        self.is_there = true;
    }

    /// It cannot be reached, or no longer. Whether it is worth looking again.
    pub(super) fn missed(&mut self) -> bool {
        if std::mem::take(&mut self.is_there) {
            self.gone_since = Instant::now();
        }
        self.gone_since.elapsed() < AWAY
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    async fn after(seconds: u64, patience: &mut Patience) -> bool {
        advance(Duration::from_secs(seconds)).await;
        patience.missed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_is_looked_for_from_the_moment_at_which_it_went() {
        let mut patience = Patience::new();
        assert!(after(59, &mut patience).await, "it was never there, and may be starting");
        assert!(!after(1, &mut patience).await);

        // It came back, and its log had nothing new for an hour before it was restarted.
        let mut patience = Patience::new();
        patience.heard();
        assert!(after(3600, &mut patience).await);
        assert!(after(59, &mut patience).await);
        assert!(!after(1, &mut patience).await);
        patience.heard();
        assert!(after(3600, &mut patience).await, "and so on, as often as it comes back");
    }
}
