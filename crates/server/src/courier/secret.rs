//! Secrets by where they are. They are fetched for each attempt, so that a new one counts at once, and kept nowhere.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

/// Fetches a secret, or says why there is none. Whoever builds the courier knows the environment; this room does not.
pub type Fetch = Arc<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Where a secret is.
#[derive(Clone)]
pub struct Reveal {
    /// For people: the variable, the file or the program.
    pub name: String,
    pub fetch: Fetch,
}

/// An address that may be a secret itself.
#[derive(Debug, Clone)]
pub enum Place {
    Known(String),
    Secret(Reveal),
}

impl fmt::Debug for Reveal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Reveal").field(&self.name).finish()
    }
}

impl Reveal {
    pub(super) async fn fetch(&self) -> Result<String, String> {
        (self.fetch)().await
    }
}

impl Place {
    /// The address, and whether nobody may see it.
    pub(super) async fn find(&self) -> Result<(String, bool), String> {
        match self {
            Self::Known(address) => Ok((address.clone(), false)),
            Self::Secret(reveal) => Ok((reveal.fetch().await?, true)),
        }
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Known(address) => address.clone(),
            Self::Secret(reveal) => format!("the address in {}", reveal.name),
        }
    }
}
