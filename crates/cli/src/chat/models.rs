//! Which models can be chosen, for `/model`.

use std::path::Path;

use ostler_agent::api::{KeySource, Provider, list_models, models_in};

use super::session::Work;

/// Where the names of models are found.
#[derive(Debug, Clone)]
pub(super) struct Catalogue {
    pub(super) provider: Provider,
}

impl Catalogue {
    /// As the provider has them now; where it cannot be asked, as Codex has kept them, if its login is the one that is used.
    pub(super) fn look(&self) -> Work<'static, Result<Vec<String>, String>> {
        let provider = self.provider.clone();
        Box::pin(async move {
            let listed = list_models(&provider).await;
            let why = match listed {
                Ok(models) => return Ok(models),
                Err(why) => why,
            };
            let KeySource::CodexLogin { codex_home } = provider.key else { return Err(why) };
            let kept = tokio::task::spawn_blocking(move || kept_by_codex(&codex_home)).await;
            kept.ok().filter(|models| !models.is_empty()).ok_or(why)
        })
    }
}

/// Its own choice first.
fn kept_by_codex(home: &Path) -> Vec<String> {
    let config = std::fs::read_to_string(home.join("config.toml")).unwrap_or_default();
    let config: toml::Table = config.parse().unwrap_or_default();
    let chosen = config.get("model").and_then(toml::Value::as_str).map(str::to_owned);
    let cache = std::fs::read_to_string(home.join("models_cache.json")).unwrap_or_default();
    let mut models: Vec<String> = chosen.into_iter().collect();
    let known = models_in(&cache).into_iter().filter(|model| !models.contains(model));
    let known: Vec<String> = known.collect();
    models.extend(known);
    models
}

#[cfg(test)]
mod tests {
    use super::kept_by_codex;

    #[test]
    fn what_codex_has_kept_is_used_with_its_own_choice_first() {
        let home = tempfile::tempdir().unwrap();
        assert!(kept_by_codex(home.path()).is_empty());
        std::fs::write(home.path().join("config.toml"), "model = \"b\"\n").unwrap();
        let cache = r#"{"models":[{"slug":"a","priority":1},{"slug":"b","priority":2}]}"#;
        std::fs::write(home.path().join("models_cache.json"), cache).unwrap();
        assert_eq!(kept_by_codex(home.path()), ["b", "a"]);
    }
}
