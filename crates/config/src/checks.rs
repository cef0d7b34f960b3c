//! What can be wrong about settings that are each right by themselves.

use crate::config::Config;
use crate::nearest::nearest;
use crate::settings::{Provider, Search};
use crate::source::Source;

/// What a socket's address has room for on Linux: `sun_path` has 108 bytes, the last is 0.
const SOCKET_PATH_LIMIT_BYTES: usize = 107;

pub(crate) fn check(config: &Config, source: &mut Source<'_, '_>) {
    let length = config.daemon.socket.as_os_str().len();
    if length > SOCKET_PATH_LIMIT_BYTES {
        let message = format!(
            "has {length} bytes, and the system takes {SOCKET_PATH_LIMIT_BYTES} for a socket"
        );
        source.complain("daemon", "socket", &message, "write a shorter path");
    }
    let server = &config.server;
    match (&server.tls_certificate, &server.tls_key) {
        (Some(_), None) => {
            source.complain("server", "tls_certificate", "has no key", "set server.tls_key, too");
        }
        (None, Some(_)) => {
            let advice = "set server.tls_certificate, too";
            source.complain("server", "tls_key", "has no certificate", advice);
        }
        (None, None) if server.listen.is_some_and(|address| !address.ip().is_loopback()) => {
            let message =
                "can be reached by other machines, and what is said there could be read by others";
            let advice = "set server.tls_certificate and server.tls_key, or listen on 127.0.0.1";
            source.complain("server", "listen", message, advice);
        }
        _ => {}
    }
    let providers = [
        ("agent", Some(&config.agent.provider)),
        ("vision", config.vision.provider.as_ref()),
        ("images", config.images.provider.as_ref()),
        ("speech", config.speech.provider.as_ref()),
    ];
    for (section, provider) in providers {
        let Some(provider) = provider.filter(|name| config.provider(name).is_none()) else {
            continue;
        };
        let names =
            Provider::BUILT_IN.into_iter().chain(config.providers.keys().map(String::as_str));
        let advice = match nearest(provider, names) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("write [providers.{provider}] for it"),
        };
        source.complain(section, "provider", "names no provider", &advice);
    }
    let web = &config.web;
    if web.search_url.is_none() && matches!(web.search, Some(Search::Searxng | Search::Json)) {
        source.complain("web", "search", "has no place", "set web.search_url, too");
    }
    let is_host =
        |host: &String| !host.contains(|sign: char| sign.is_whitespace() || "/@*".contains(sign));
    if !web.allowed_hosts.iter().all(is_host) {
        let advice =
            "write it as it stands in an address, as in \"wiki.internal\" or \"localhost:8080\"";
        source.complain("web", "allowed_hosts", "names something else than a host", advice);
    }
    if config.limits.running_per_pool > config.limits.running {
        let message = format!("is more than limits.running, which is {}", config.limits.running);
        source.complain(
            "limits",
            "running_per_pool",
            &message,
            "lower it, or raise limits.running",
        );
    }
}
