//! Whether anybody can pay for the turn, looked at before it begins.

use ostler_codex::account::read_account;
use ostler_codex::app_server::AppServer;
use ostler_codex::protocol::request::account::AccountState;

use crate::failure::{Exit, Failure};

/// An error if nobody is logged in and the model wants a login. If Codex does not say, the turn will.
pub(super) async fn check(server: &AppServer) -> Result<(), Failure> {
    match read_account(server).await {
        Ok(AccountState { account: None, requires_openai_auth: true }) => {
            Err(Failure::new(Exit::Failed, "nobody is logged in to Codex").hint(
                "run `codex login`, or set a model_provider in Codex's config.toml; `ostler demo` works without",
            ))
        }
        Ok(_) => Ok(()),
        Err(error) => {
            tracing::debug!(%error, "codex does not say who is logged in");
            Ok(())
        }
    }
}
