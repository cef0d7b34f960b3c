//! The way to a service: resolved names are looked at before anything is sent, and what was looked at is what is connected to.

use std::error::Error;
use std::net::SocketAddr;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use ostler_model::notification::Outcome;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};
use thiserror::Error;

use super::address::{is_private_number, is_public, names_itself};
use super::letter::{Answer, Follows, Letter};

/// A receiver that has moved points to its new place; one that points on and on does not know where it is.
const MOST_HOPS: usize = 3;

/// As much of an answer as is read. The longest that means something, Slack's, repeats the message.
const MOST_ANSWER: usize = 32 * 1024;

#[derive(Debug, Error)]
pub enum RoadError {
    #[error("nothing can be sent over HTTP: {0}")]
    Client(String),
}

/// Two clients that differ in what they connect to. Neither follows anybody nor uses a proxy.
#[derive(Debug)]
pub(super) struct Road {
    /// For what the operator has named.
    open: Client,
    /// Connects to public addresses only, whatever a name stands for at that moment.
    public: Client,
}

#[derive(Debug, Error)]
#[error("its name stands for an address that is not public")]
struct NotPublic;

struct PublicOnly;

impl Resolve for PublicOnly {
    /// What is given back is what is connected to: a name cannot stand for something else a moment later.
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.collect();
            // One is enough: which of them is used would be chance.
            if found.iter().any(|address| !is_public(address.ip())) {
                return Err(NotPublic.into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

impl Road {
    pub(super) fn new() -> Result<Self, RoadError> {
        // It fails only if somebody has chosen a provider before, and that one is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = || {
            Client::builder()
                .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
                .redirect(redirect::Policy::none())
                .no_proxy()
        };
        let failed = |error: reqwest::Error| RoadError::Client(describe(&error));
        let public = client().dns_resolver(PublicOnly).build().map_err(failed)?;
        Ok(Self { open: client().build().map_err(failed)?, public })
    }

    /// `is_own` if the operator has written the address, `is_private` if they said that its name may stand for a private one.
    pub(super) async fn send(&self, letter: Letter, is_own: bool, is_private: bool) -> Outcome {
        let refused = |why: String| Outcome::Refused { why: letter.clean(&why) };
        let Ok(mut url) = Url::parse(&letter.url) else {
            return refused("the address cannot be read".to_owned());
        };
        let mut may_be_private = is_own && (is_private || names_itself(&url));
        for _ in 0..=MOST_HOPS {
            if !may_be_private && is_private_number(&url) {
                return refused("it is an address that is not public".to_owned());
            }
            let client = if may_be_private { &self.open } else { &self.public };
            let request = client.post(url.clone()).headers(headers(&letter));
            let response = match request.body(letter.body.clone()).send().await {
                Ok(response) => response,
                Err(error) if is_not_public(&error) => return refused(NotPublic.to_string()),
                Err(error) => {
                    let why = letter.clean(&describe(&error));
                    return Outcome::Failed { why, retry_after_ms: None };
                }
            };
            match next(&url, &response, letter.follows) {
                Hop::Here => return judge(&letter, response).await,
                Hop::To(there) => url = there,
                Hop::Nowhere(why) => return refused(why),
            }
            // Whoever points somewhere is not the operator.
            may_be_private = false;
        }
        refused(format!("it points somewhere else more than {MOST_HOPS} times"))
    }
}

enum Hop {
    Here,
    To(Url),
    Nowhere(String),
}

/// Only what keeps the message as it is: other redirects would make an empty request of it.
fn next(url: &Url, response: &Response, follows: Follows) -> Hop {
    let status = response.status().as_u16();
    if !(300..400).contains(&status) {
        return Hop::Here;
    }
    let nowhere =
        |why: &str| Hop::Nowhere(format!("it points somewhere else (HTTP {status}), {why}"));
    if !matches!(status, 307 | 308) || follows == Follows::Nothing {
        return nowhere("which is not followed; write the address that it points to");
    }
    let there = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
    match there.and_then(|place| url.join(place).ok()) {
        Some(there) if there.scheme() == "http" && url.scheme() == "https" => {
            nowhere("and there others could read it")
        }
        Some(there) if matches!(there.scheme(), "http" | "https") => Hop::To(there),
        _ => nowhere("and does not say where"),
    }
}

async fn judge(letter: &Letter, mut response: Response) -> Outcome {
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER);
    let now = Timestamp::now().as_second();
    let retry_after = retry_after.and_then(|wait| seconds_of(wait.to_str().ok()?, now));
    let mut body = Vec::new();
    // What breaks off in the middle of its answer has said what it means with its status.
    while let Ok(Some(piece)) = response.chunk().await {
        let room = MOST_ANSWER.saturating_sub(body.len());
        body.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        if body.len() >= MOST_ANSWER {
            break;
        }
    }
    let body = letter.clean(&String::from_utf8_lossy(&body));
    let retry_after_ms = retry_after.map(|seconds| seconds.saturating_mul(1000));
    (letter.judge)(&Answer { status, retry_after_ms, body })
}

/// `Retry-After` is a number of seconds, or the time at which it may be tried again.
pub(super) fn seconds_of(wait: &str, now: i64) -> Option<u64> {
    let wait = wait.trim();
    wait.parse().ok().or_else(|| {
        let at = rfc2822::parse(wait).ok()?.timestamp().as_second();
        Some(u64::try_from(at.saturating_sub(now)).unwrap_or(0))
    })
}

fn headers(letter: &Letter) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &letter.headers {
        if let Ok(mut value) = HeaderValue::try_from(value) {
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

fn is_not_public(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.is::<NotPublic>())
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(
        error.source(),
        |cause: &&(dyn Error + 'static)| -> Option<&(dyn Error + 'static)> { (*cause).source() },
    )
}

/// What is wrong, without the address, which may have a secret in it.
fn describe(error: &reqwest::Error) -> String {
    let what = match error {
        error if error.is_connect() => "cannot connect",
        error if error.is_timeout() => "it took too long",
        _ => "the connection broke",
    };
    causes(error).last().map_or_else(|| what.to_owned(), |cause| format!("{what}: {cause}"))
}
