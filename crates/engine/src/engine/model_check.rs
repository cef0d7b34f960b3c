//! Whether Codex has the model and the effort that somebody asks for.

use std::time::Duration;

use ostler_codex::account::{self, Models};
use ostler_model::TaskId;
use ostler_model::task::TaskSettings;
use tokio::time::{Instant, timeout};

use super::{Engine, ModelShown};
use crate::pool::AtWork;
use crate::refusal::{Problem, Refusal};

/// Models change with a new Codex or another login, which is rare.
const KNOWN_FOR: Duration = Duration::from_secs(5 * 60);

/// An app-server starts within a second; whoever sends something does not wait for one that takes longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lists that are remembered at most: one for each home, version and provider in use.
const MOST_KNOWN: usize = 64;

/// What Codex tells of its models, or why that says nothing of the one that is asked for.
pub(super) type Listed = Result<Vec<ModelShown>, String>;

#[derive(Debug, Clone)]
pub(super) struct KnownModels {
    name: String,
    since: Instant,
    listed: Listed,
}

impl Engine {
    /// Refuses a model or an effort that Codex does not have. Says so where it cannot be known.
    pub async fn check_model(
        &self,
        settings: &TaskSettings,
        model: Option<&str>,
        effort: Option<&str>,
    ) -> Result<Option<String>, Refusal> {
        if model.is_none() && effort.is_none() {
            return Ok(None);
        }
        match self.listed(settings).await {
            Ok(models) => judge(&models, model.or(settings.model.as_deref()), effort),
            Err(why) => {
                Ok(Some(format!("the model and the effort were taken without a check: {why}")))
            }
        }
    }

    async fn listed(&self, settings: &TaskSettings) -> Listed {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let (codex, provider) = (&settings.codex, part(&settings.model_provider));
        let (version, home) = (part(&codex.version), part(&codex.home));
        let name = [version, home, provider, settings.cwd.clone()].join("\n");
        if let Some(known) = self.known_models(&name) {
            return known;
        }
        let listed = timeout(PATIENCE, self.ask_models(settings)).await;
        let listed = listed.unwrap_or_else(|_| Err("Codex does not answer in time".to_owned()));
        let mut all = self.models.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.retain(|known| known.name != name && known.since.elapsed() < KNOWN_FOR);
        if all.len() < MOST_KNOWN && listed.is_ok() {
            all.push(KnownModels { name, since: Instant::now(), listed: listed.clone() });
        }
        listed
    }

    fn known_models(&self, name: &str) -> Option<Listed> {
        let all = self.models.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = all.iter().find(|known| known.name == name)?;
        (known.since.elapsed() < KNOWN_FOR).then(|| known.listed.clone())
    }

    async fn ask_models(&self, settings: &TaskSettings) -> Listed {
        let settings = TaskSettings { isolate: false, ..settings.clone() };
        let seat = self.shared.pool.seat(&TaskId::new("models"), &settings, None, AtWork::No).await;
        let seat = seat.map_err(|failure| failure.message)?;
        let server = seat.driver().server().await.map_err(|error| error.to_string())?;
        let provider = match settings.model_provider {
            Some(provider) => Some(provider),
            None => account::provider(&server, &settings.cwd)
                .await
                .map_err(|error| format!("Codex does not tell its provider: {error}"))?,
        };
        if let Some(provider) = provider.filter(|provider| provider != "openai") {
            return Err(format!(
                "Codex lists the models of OpenAI, and this task uses the provider {provider:?}"
            ));
        }
        let models = account::all_models(&server, Models::WithHidden).await;
        let models = models.map_err(|error| format!("Codex does not tell its models: {error}"))?;
        match models.is_empty() {
            true => Err("Codex tells of no models".to_owned()),
            false => Ok(models.into_iter().map(ModelShown::from).collect()),
        }
    }
}

fn judge(
    models: &[ModelShown],
    model: Option<&str>,
    effort: Option<&str>,
) -> Result<Option<String>, Refusal> {
    let refused = |what: &str, message: String| {
        Err(Refusal::Invalid { problems: vec![Problem { what: what.to_owned(), message }] })
    };
    let found = match model {
        Some(model) => models.iter().find(|known| known.id == model),
        None => models.iter().find(|known| known.is_default),
    };
    let Some(found) = found else {
        let Some(model) = model else { return Ok(None) };
        let offered = models.iter().filter(|known| !known.hidden).map(|known| known.id.as_str());
        let offered = offered.collect::<Vec<_>>().join(", ");
        return refused("model", format!("Codex has no model {model:?}; it offers {offered}"));
    };
    let efforts: Vec<&str> = found.efforts.iter().map(|known| known.effort.as_str()).collect();
    match effort {
        Some(effort) if !efforts.is_empty() && !efforts.contains(&effort) => {
            let offered = efforts.join(", ");
            let message =
                format!("the model {:?} has no effort {effort:?}; it takes {offered}", found.id);
            refused("effort", message)
        }
        _ => Ok(None),
    }
}
