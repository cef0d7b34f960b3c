//! Providers of models, from the settings to what the agent asks.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_agent::api::credentials::codex_login_base_url;
use ostler_agent::api::provider::issuer;
use ostler_agent::api::{KeySource, ModelApi, Patience, Provider, Secret, ThroughProxy, Wire};
use ostler_config::{Config, EnvironmentName, Invocation, settings};

use crate::bench::Bench;
use crate::failure::{Exit, Failure};
use crate::places;

/// The built-in provider that asks with the login of Codex.
const LOGIN_OF_CODEX: &str = "codex";

/// A client for the provider of this name.
pub(crate) fn connect(
    bench: &Bench,
    config: &Config,
    name: &str,
) -> Result<Arc<dyn ModelApi>, Failure> {
    provider(bench, config, name)?.connect(Patience::default()).map_err(|error| {
        Failure::new(Exit::Usage, format!("the provider {name} cannot be asked: {error}"))
    })
}

/// Whom reviews ask: the agent's provider, or else the one that Codex is logged in with. A conversation on Codex needs no key of
/// its own, and is to be learnt from all the same.
pub(crate) fn reviewer(bench: &Bench, config: &Config) -> Result<Arc<dyn ModelApi>, String> {
    let own = config.agent.provider.as_str();
    let has_key = |name: &str| {
        let found = provider(bench, config, name).map_err(|failure| failure.message)?;
        match &found.key {
            KeySource::Given { name: variable, fetch } if fetch().is_none() => {
                Err(format!("{variable} is not set, which has the key of {name}"))
            }
            KeySource::CodexLogin { codex_home } => codex_login_base_url(codex_home)
                .map(drop)
                .map_err(|error| format!("the login of Codex cannot be used: {error}")),
            _ => Ok(()),
        }
    };
    let name = match has_key(own) {
        Ok(()) => own,
        Err(why) => match has_key(LOGIN_OF_CODEX) {
            Ok(()) if own != LOGIN_OF_CODEX => LOGIN_OF_CODEX,
            _ => return Err(why),
        },
    };
    connect(bench, config, name).map_err(|failure| failure.message)
}

/// The provider of this name, with where its key is.
pub(crate) fn provider(bench: &Bench, config: &Config, name: &str) -> Result<Provider, Failure> {
    let unknown = || {
        Failure::new(Exit::Usage, format!("there is no provider {name:?}")).hint(format!(
            "write a [providers.{name}] section, or choose another with provider in [agent]"
        ))
    };
    let provider = config.provider(name).ok_or_else(unknown)?;
    let key = key(bench, &provider);
    let base_url = base_url(config, name, &provider, &key);
    let mut headers = Vec::new();
    for (header, variable) in &provider.headers.0 {
        let Some(value) = places::variable(variable.as_str()) else {
            let message = format!(
                "{} is not set, which the header {header} of {name} needs",
                variable.as_str()
            );
            return Err(Failure::new(Exit::Usage, message).hint("set it, or take the header out"));
        };
        headers.push((header.clone(), Secret::new(value.to_string_lossy())));
    }
    Ok(Provider {
        issuer: issuer(&base_url),
        base_url,
        wire: match provider.wire {
            settings::Wire::Responses => Wire::Responses,
            settings::Wire::Chat => Wire::Chat,
        },
        key,
        headers,
        proxy: proxy(),
    })
}

/// The built-in provider of Codex's login is where that login belongs; a section in the file says it itself.
fn base_url(config: &Config, name: &str, provider: &settings::Provider, key: &KeySource) -> String {
    if let KeySource::CodexLogin { codex_home } = key
        && !config.providers.contains_key(name)
        // Who is not logged in is told so by the first question.
        && let Ok(base_url) = codex_login_base_url(codex_home)
    {
        return base_url.to_owned();
    }
    provider.base_url.as_ref().map(|url| url.as_str().to_owned()).unwrap_or_default()
}

fn key(bench: &Bench, provider: &settings::Provider) -> KeySource {
    let named = key_source(
        provider.key_env.as_ref(),
        provider.key_file.as_ref(),
        provider.key_command.as_ref(),
    );
    match (named, bench.usual_codex_home()) {
        (KeySource::None, Some(codex_home)) if provider.codex_login => {
            KeySource::CodexLogin { codex_home }
        }
        (named, _) => named,
    }
}

/// The first that is named.
pub(crate) fn key_source(
    variable: Option<&EnvironmentName>,
    file: Option<&PathBuf>,
    command: Option<&Invocation>,
) -> KeySource {
    if let Some(variable) = variable {
        let name = variable.as_str().to_owned();
        let from = name.clone();
        let fetch = move || places::variable(&from).map(|key| Secret::new(key.to_string_lossy()));
        return KeySource::Given { name, fetch: Arc::new(fetch) };
    }
    if let Some(file) = file {
        return KeySource::File(file.clone());
    }
    if let Some(command) = command {
        let words = std::iter::once(&command.program).chain(&command.arguments);
        return KeySource::Command(words.cloned().collect());
    }
    KeySource::None
}

/// As most programs find it, and who is asked without it.
pub(crate) fn proxy() -> Option<ThroughProxy> {
    let text = |name: &str| Some(places::variable(name)?.to_string_lossy().into_owned());
    let named = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let url = named.into_iter().find_map(text).filter(|url| !url.is_empty())?;
    let not_for = ["NO_PROXY", "no_proxy"].into_iter().find_map(text).unwrap_or_default();
    let is_for_nobody = not_for.split(',').any(|entry| entry.trim() == "*");
    (!is_for_nobody).then_some(ThroughProxy { url, not_for })
}
