//! One page from the web: guarded at every hop, bounded in time and size.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode, Url, redirect};
use tokio::time::Instant;

use super::guard::{Guard, Pins, Refused};

/// Honest pages need two or three.
const MOST_REDIRECTS: usize = 5;

/// What a person asks for when they open a page.
const WANTED: &str = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("it led to another place more than {MOST_REDIRECTS} times; the last was {0}")]
    Redirects(String),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("it is longer than {0} bytes")]
    TooLong(u64),
    #[error("it took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error("it came packed as {0}, which was not asked for")]
    Packed(String),
    #[error("{0}")]
    Http(String),
}

/// What was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// Where it was at last.
    pub(crate) url: Url,
    /// As the server said it, or empty.
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

pub struct Fetcher {
    guard: Arc<Guard>,
    pins: Pins,
    /// Or why this machine speaks no HTTP at all. Made when it is first needed: certificates take their time, and a server of tools
    /// must answer its greeting at once.
    client: OnceLock<Result<reqwest::Client, String>>,
    timeout: Duration,
}

impl Fetcher {
    /// `timeout` is for a page with all its redirects.
    pub fn new(guard: Arc<Guard>, timeout: Duration) -> Self {
        Self { guard, pins: Pins::default(), client: OnceLock::new(), timeout }
    }

    pub(crate) fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// At most `most_bytes` of it: longer ones are an error.
    pub async fn fetch(&self, url: &Url, most_bytes: u64) -> Result<Fetched, FetchError> {
        let too_slow = || FetchError::TooSlow(self.timeout);
        let fetching = self.follow(url.clone(), most_bytes);
        let deadline = Instant::now() + self.timeout;
        tokio::time::timeout_at(deadline, fetching).await.map_err(|_| too_slow())?
    }

    async fn follow(&self, mut url: Url, most_bytes: u64) -> Result<Fetched, FetchError> {
        let client = self.client.get_or_init(|| client(&self.pins));
        let client = client.as_ref().map_err(|why| FetchError::Http(why.clone()))?;
        for _ in 0..=MOST_REDIRECTS {
            let addresses = self.guard.addresses_of(&url).await?;
            self.pins.pin(&url, addresses);
            let request = client.get(url.clone()).header(ACCEPT, WANTED);
            let response =
                request.send().await.map_err(|error| FetchError::Http(described(&error)))?;
            match next(&url, &response)? {
                Some(next) => url = next,
                None => return whole(url, response, most_bytes).await,
            }
        }
        Err(FetchError::Redirects(url.to_string()))
    }
}

fn client(pins: &Pins) -> Result<reqwest::Client, String> {
    // It fails only if somebody has chosen a provider before, and that one is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .user_agent(concat!("Mozilla/5.0 (compatible; ostler/", env!("CARGO_PKG_VERSION"), ")"))
        // Every hop is judged here.
        .redirect(redirect::Policy::none())
        // A proxy would choose the address by itself.
        .no_proxy()
        .dns_resolver(Arc::new(pins.clone()))
        // A connection that is kept could outlive the judgement of its address.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| format!("HTTP cannot be spoken: {error}"))
}

fn next(url: &Url, response: &Response) -> Result<Option<Url>, FetchError> {
    if !response.status().is_redirection() {
        return Ok(None);
    }
    let Some(location) = header(response.headers(), LOCATION.as_str()) else { return Ok(None) };
    let next = url.join(location).map_err(|_| Refused::NoUrl(location.to_owned()))?;
    Ok(Some(next))
}

async fn whole(url: Url, mut response: Response, most: u64) -> Result<Fetched, FetchError> {
    if !response.status().is_success() {
        return Err(FetchError::Status(response.status()));
    }
    if let Some(packed) = header(response.headers(), CONTENT_ENCODING.as_str())
        && !packed.eq_ignore_ascii_case("identity")
    {
        return Err(FetchError::Packed(packed.to_owned()));
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
    let content_type = content_type.to_owned();
    if response.content_length().is_some_and(|length| length > most) {
        return Err(FetchError::TooLong(most));
    }
    let mut body = Vec::new();
    while let Some(piece) =
        response.chunk().await.map_err(|error| FetchError::Http(described(&error)))?
    {
        body.extend_from_slice(&piece);
        if body.len() as u64 > most {
            return Err(FetchError::TooLong(most));
        }
    }
    Ok(Fetched { url, content_type, body })
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The deepest cause says most; the URL stands beside it anyway.
fn described(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let what = if error.is_connect() { "it cannot be reached" } else { "the connection broke" };
    format!("{what}: {cause}")
}
