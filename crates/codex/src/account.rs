//! Who is logged in, how much is left, and which models there are.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use serde_json::Value;
use thiserror::Error;

use crate::app_server::{AppServer, CallError};
use crate::protocol::limits::AccountRateLimits;
use crate::protocol::reply::TokenRefreshReply;
use crate::protocol::request::account::{
    AccountRateLimitsRead, AccountRead, AccountState, ConfigRead, Model, ModelList,
};

/// Codex's catalogues have six to twelve models; all of them come in one page.
const PAGE_MODELS: u32 = 100;

/// Hundreds of times the largest catalogue seen. An app-server that has more pages is broken.
const MOST_PAGES: usize = 100;

/// Which models are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Models {
    /// Those a person would choose from.
    Offered,
    /// Also those that Codex keeps for itself or has retired.
    WithHidden,
}

#[derive(Debug, Error)]
pub enum ModelsError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("codex repeats a page of its model list (cursor `{cursor}`)")]
    RepeatedPage { cursor: String },
    #[error("codex's model list has more than {MOST_PAGES} pages")]
    TooManyPages,
}

/// The provider that a thread in this folder has by Codex's configuration; none where it says nothing.
pub async fn provider(server: &AppServer, cwd: &str) -> Result<Option<String>, CallError> {
    let read = ConfigRead { include_layers: false, cwd: Some(cwd.to_owned()) };
    let state = server.call(&read).await?;
    let config: Option<Value> = serde_json::from_str(state.config.text()).ok();
    let named = config.as_ref().and_then(|config| config.get("model_provider"));
    Ok(named.and_then(Value::as_str).map(str::to_owned))
}

/// Every page of the model list, in Codex's order.
pub async fn all_models(server: &AppServer, which: Models) -> Result<Vec<Model>, ModelsError> {
    let mut models = Vec::new();
    let mut seen = BTreeSet::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let include_hidden = Some(which == Models::WithHidden);
        let page = ModelList { cursor, limit: Some(PAGE_MODELS), include_hidden };
        let page = server.call(&page).await?;
        models.extend(page.data);
        let Some(next) = page.next_cursor else {
            return Ok(models);
        };
        if !seen.insert(next.clone()) {
            return Err(ModelsError::RepeatedPage { cursor: next });
        }
        cursor = Some(next);
    }
    Err(ModelsError::TooManyPages)
}

/// The account as Codex has it at hand, without renewing its login.
pub async fn read_account(server: &AppServer) -> Result<AccountState, CallError> {
    server.call(&AccountRead { refresh_token: false }).await
}

/// Needs a ChatGPT login; Codex refuses it to others.
pub async fn read_rate_limits(server: &AppServer) -> Result<AccountRateLimits, CallError> {
    server.call(&AccountRateLimitsRead).await
}

/// Fresh tokens for a login that another program holds. Codex waits ten seconds for them.
pub trait TokenSource: Send + Sync + std::fmt::Debug + 'static {
    /// `account` is the one whose tokens are no longer taken.
    fn refresh(&self, account: Option<String>) -> BoxFuture<'_, Result<TokenRefreshReply, String>>;
}
