//! What callers bring along may panic; that ends their work, not the driver.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// Runs it to its end, or says with which words it panicked. Calling what makes the future belongs inside as well.
pub(super) async fn guarded<T>(work: impl Future<Output = T>) -> Result<T, String> {
    // Nothing of it is used after a panic.
    AssertUnwindSafe(work).catch_unwind().await.map_err(|payload| words(&*payload))
}

fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a word".to_owned())
}
