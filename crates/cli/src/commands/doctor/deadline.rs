//! Every look ends: what does not answer is a finding.

use std::time::Duration;

use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

/// A local disk answers in milliseconds; a network drive that has gone never does.
const FILE_DEADLINE: Duration = Duration::from_secs(5);

/// Work that the file system may hold up for ever, on a thread that is then left behind.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    blocking_within(FILE_DEADLINE, work).await
}

/// The same with another deadline.
pub(super) async fn blocking_within<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    in_time(deadline, tokio::task::spawn_blocking(work)).await
}

/// Work in a task of its own, because parts of it may hold its thread up.
pub(super) async fn apart<T: Send + 'static>(
    deadline: Duration,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    in_time(deadline, AbortOnDropHandle::new(tokio::spawn(work))).await
}

async fn in_time<T>(
    deadline: Duration,
    work: impl Future<Output = Result<T, JoinError>>,
) -> Result<T, String> {
    match timeout(deadline, work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(format!("the look at it failed: {error}")),
        Err(_) => Err(format!("stuck: no answer within {} s", deadline.as_secs())),
    }
}
