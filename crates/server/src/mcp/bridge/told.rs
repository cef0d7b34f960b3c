//! Which of the caller's tasks have ended. A program that only asks (pull) is told of each end once; the daemon remembers it.

use ostler_model::{Notification, Task};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown::{head, line, time};
use super::{Bridge, Done};
use crate::api::{Ends, EndsTold, NotificationList, ToldEnd};

/// Tasks that are told at once, if nobody says how many.
const AT_ONCE: usize = 10;

/// Of an answer in a message.
const SUMMARY_CHARACTERS: usize = 700;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NotifyCompleted {
    pub(super) limit: Option<usize>,
    pub(super) notify_target: Option<String>,
    pub(super) dry_run: bool,
}

impl Bridge {
    /// The caller's own tasks that have ended and that it was not told of, the oldest end first.
    pub(super) async fn notify_completed(&self, wish: NotifyCompleted, client: &str) -> Done {
        let limit = wish.limit.unwrap_or(AT_ONCE).max(1);
        let news: Ends = self.get(format!("/v1/ends?limit={limit}"), client).await?;
        let news = news.tasks;
        let status = if wish.dry_run { "pending" } else { "sent" };
        let mut shown = Vec::with_capacity(news.len());
        for task in &news {
            let path = format!("/v1/notifications?task={}", task.id);
            let outbox: NotificationList = self.get(path, client).await?;
            let told = outbox.notifications.iter();
            let told =
                told.filter(|it| wish.notify_target.as_ref().is_none_or(|to| *to == it.target));
            let told: Vec<Value> = told.map(delivery).collect();
            shown.push(notification(task, status, &told));
        }
        // Only what the caller gets to see was told.
        if !wish.dry_run && !news.is_empty() {
            let end = |task: &Task| {
                let ended_at = task.ended_at?;
                Some(ToldEnd { task: task.id.clone(), ended_at })
            };
            let told = EndsTold { ends: news.iter().filter_map(end).collect() };
            drop(self.post::<EndsTold>("/v1/ends/told".to_owned(), json!(told), client).await?);
        }
        Ok(json!({ "notifications": shown, "dry_run": wish.dry_run }))
    }
}

fn notification(task: &Task, status: &str, deliveries: &[Value]) -> Value {
    let shown = line(task);
    let said = ["final_answer", "error"].iter().find_map(|key| shown.get(*key)?.as_str());
    let said = head(said.unwrap_or("no answer"), SUMMARY_CHARACTERS);
    json!({
        "task_id": task.id,
        "status": task.state.name(),
        "completed_at": task.ended_at.map(time),
        "notification_status": status,
        "deliveries": deliveries,
        "message": format!("{} {}\n{}\n{said}", task.id, task.state.name(), task.title),
    })
}

/// Who else was told, as the outbox has it.
fn delivery(told: &Notification) -> Value {
    json!({
        "delivery_id": told.id,
        "kind": told.kind,
        "target": told.target,
        "notification_status": told.state,
        "attempts": told.attempts,
        "notified_at": told.receipt.as_ref().map(|receipt| time(receipt.at)),
        "notification_error": told.tries.last().filter(|_| told.receipt.is_none()).map(|it| &it.why),
    })
}
