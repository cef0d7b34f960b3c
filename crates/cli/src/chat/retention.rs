//! What goes of the conversations when a chat begins, and what a person removes.

use std::path::Path;
use std::time::Duration;

use ostler_agent::{ListedConversation, Unfinished, remove_conversations, sweep_conversations};

use super::opening;
use crate::failure::Failure;
use crate::tasks::time;

/// Removes what has been silent for longer than this, but for what is open. What was done, in a line for people; none if nothing was.
pub(crate) async fn sweep(state: &Path, age: Option<Duration>) -> Option<String> {
    let age = age?;
    let since = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let older_than = time::now().saturating_sub(since);
    let swept = async {
        let all = opening::conversations(state).await?;
        let swept = sweep_conversations(&all, older_than).await;
        all.close().await;
        swept.map_err(|error| opening::refused(&error))
    };
    match swept.await {
        Ok(count) => told(count, age),
        Err(failure) => {
            Some(format!("old conversations could not be removed: {}", failure.message))
        }
    }
}

/// Removes these for good, or none of them if one is not there or is not to go. `each` hears of every one that is gone.
pub(crate) async fn remove(
    state: &Path,
    beginnings: &[String],
    unfinished: Unfinished,
    each: impl FnMut(&ListedConversation),
) -> Result<(), Failure> {
    let all = opening::conversations(state).await?;
    let removed = remove_conversations(&all, beginnings, unfinished, each).await;
    all.close().await;
    removed.map_err(|error| opening::refused(&error))
}

fn told(count: usize, age: Duration) -> Option<String> {
    let hours = age.as_secs() / (60 * 60);
    let age = match hours {
        ..48 => format!("{hours} hours"),
        hours => format!("{} days", hours / 24),
    };
    let (many, were) = match count {
        0 => return None,
        1 => ("1 conversation".to_owned(), "was"),
        _ => (format!("{count} conversations"), "were"),
    };
    Some(format!(
        "{many} of more than {age} ago {were} removed; conversation_age in [retention] says how long they are kept"
    ))
}
