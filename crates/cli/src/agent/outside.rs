//! The tools that reach out of the machine, from the settings: for a chat, and for whoever else offers them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_agent::api::{Patience, Provider};
use ostler_agent::tools::{
    BrowserSettings, Endpoint, ImageSettings, OutsideSettings, SearchKind, SearchSettings,
    SpeechSettings, Vision, WebSettings,
};
use ostler_config::{Config, settings};

use super::provider::{key_source, provider, proxy};
use crate::bench::Bench;
use crate::failure::Failure;
use crate::places;

/// What a browser needs of the environment. Its home is a folder of its own.
const FOR_BROWSER: [&str; 5] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];

/// What Chromium is called.
const CHROMIUM: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// `model` is the one that the chat was opened with: it sees, too, if no other is named.
pub(crate) fn outside(
    bench: &Bench,
    config: &Config,
    model: Option<&str>,
) -> Result<OutsideSettings, Failure> {
    let home = bench.places.state.join("agent");
    let found = |name: &str| provider(bench, config, name).map_err(|failure| failure.message);
    let endpoint = |name: &String| Endpoint::new(found(name));
    let images = config.images.provider.as_ref().map(endpoint);
    let speech = config.speech.provider.as_ref().map(endpoint);
    Ok(OutsideSettings {
        web: web(&config.web),
        browser: browser(&config.browser, home.join("browser"))?,
        vision: vision(config, model, found),
        images: images
            .map(|endpoint| ImageSettings { endpoint, model: config.images.model.clone() }),
        speech: speech.map(|endpoint| SpeechSettings {
            endpoint,
            model: config.speech.model.clone(),
            voice: config.speech.voice.clone(),
            format: config.speech.format.word(),
        }),
        media: home.join("media"),
    })
}

fn web(web: &settings::Web) -> WebSettings {
    let kind = |search| match search {
        settings::Search::Searxng => SearchKind::Searxng,
        settings::Search::Brave => SearchKind::Brave,
        settings::Search::Tavily => SearchKind::Tavily,
        settings::Search::Json => SearchKind::Json,
    };
    let search = web.search.map(|search| SearchSettings {
        kind: kind(search),
        base_url: web.search_url.as_ref().map(|url| url.as_str().to_owned()),
        key: key_source(
            web.search_key_env.as_ref(),
            web.search_key_file.as_ref(),
            web.search_key_command.as_ref(),
        ),
        proxy: proxy(),
        timeout: web.timeout,
    });
    WebSettings {
        search,
        allowed_hosts: web.allowed_hosts.clone(),
        timeout: web.timeout,
        most_bytes: web.max_page.bytes(),
    }
}

fn browser(browser: &settings::Browser, profiles: PathBuf) -> Result<BrowserSettings, Failure> {
    let mut environment: BTreeMap<OsString, OsString> = BTreeMap::new();
    for name in FOR_BROWSER {
        environment.extend(places::variable(name).map(|value| (OsString::from(name), value)));
    }
    let found = || CHROMIUM.into_iter().find_map(find_on_path);
    let own = crate::running::own_program()?;
    Ok(BrowserSettings {
        program: browser.program.clone().or_else(found),
        launcher: vec![own.into_os_string(), OsString::from("sandbox-exec")],
        environment,
        profiles,
        sandbox: browser.sandbox,
        timeout: browser.timeout,
    })
}

/// The agent's own provider and model, unless others are named.
fn vision(
    config: &Config,
    model: Option<&str>,
    found: impl Fn(&str) -> Result<Provider, String>,
) -> Vision {
    let named = &config.vision;
    // A model of the agent's own provider is nothing to another one.
    let (name, own) = match &named.provider {
        None => (&config.agent.provider, model.map(str::to_owned).or(config.agent.model.clone())),
        Some(other) => (other, None),
    };
    let provider = found(name);
    let connect = move || {
        let connected = provider.clone()?.connect(Patience::default());
        connected.map_err(|error| error.to_string())
    };
    Vision::new(Arc::new(connect), named.model.clone().or(own))
}

pub(crate) fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = places::variable("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
