//! The guard in front of every request that a model wants made: only the public internet, and what the operator names.
//!
//! A name is resolved here, every address behind it is judged, and the connection goes to just those addresses. So a name whose
//! answer changes between the look and the connection gains nothing. Each hop of a redirect comes here again.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ostler_model::addresses::not_public;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Why a place is not gone to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{0:?} is no address of a web page; give one that begins with https:// or http://")]
    NoUrl(String),
    #[error("only http and https are fetched, not `{0}:`")]
    Scheme(String),
    #[error("an address with a name and a password in it is not fetched; leave them out")]
    Credentials,
    #[error(
        "{host} is refused: {address} is {what}, and only the public internet is fetched. If the user wants it, they name \
        {host} in allowed_hosts of [web] in Ostler's config.toml"
    )]
    NotPublic { host: String, address: IpAddr, what: &'static str },
    #[error("{host} is not known: {why}")]
    Unknown { host: String, why: String },
}

/// How a name becomes addresses.
pub type Lookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> + Send + Sync>;

pub struct Guard {
    /// Lower case; each a host, or a host and its port.
    allowed: Vec<String>,
    lookup: Lookup,
}

impl Guard {
    /// `allowed` names hosts (`intranet.example`, `[::1]`) or hosts with their port (`localhost:8080`).
    pub fn new(allowed: &[String]) -> Self {
        Self::with_lookup(allowed, Arc::new(|host| Box::pin(system(host))))
    }

    pub fn with_lookup(allowed: &[String], lookup: Lookup) -> Self {
        let allowed = allowed.iter().map(|host| host.trim().to_ascii_lowercase()).collect();
        Self { allowed, lookup }
    }

    /// A place as a model writes it.
    pub fn parse(&self, text: &str) -> Result<Url, Refused> {
        let url = Url::parse(text.trim()).map_err(|_| Refused::NoUrl(shortened(text)))?;
        self.judge(&url)?;
        Ok(url)
    }

    /// What can be told without asking anybody for a name.
    pub(super) fn judge(&self, url: &Url) -> Result<(), Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let (host, port) = place(url).ok_or_else(|| Refused::NoUrl(shortened(url.as_str())))?;
        match literal(&host) {
            Some(address) => self.judge_address(&host, port, address),
            None => Ok(()),
        }
    }

    /// The addresses to connect to, all of which may be.
    pub(crate) async fn addresses(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Refused> {
        let host = host.to_ascii_lowercase();
        if let Some(address) = literal(&host) {
            self.judge_address(&host, port, address)?;
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let unknown = |why: String| Refused::Unknown { host: host.clone(), why };
        let found =
            (self.lookup)(host.clone()).await.map_err(|error| unknown(error.to_string()))?;
        if found.is_empty() {
            return Err(unknown("it has no address".to_owned()));
        }
        // One bad address is enough: which of them is taken is not ours to choose.
        for address in &found {
            self.judge_address(&host, port, *address)?;
        }
        Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    pub(super) async fn addresses_of(&self, url: &Url) -> Result<Vec<SocketAddr>, Refused> {
        self.judge(url)?;
        let (host, port) = place(url).ok_or_else(|| Refused::NoUrl(shortened(url.as_str())))?;
        self.addresses(&host, port).await
    }

    fn judge_address(&self, host: &str, port: u16, address: IpAddr) -> Result<(), Refused> {
        let Some(what) = not_public(address) else { return Ok(()) };
        match self.is_allowed(host, port) {
            true => Ok(()),
            false => Err(Refused::NotPublic { host: host.to_owned(), address, what }),
        }
    }

    fn is_allowed(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.');
        let with_port = format!("{host}:{port}");
        self.allowed.iter().any(|allowed| *allowed == host || *allowed == with_port)
    }
}

/// Host and port, the host as it stands in an address: IPv6 in brackets.
fn place(url: &Url) -> Option<(String, u16)> {
    let host = url.host_str().filter(|host| !host.is_empty())?;
    Some((host.to_ascii_lowercase(), url.port_or_known_default()?))
}

/// A host that is an address. Other spellings of one (decimal, octal, hexadecimal) have become this by being parsed as a URL.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

async fn system(host: String) -> std::io::Result<Vec<IpAddr>> {
    let found = tokio::net::lookup_host((host, 0)).await?;
    Ok(found.map(|address| address.ip()).collect())
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The addresses that were judged, for the HTTP client. It connects to nothing else.
#[derive(Default, Clone)]
pub(super) struct Pins(Arc<Mutex<HashMap<String, Vec<SocketAddr>>>>);

/// Names that are remembered at once; an older one is judged again before it is used.
const MOST_PINS: usize = 256;

impl Pins {
    pub(super) fn pin(&self, url: &Url, addresses: Vec<SocketAddr>) {
        let Some((host, _)) = place(url) else { return };
        let mut pins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pins.len() >= MOST_PINS {
            pins.clear();
        }
        pins.insert(host, addresses);
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let pins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pins.get(&name.as_str().to_ascii_lowercase()).cloned();
        drop(pins);
        Box::pin(async move {
            let addresses = found.ok_or("the name was not looked at")?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
