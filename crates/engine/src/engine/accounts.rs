//! Which models there are, and what is left of the accounts: as Codex itself tells it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_codex::account::{self, Models};
use ostler_codex::protocol::limits::RateLimitWindow;
use ostler_codex::protocol::request::account::Model;
use ostler_model::failure::FailureClass;
use ostler_model::task::TaskSettings;
use ostler_model::{Failure, TaskId};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Engine;
use crate::pool::{AtWork, Server};

/// An app-server answers within milliseconds what it has at hand; limits it asks its provider for.
const DEADLINE: Duration = Duration::from_secs(15);

/// A model that a task can be started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShown {
    pub id: String,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub is_default: bool,
    pub hidden: bool,
    pub efforts: Vec<EffortShown>,
    pub default_effort: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffortShown {
    pub effort: String,
    pub description: Option<String>,
}

/// What is left of one account. What is not known is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountLimits {
    pub account: Option<String>,
    pub codex_home: String,
    pub plan: Option<String>,
    pub primary: Option<LimitWindow>,
    pub secondary: Option<LimitWindow>,
    /// Why nothing is known, for an account that has limits or not.
    pub unknown_because: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitWindow {
    pub used_percent: Option<i64>,
    pub window_minutes: Option<i64>,
    /// Unix seconds.
    pub resets_at: Option<i64>,
}

impl Engine {
    /// The models that a task with these settings could use. An app-server is started if none runs; it stays for a while, and
    /// the task that is likely to follow finds it.
    pub async fn models(&self, settings: &TaskSettings) -> Result<Vec<ModelShown>, Failure> {
        let settings = TaskSettings { isolate: false, ..settings.clone() };
        let seat =
            self.shared.pool.seat(&TaskId::new("models"), &settings, None, AtWork::No).await?;
        let asking = async {
            let server = seat.driver().server().await.map_err(|error| error.to_string())?;
            let models = account::all_models(&server, Models::WithHidden).await;
            models.map_err(|error| error.to_string())
        };
        let models = timeout(DEADLINE, asking).await;
        let models = models.unwrap_or_else(|_| Err("it does not answer in time".to_owned()));
        match models {
            Ok(models) => Ok(models.into_iter().map(ModelShown::from).collect()),
            Err(error) => {
                let message = format!("Codex does not tell its models: {error}");
                Err(Failure::new(FailureClass::Busy, message))
            }
        }
    }

    /// Of each home that an app-server runs for. None is started for it.
    pub async fn limits(&self) -> Vec<AccountLimits> {
        let mut homes: Vec<PathBuf> = Vec::new();
        let mut servers = self.shared.pool.servers();
        servers.retain(|server| {
            let is_first = !homes.contains(&server.home);
            homes.push(server.home.clone());
            is_first
        });
        join_all(servers.iter().map(limits_of)).await
    }
}

async fn limits_of(server: &Arc<Server>) -> AccountLimits {
    let mut found = AccountLimits {
        account: None,
        codex_home: server.home.display().to_string(),
        plan: None,
        primary: None,
        secondary: None,
        unknown_because: None,
    };
    let asking = async {
        let server = server.driver.server().await.map_err(|error| error.to_string())?;
        let state = account::read_account(&server).await.map_err(|error| error.to_string())?;
        if let Some(account) = state.account {
            found.account = account.email.or(Some(account.kind));
            found.plan = account.plan_type;
        }
        let limits = account::read_rate_limits(&server).await.map_err(|error| error.to_string())?;
        let limits = limits.rate_limits;
        found.plan = limits.plan_type.or(found.plan.take());
        found.primary = limits.primary.map(LimitWindow::from);
        found.secondary = limits.secondary.map(LimitWindow::from);
        Ok::<(), String>(())
    };
    match timeout(DEADLINE, asking).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => found.unknown_because = Some(error),
        Err(_) => found.unknown_because = Some("Codex does not answer in time".to_owned()),
    }
    found
}

impl From<Model> for ModelShown {
    fn from(model: Model) -> Self {
        let efforts = model.supported_reasoning_efforts.into_iter();
        Self {
            id: model.id,
            display_name: model.display_name,
            description: model.description,
            is_default: model.is_default,
            hidden: model.hidden,
            efforts: efforts
                .map(|effort| EffortShown {
                    effort: effort.reasoning_effort,
                    description: effort.description,
                })
                .collect(),
            default_effort: model.default_reasoning_effort,
        }
    }
}

impl From<RateLimitWindow> for LimitWindow {
    fn from(window: RateLimitWindow) -> Self {
        Self {
            used_percent: window.used_percent,
            window_minutes: window.window_duration_mins,
            resets_at: window.resets_at,
        }
    }
}
