//! What a service gets: an address, a head and a body, all of it made before anything is sent.

use ostler_engine::Sending;
use ostler_model::Notification;
use ostler_model::notification::Outcome;
use serde_json::Value;

use super::{Service, chat, webhook};

/// What is sent.
pub(super) struct Letter {
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
    /// What must be in no message about it.
    pub(super) secrets: Vec<String>,
    /// Whether it may go where the receiver points to.
    pub(super) follows: Follows,
    /// What an answer means.
    pub(super) judge: fn(&Answer) -> Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Redirects,
    /// The address itself is a secret, or has one in it.
    Nothing,
}

/// What the service said.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after_ms: Option<u64>,
    /// As much of it as is looked at.
    pub(super) body: String,
}

impl Letter {
    pub(super) async fn write(
        service: &Service,
        notification: &Notification,
    ) -> Result<Self, String> {
        match service {
            Service::Webhook { url, secret } => {
                webhook::letter(url, secret.as_ref(), notification).await
            }
            chat => chat::letter(chat, notification).await,
        }
    }

    /// Takes the secrets out of a text.
    pub(super) fn clean(&self, text: &str) -> String {
        let secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[secret]"))
    }
}

/// What would be sent, without secrets.
pub(super) fn preview(service: &Service, notification: &Notification) -> Sending {
    match service {
        Service::Webhook { url, .. } => {
            Sending { to: url.shown(), body: ostler_engine::payload(notification) }
        }
        chat => chat::preview(chat, notification),
    }
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// What was said beside the status, in a line.
    pub(super) fn words(&self) -> String {
        const MOST: usize = 200;
        let line: String = self.body.split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = line.chars().take(MOST).collect();
        match line.is_empty() {
            true => format!("HTTP {}", self.status),
            false => format!("HTTP {}: {line}", self.status),
        }
    }

    /// It may be taken later.
    pub(super) fn failed(&self) -> Outcome {
        Outcome::Failed { why: self.words(), retry_after_ms: self.retry_after_ms }
    }

    pub(super) fn refused(&self) -> Outcome {
        Outcome::Refused { why: self.words() }
    }
}
