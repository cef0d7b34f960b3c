//! Whether the other side is gone, asked while we do not read.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::time::{Instant, sleep_until};

/// How often it is asked, and only while events wait for a reader: soon enough for a person, rare enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks for a hang-up on a transport that offers a handle for it.
#[derive(Debug)]
pub(crate) struct HangUp {
    fd: Option<OwnedFd>,
    next_look: Instant,
}

impl HangUp {
    pub(crate) fn new(fd: Option<OwnedFd>) -> Self {
        Self { fd, next_look: Instant::now() }
    }

    /// Returns when the other side is gone; never, if that cannot be seen. May be dropped and called again.
    pub(crate) async fn seen(&mut self) {
        let Some(fd) = &self.fd else { return std::future::pending().await };
        loop {
            sleep_until(self.next_look).await;
            self.next_look = Instant::now() + LOOK_EVERY;
            let mut asked = [PollFd::new(fd, PollFlags::RDHUP)];
            // No waiting: the answer is known at once. A failed look is no hang-up; the reader will see what is wrong.
            let looked = poll(&mut asked, Some(&Timespec::default()));
            let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
            if looked.is_ok() && asked.iter().any(|asked| asked.revents().intersects(gone)) {
                return;
            }
        }
    }
}
