//! One-time codes, by which a browser logs in. They live in memory only: after a restart a new one is made.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::secret::{Digest, Secret};

/// From `ostler open` to the page that asks: a second. A person who carries the link to another browser has some minutes.
pub(crate) const LIVES: Duration = Duration::from_secs(5 * 60);

/// Codes that wait. More are wanted only by a program that asks for ever; then the oldest goes.
const MOST: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Codes(Mutex<Vec<Waiting>>);

#[derive(Debug)]
struct Waiting {
    digest: Digest,
    until: Instant,
    /// Who logs in by it.
    name: String,
}

impl Codes {
    pub(crate) fn make(&self, name: String) -> io::Result<Secret> {
        let code = Secret::new("")?;
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MOST {
            waiting.remove(0);
        }
        waiting.push(Waiting { digest: code.digest(), until: Instant::now() + LIVES, name });
        Ok(code)
    }

    /// Whether it counts. It goes on to do so.
    pub(crate) fn counts(&self, given: &Secret) -> bool {
        let (digest, now) = (given.digest(), Instant::now());
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().any(|code| code.until > now && code.digest.is(&digest))
    }

    /// Who logs in by this code. It is used up by that.
    pub(crate) fn take(&self, given: &Secret) -> Option<String> {
        let digest = given.digest();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        waiting.retain(|code| code.until > now);
        let found = waiting.iter().position(|code| code.digest.is(&digest))?;
        Some(waiting.remove(found).name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_code_counts_once_and_not_for_long() {
        let codes = Codes::default();
        let code = codes.make("ada".to_owned()).unwrap();
        assert_eq!(codes.take(&Secret::given("0".repeat(64).as_str())), None);
        assert!(codes.counts(&code) && codes.counts(&code));
        assert_eq!(codes.take(&code).as_deref(), Some("ada"));
        assert_eq!((codes.counts(&code), codes.take(&code)), (false, None));
        let late = codes.make("ada".to_owned()).unwrap();
        tokio::time::advance(LIVES).await;
        assert_eq!((codes.counts(&late), codes.take(&late)), (false, None));
        let first = codes.make("ada".to_owned()).unwrap();
        for _ in 0..MOST {
            codes.make("eve".to_owned()).unwrap();
        }
        assert_eq!(codes.take(&first), None);
    }
}
