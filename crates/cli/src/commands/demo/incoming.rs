//! What Codex says, also while a person thinks about an answer.

use std::collections::VecDeque;

use ostler_codex::peer::{Event, Events};
use ostler_codex::protocol::{Notification, parse_notification};
use ostler_codex::wire::RequestId;

use crate::failure::{Exit, Failure};

/// Events that are read while a person thinks. A Codex that asks says next to nothing until it is answered.
const WAITING_EVENTS: usize = 1024;

/// Reads on while a question is open: a Codex that dies, and a question that nobody waits for any more, are noticed.
pub(super) struct Incoming {
    events: Events,
    /// Read while a person thought, and not yet looked at.
    waiting: VecDeque<Event>,
}

impl Incoming {
    pub(super) fn new(events: Events) -> Self {
        Self { events, waiting: VecDeque::new() }
    }

    pub(super) async fn next(&mut self) -> Option<Event> {
        match self.waiting.pop_front() {
            Some(event) => Some(event),
            None => self.events.next().await,
        }
    }

    /// Reads on until the question needs no answer any more: somebody else gave it, or the turn ended. An error if Codex
    /// is gone. May be dropped at any point.
    pub(super) async fn until_dismissed(&mut self, question: &RequestId) -> Result<(), Failure> {
        if self.waiting.iter().any(|event| dismisses(event, question)) {
            return Ok(());
        }
        while self.waiting.len() < WAITING_EVENTS {
            match self.events.next().await {
                Some(Event::Closed(closed)) => return Err(gone(&closed.to_string())),
                None => return Err(gone("the connection ended")),
                Some(event) => {
                    let dismissed = dismisses(&event, question);
                    self.waiting.push_back(event);
                    if dismissed {
                        return Ok(());
                    }
                }
            }
        }
        // Codex now waits with us for the answer.
        std::future::pending().await
    }

    pub(super) async fn close(self) {
        self.events.close().await;
    }
}

pub(super) fn gone(why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("codex is gone: {why}"))
        .hint("`ostler keeper list` shows what became of it")
}

fn dismisses(event: &Event, question: &RequestId) -> bool {
    let Event::Notification(call) = event else {
        return false;
    };
    match parse_notification(&call.method, call.params_json()) {
        Notification::ServerRequestResolved(resolved) => resolved.request_id == *question,
        _ => false,
    }
}
