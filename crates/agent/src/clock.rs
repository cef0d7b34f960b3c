//! The time, given by whoever may know it.

use std::sync::Arc;

/// Unix milliseconds. Tests give their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The system's.
    pub fn system() -> Self {
        Self::new(|| {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
        })
    }

    pub(crate) fn still() -> Self {
        Self::new(|| 0)
    }

    pub(crate) fn now(&self) -> i64 {
        (self.0)()
    }
}
