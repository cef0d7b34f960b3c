//! Under which names we are reached, and from which pages.
//!
//! A page of another site can make a browser send requests to us, and with a name that it controls (DNS rebinding) even read
//! the answers. So the name is looked at before anything else, and where the browser says which page asks, that too.

use std::net::SocketAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};

use ostler_model::AuditKind;

use crate::problem::{Problem, Trouble};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// All names that are ours, in lower case and with the port where it is not the usual one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    names: Vec<String>,
    origins: Vec<String>,
}

impl Hosts {
    /// What `address` is reached by on this machine, and the names of the operator's own.
    pub fn of(address: SocketAddr, tls: bool, more: &[String]) -> Self {
        let (scheme, usual_port) = if tls { ("https", 443) } else { ("http", 80) };
        let port = address.port();
        let mut own =
            vec![format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
        if !address.ip().is_unspecified() {
            own.push(address.to_string());
        }
        if port == usual_port {
            let short: Vec<String> =
                own.iter().filter_map(|name| Some(name.rsplit_once(':')?.0.to_owned())).collect();
            own.extend(short);
        }
        let mut origins: Vec<String> =
            own.iter().map(|name| format!("{scheme}://{name}")).collect();
        for name in more.iter().map(|name| name.to_ascii_lowercase()) {
            // What stands before us may speak TLS for us.
            origins.extend([format!("http://{name}"), format!("https://{name}")]);
            own.push(name);
        }
        Self { names: own, origins }
    }

    /// Whether this request is meant for us, and comes from a page of ours or from no page.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), Problem> {
        let host = only(&parts.headers, &header::HOST)?;
        let host = host.ok_or_else(|| foreign_host("the request names no host"))?;
        let named = [Some(host.to_owned()), parts.uri.authority().map(|it| it.as_str().to_owned())];
        for name in named.into_iter().flatten() {
            if !self.names.contains(&name.to_ascii_lowercase()) {
                return Err(foreign_host(&format!("this daemon is not called {name:?}"))
                    .hint("add the name to server.hosts if it is yours"));
            }
        }
        if let Some(origin) = only(&parts.headers, &header::ORIGIN)?
            && !self.origins.contains(&origin.to_ascii_lowercase())
        {
            return Err(refused(&format!("a page of {origin:?} may not ask this daemon")));
        }
        let asked_by_a_foreign_page =
            !matches!(only(&parts.headers, &FETCH_SITE)?, None | Some("same-origin" | "none"));
        if asked_by_a_foreign_page && !is_a_link(parts)? {
            return Err(refused("a page of another site may not ask this daemon"));
        }
        Ok(())
    }
}

/// On the unix socket no browser has any business: whoever forwards a port to it would open it to every page.
pub(crate) fn refuse_browsers(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE) {
        true => Err(refused("the daemon's socket is not for browsers")
            .hint("let the daemon listen for them: `[server] listen` in the configuration, then `ostler open`")),
        false => Ok(()),
    }
}

/// A link that somebody clicked leads to the page itself, which is empty until it asks, and then asks as its own.
fn is_a_link(parts: &Parts) -> Result<bool, Problem> {
    let is_navigation = only(&parts.headers, &FETCH_MODE)? == Some("navigate");
    Ok(is_navigation && parts.method == Method::GET && !parts.uri.path().starts_with("/v1"))
}

/// A header that stands there once. Two of a kind are there to be understood differently by two readers.
fn only<'p>(headers: &'p HeaderMap, name: &HeaderName) -> Result<Option<&'p str>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(refused(&format!("the header {name} makes no sense"))),
        },
        (Some(_), Some(_)) => Err(refused(&format!("the header {name} stands there twice"))),
    }
}

fn refused(detail: &str) -> Problem {
    Problem::new(Trouble::OriginRefused, detail).audited(AuditKind::OriginRefused)
}

fn foreign_host(detail: &str) -> Problem {
    refused(detail).audited(AuditKind::HostRefused)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn verdict(hosts: &Hosts, uri: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        hosts.check(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn only_our_names_and_our_pages() {
        let hosts =
            Hosts::of("127.0.0.1:8137".parse().unwrap(), false, &["Box.example".to_owned()]);
        let host = ("host", "127.0.0.1:8137");
        let good: [&[_]; 8] = [
            &[host],
            &[("host", "LOCALHOST:8137")],
            &[("host", "[::1]:8137")],
            &[("host", "box.example"), ("origin", "https://box.example")],
            &[host, ("origin", "http://127.0.0.1:8137")],
            &[host, ("origin", "http://localhost:8137"), ("sec-fetch-site", "same-origin")],
            &[host, ("sec-fetch-site", "none")],
            &[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
        ];
        assert_eq!(good.map(|headers| verdict(&hosts, "/", headers)), [true; 8]);
        let bad: [&[_]; 12] = [
            &[],
            &[("host", "evil.example")],
            &[("host", "evil.example:8137")],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:9000")],
            &[("host", "127.0.0.1:8137.evil.example")],
            &[host, host],
            &[host, ("origin", "http://evil.example")],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://127.0.0.1:9000")],
            &[host, ("origin", "https://127.0.0.1:8137")],
            &[host, ("sec-fetch-site", "same-site")],
        ];
        assert_eq!(bad.map(|headers| verdict(&hosts, "/", headers)), [false; 12]);
        assert!(!verdict(&hosts, "http://evil.example/", &[host]));
        let link = [host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert!(!verdict(&hosts, "/v1/tasks", &link));
    }

    #[test]
    fn the_usual_port_is_not_written() {
        let hosts = Hosts::of("0.0.0.0:443".parse().unwrap(), true, &[]);
        assert!(verdict(&hosts, "/", &[("host", "localhost"), ("origin", "https://localhost")]));
        assert!(!verdict(&hosts, "/", &[("host", "0.0.0.0")]));
    }
}
