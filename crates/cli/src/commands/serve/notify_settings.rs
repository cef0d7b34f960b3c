//! What the configuration means for whom tasks tell.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_agent::api::{KeySource, Secret};
use ostler_config::settings::{Notify, NotifyKind, Via};
use ostler_config::{Config, EnvironmentName, Invocation};
use ostler_engine::{NotifySettings, Target, Via as EngineVia};
use ostler_model::notification::{Kind, Persistence};
use ostler_server::courier::{Place, Post, Reveal, Route, Service};

use crate::failure::{Exit, Failure};
use crate::places;

pub(super) fn notify(config: &Config) -> Result<NotifySettings, Failure> {
    let mut targets = BTreeMap::new();
    let mut routes = BTreeMap::new();
    for (name, written) in &config.notify {
        let via = match written.via {
            None | Some(Via::Local) => EngineVia::Local,
            Some(Via::Command) => {
                EngineVia::Command(written.command.as_ref().map(words).unwrap_or_default())
            }
            Some(via) => {
                let service = service(via, written).ok_or_else(|| incomplete(name))?;
                routes.insert(name.clone(), Route { service, private: written.private });
                EngineVia::Courier
            }
        };
        let persistence = Persistence {
            attempts: written.attempts,
            first_wait_ms: u64::try_from(written.retry.as_millis()).unwrap_or(u64::MAX),
        };
        let kinds = written.kinds.iter().map(|kind| model_kind(*kind)).collect();
        targets.insert(name.clone(), Target { via, kinds, timeout: written.timeout, persistence });
    }
    let post = Post::new(routes);
    let post = post.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let page = config.server.public_url.as_ref().map(|url| url.as_str().to_owned());
    Ok(NotifySettings { targets, page, courier: Arc::new(post) })
}

/// Whom a task tells that names nobody.
pub(super) fn usual(config: &Config) -> Vec<String> {
    let usual = config.notify.iter().filter(|(_, written)| written.default);
    usual.map(|(name, _)| name.clone()).collect()
}

/// None if something is missing, which the reader of the file has refused before.
fn service(via: Via, written: &Notify) -> Option<Service> {
    let Notify { url_env, url_file, url_command, secret_env, secret_file, secret_command, .. } =
        written;
    let server = written.url.as_ref().map(|url| url.as_str().to_owned());
    let hidden = reveal(url_env.as_ref(), url_file.as_ref(), url_command.as_ref());
    let place = server.clone().map(Place::Known).or(hidden.map(Place::Secret));
    let secret = reveal(secret_env.as_ref(), secret_file.as_ref(), secret_command.as_ref());
    Some(match via {
        Via::Local | Via::Command => return None,
        Via::Webhook => Service::Webhook { url: place?, secret },
        Via::Feishu => Service::Feishu { url: place?, secret },
        Via::Slack => match (secret, written.chat.clone()) {
            (Some(token), Some(channel)) => Service::SlackBot { server, token, channel },
            _ => Service::SlackHook { url: place? },
        },
        Via::Telegram => Service::Telegram { server, token: secret?, chat: written.chat.clone()? },
        Via::Ntfy => Service::Ntfy { server, token: secret, topic: written.topic.clone()? },
    })
}

fn reveal(
    variable: Option<&EnvironmentName>,
    file: Option<&PathBuf>,
    command: Option<&Invocation>,
) -> Option<Reveal> {
    let (name, source) = match (variable, file, command) {
        (Some(variable), _, _) => {
            let name = variable.as_str().to_owned();
            let wanted = name.clone();
            let fetch =
                move || places::variable(&wanted).map(|key| Secret::new(key.to_string_lossy()));
            (name.clone(), KeySource::Given { name, fetch: Arc::new(fetch) })
        }
        (None, Some(file), _) => (file.display().to_string(), KeySource::File(file.clone())),
        (None, None, Some(command)) => {
            (format!("the output of {}", command.program), KeySource::Command(words(command)))
        }
        (None, None, None) => return None,
    };
    let fetch = move || -> futures_util::future::BoxFuture<'static, Result<String, String>> {
        let source = source.clone();
        Box::pin(async move {
            let secret = source.secret().await.map_err(|error| error.to_string())?;
            secret.map(|secret| secret.expose().to_owned()).ok_or_else(|| "it is empty".to_owned())
        })
    };
    Some(Reveal { name, fetch: Arc::new(fetch) })
}

fn words(invocation: &Invocation) -> Vec<String> {
    std::iter::once(&invocation.program).chain(&invocation.arguments).cloned().collect()
}

fn model_kind(kind: NotifyKind) -> Kind {
    match kind {
        NotifyKind::Finished => Kind::Finished,
        NotifyKind::Failed => Kind::Failed,
        NotifyKind::NeedsApproval => Kind::NeedsApproval,
        NotifyKind::NeedsInput => Kind::NeedsInput,
        NotifyKind::Parked => Kind::Parked,
        NotifyKind::Cancelled => Kind::Cancelled,
    }
}

fn incomplete(name: &str) -> Failure {
    Failure::new(Exit::Usage, format!("[notify.{name}] does not say where it is sent"))
        .hint("`ostler config check` says what is missing")
}
