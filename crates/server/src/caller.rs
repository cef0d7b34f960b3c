//! Who calls: every request carries it, and a route asks for it like for any other part of the request.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use ostler_model::AuditKind;
use serde::{Deserialize, Serialize};

use crate::mcp::named_in;
use crate::problem::{Problem, Trouble};

/// The process at the other end of the socket, as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub uid: u32,
    /// The name of its account, if it has one.
    #[serde(default)]
    pub user: Option<String>,
    /// 0 if it has no pid here: it lives in another pid namespace.
    pub pid: i32,
    pub standing: Standing,
    /// By what it was let in over TCP: `ada` who logged in, or `token ci`. Absent on the unix socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The MCP client for whom it asks, as that calls itself.
    #[serde(skip)]
    pub mcp: Option<String>,
}

/// Whether the caller may decide. Whoever cannot be looked at counts as an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Standing {
    Person,
    Agent {
        why: String,
        /// The keeper that it runs below, where that is known.
        #[serde(skip)]
        keeper: Option<String>,
    },
}

/// Before the account of whoever runs it.
const AGENT: &str = "an agent of ";

/// Tells a person from an agent by the pid. It may read files and is called off the async threads, once per connection.
pub type Look = Arc<dyn Fn(i32) -> Standing + Send + Sync>;

impl Standing {
    pub fn agent(why: impl Into<String>) -> Self {
        Self::Agent { why: why.into(), keeper: None }
    }

    pub fn below(keeper: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Agent { why: why.into(), keeper: Some(keeper.into()) }
    }
}

impl Caller {
    /// How it is called where it is written down who did something.
    pub fn name(&self) -> String {
        let name = match (&self.key, &self.standing) {
            // It was given out under this name, to whomever.
            (Some(key), _) => key.clone(),
            (None, Standing::Person) => self.account(),
            (None, Standing::Agent { .. }) => format!("{AGENT}{}", self.account()),
        };
        match &self.mcp {
            Some(client) => format!("{name} (mcp {client})"),
            None => name,
        }
    }

    /// Whether this is how [`Caller::name`] calls an agent. No account has a name with spaces in it.
    pub(crate) fn is_name_of_agent(name: &str) -> bool {
        name.starts_with(AGENT)
    }

    /// By what the operator names an MCP client that may decide: its token, or on the unix socket what it calls itself.
    pub(crate) fn named_by_operator(&self) -> Option<&str> {
        let client = self.mcp.as_deref()?;
        match &self.key {
            Some(key) => Some(key),
            // Or a client could call itself like somebody's token.
            None => Some(client).filter(|client| !client.starts_with("token ")),
        }
    }

    /// The door that it uses, as others are told.
    pub fn surface(&self) -> &'static str {
        match &self.key {
            _ if self.mcp.is_some() => "mcp",
            Some(key) if !key.starts_with("token ") => "web",
            _ => "api",
        }
    }

    /// The user that it runs as.
    pub fn account(&self) -> String {
        self.user.clone().unwrap_or_else(|| format!("user {}", self.uid))
    }

    /// For routes that only people may use.
    pub fn must_be_person(&self, to_do: &str) -> Result<(), Problem> {
        match &self.standing {
            Standing::Person => Ok(()),
            Standing::Agent { why, .. } => {
                let who = match self.pid {
                    0 => "the caller".to_owned(),
                    pid => format!("process {pid}"),
                };
                let detail = format!("an agent may not {to_do}: {who} {why}");
                Err(Problem::new(Trouble::AgentRefused, detail)
                    .hint("let a person do it, from a terminal of their own")
                    .audited(AuditKind::AgentRefused))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        let caller = caller.ok_or_else(|| {
            Problem::new(Trouble::Internal, "the caller of this request is unknown")
        })?;
        Ok(Self { mcp: named_in(&parts.headers), ..caller })
    }
}
