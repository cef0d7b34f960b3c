//! Whoever tries keys that are none is let try only so many.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::secret::{Digest, Secret};

/// A person who pastes the wrong thing does so a few times; whoever guesses needs more.
const MOST: usize = 20;
const WITHIN: Duration = Duration::from_secs(60);

/// Addresses that are remembered. Past it the oldest go: to be forgotten early needs a thousand addresses.
const ADDRESSES: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<IpAddr, Tried>>);

#[derive(Debug)]
struct Tried {
    since: Instant,
    /// Each once: a program whose token has ended shows the same one again and again, guesses nothing by it, and must learn that
    /// the token is the trouble.
    wrong: Vec<Digest>,
}

impl Failures {
    /// Whether this was tried in vain from there a moment ago.
    pub(crate) fn knows(&self, from: IpAddr, tried: &Secret) -> bool {
        let digest = tried.digest();
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = all.get(&from).filter(|tried| tried.since.elapsed() < WITHIN);
        recent.is_some_and(|tried| tried.wrong.iter().any(|known| known.is(&digest)))
    }

    /// Remembers what was tried in vain; how long to wait if that is one too many.
    pub(crate) fn note(&self, from: IpAddr, tried: &Secret) -> Option<Duration> {
        let digest = tried.digest();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|_, tried| now.duration_since(tried.since) < WITHIN);
        if all.len() >= ADDRESSES
            && !all.contains_key(&from)
            && let Some(oldest) = all.iter().min_by_key(|(_, tried)| tried.since).map(|(ip, _)| *ip)
        {
            all.remove(&oldest);
        }
        let tried = all.entry(from).or_insert(Tried { since: now, wrong: Vec::new() });
        if tried.wrong.iter().any(|known| known.is(&digest)) {
            return None;
        }
        if tried.wrong.len() < MOST {
            tried.wrong.push(digest);
            return None;
        }
        tried.wait()
    }
}

impl Tried {
    fn wait(&self) -> Option<Duration> {
        WITHIN.checked_sub(self.since.elapsed()).filter(|wait| !wait.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_so_many_guesses_an_address_waits_and_no_other() {
        let failures = Failures::default();
        let (one, other) = ([127, 0, 0, 1].into(), [10, 0, 0, 1].into());
        let guess = |number: usize| Secret::given(&number.to_string());
        for _ in 0..2 * MOST {
            assert_eq!(failures.note(one, &guess(0)), None);
        }
        for number in 1..MOST {
            assert_eq!(failures.note(one, &guess(number)), None);
        }
        assert_eq!(failures.note(one, &guess(MOST)), Some(WITHIN));
        // What is known to be wrong is said to be wrong.
        assert_eq!(failures.note(one, &guess(0)), None);
        assert_eq!(failures.note(other, &guess(MOST)), None);
        tokio::time::advance(WITHIN).await;
        assert_eq!(failures.note(one, &guess(MOST)), None);
    }
}
