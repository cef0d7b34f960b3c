//! What is told between the agent, which must not wait, and the surface, which may be slow.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use ostler_agent::Activity;
use tokio::sync::Notify;

/// In the order it was told. Pieces of one text are put together, so that it holds no more than what happened.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    told: Mutex<VecDeque<Activity>>,
    came: Notify,
}

impl Inbox {
    pub(crate) fn hear(&self, activity: Activity) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match (told.back_mut(), activity) {
            (Some(Activity::Text(text)), Activity::Text(more))
            | (Some(Activity::Reasoning(text)), Activity::Reasoning(more)) => text.push_str(&more),
            (Some(last @ Activity::Usage { .. }), usage @ Activity::Usage { .. }) => *last = usage,
            (_, activity) => told.push_back(activity),
        }
        drop(told);
        self.came.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<Activity> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    /// Returns when something was told since the last time.
    pub(crate) async fn came(&self) {
        self.came.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_put_together_and_the_order_stays() {
        let inbox = Inbox::default();
        let text = |text: &str| Activity::Text(text.to_owned());
        for activity in [text("a"), text("b"), Activity::TextVoid, text("c")] {
            inbox.hear(activity);
        }
        assert_eq!(inbox.take(), [text("ab"), Activity::TextVoid, text("c")]);
        assert_eq!(inbox.take(), []);
    }
}
