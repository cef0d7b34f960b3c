//! Who calls: every request carries it, and a route asks for it like for any other part of the request.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};

use crate::problem::{Problem, Trouble};

/// The process at the other end of the socket, as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub uid: u32,
    /// 0 if it has no pid here: it lives in another pid namespace.
    pub pid: i32,
    pub standing: Standing,
}

/// Whether the caller may decide. Whoever cannot be looked at counts as an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Standing {
    Person,
    Agent { why: String },
}

/// Tells a person from an agent by the pid. It may read files and is called off the async threads, once per connection.
pub type Look = Arc<dyn Fn(i32) -> Standing + Send + Sync>;

impl Standing {
    pub fn agent(why: impl Into<String>) -> Self {
        Self::Agent { why: why.into() }
    }
}

impl Caller {
    /// How it is called where it is written down who did something.
    pub fn name(&self) -> String {
        match self.standing {
            Standing::Person => format!("user {}", self.uid),
            Standing::Agent { .. } => format!("an agent of user {}", self.uid),
        }
    }

    /// For routes that only people may use.
    pub fn must_be_person(&self, to_do: &str) -> Result<(), Problem> {
        match &self.standing {
            Standing::Person => Ok(()),
            Standing::Agent { why } => {
                let detail = format!("an agent may not {to_do}: process {} {why}", self.pid);
                Err(Problem::new(Trouble::AgentRefused, detail)
                    .hint("let a person do it, from a terminal of their own"))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller
            .ok_or_else(|| Problem::new(Trouble::Internal, "the caller of this request is unknown"))
    }
}
