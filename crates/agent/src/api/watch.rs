//! Waiting for a provider, with everything that may end the wait.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Piece;
use super::patience::{Doing, Patience};

/// Why a wait ended without what was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    Interrupted,
    Silent(String),
    Late(String),
}

/// Watches over one attempt.
pub(crate) struct Watch<'ask> {
    patience: &'ask Patience,
    context_tokens: u64,
    /// Of the whole question.
    deadline: Option<Instant>,
    hear: &'ask (dyn Fn(Piece) + Send + Sync),
    stop: &'ask CancellationToken,
    doing: Doing,
    heard_last: Instant,
    notices: u32,
}

enum Due {
    Notice,
    Silence(Duration),
    Deadline,
}

impl<'ask> Watch<'ask> {
    pub(crate) fn new(
        patience: &'ask Patience,
        context_tokens: u64,
        deadline: Option<Instant>,
        hear: &'ask (dyn Fn(Piece) + Send + Sync),
        stop: &'ask CancellationToken,
    ) -> Self {
        let (doing, heard_last) = (Doing::Nothing, Instant::now());
        Self { patience, context_tokens, deadline, hear, stop, doing, heard_last, notices: 0 }
    }

    pub(crate) fn tell(&self, pieces: Vec<Piece>) {
        pieces.into_iter().for_each(self.hear);
    }

    /// Something came, be it a keep-alive.
    pub(crate) fn heard(&mut self, doing: Doing) {
        self.doing = doing;
        self.heard_last = Instant::now();
        self.notices = 0;
    }

    /// Waits. What is waited for is dropped if the wait ends without it, so it must not mind that.
    pub(crate) async fn wait<F: Future>(&mut self, what: F) -> Result<F::Output, Ended> {
        let mut what = pin!(what);
        loop {
            // A stream that always has something ready would never let the clock have its say below.
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(self.late());
            }
            let due = self.next_due();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(Ended::Interrupted),
                output = &mut what => return Ok(output),
                () = until(due.as_ref().map(|(time, _)| *time)) => {}
            }
            match due {
                Some((_, Due::Deadline)) => return Err(self.late()),
                Some((_, Due::Silence(limit))) => return Err(self.silent(limit)),
                Some((_, Due::Notice)) => {
                    self.notices += 1;
                    let seconds = self.heard_last.elapsed().as_secs();
                    (self.hear)(Piece::Waiting { seconds });
                }
                None => {}
            }
        }
    }

    fn next_due(&self) -> Option<(Instant, Due)> {
        let silence = self.patience.silence(self.doing, self.context_tokens);
        let silence = silence.map(|limit| (self.heard_last + limit, Due::Silence(limit)));
        let deadline = self.deadline.map(|deadline| (deadline, Due::Deadline));
        let notice = self.patience.notice.map(|every| {
            (self.heard_last + every.saturating_mul(self.notices.saturating_add(1)), Due::Notice)
        });
        [silence, deadline, notice].into_iter().flatten().min_by_key(|(time, _)| *time)
    }

    fn silent(&self, limit: Duration) -> Ended {
        Ended::Silent(match self.doing {
            Doing::Nothing => format!("the provider sent nothing for {limit:?}"),
            Doing::Thinking | Doing::Writing => {
                format!("the provider fell silent in the middle of its answer, for {limit:?}")
            }
        })
    }

    fn late(&self) -> Ended {
        let total = self.patience.total.unwrap_or_default();
        Ended::Late(format!("the answer did not come within {total:?}"))
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
