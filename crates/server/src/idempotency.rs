//! A request that is repeated with the same `Idempotency-Key` is done once.
//!
//! Starts and messages are known by their key for good, in the store. All others are known here for a while: long enough for a
//! client whose connection broke before it heard the answer.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::Instant;

use crate::Caller;
use crate::given::read_whole;
use crate::problem::{Problem, Trouble};

pub(crate) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// That an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A client that tries again does so within seconds; one whose machine slept, perhaps later.
const REMEMBERED_FOR: Duration = Duration::from_secs(10 * 60);

/// Requests that are remembered; the oldest go first.
const REMEMBERED: usize = 1024;

/// What all answers that are remembered have together; the oldest go first. Most have a few hundred bytes, but that of an ask has the
/// patch that was asked about.
const ALL_BYTES: usize = 16 << 20;

/// Of a larger answer only that it was given is remembered, or a few of them would drive out all others.
const ANSWER_BYTES: usize = ALL_BYTES / 8;

const KEY_CHARACTERS: usize = 255;

/// All that were asked for with a key. One per process: there is one daemon in it.
static KNOWN: LazyLock<Mutex<VecDeque<Known>>> = LazyLock::new(Mutex::default);

#[derive(Clone)]
struct Known {
    /// Who, what and with which key.
    name: String,
    since: Instant,
    place: Arc<Place>,
}

#[derive(Default)]
struct Place {
    /// Held while the first one is under way.
    turn: Arc<AsyncMutex<()>>,
    outcome: OnceLock<Outcome>,
}

struct Outcome {
    digest: Vec<u8>,
    status: StatusCode,
    headers: HeaderMap,
    body: Result<Bytes, NotKept>,
}

/// Why only that it was given is remembered of an answer.
#[derive(Debug, Clone, Copy)]
enum NotKept {
    TooLarge,
    Secret,
}

/// The key of a request, if it has one that can be used.
pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| !text.is_empty() && text.len() <= KEY_CHARACTERS);
    match text {
        Some(text) => Ok(Some(text.to_owned())),
        None => {
            let detail = format!("an Idempotency-Key is up to {KEY_CHARACTERS} plain characters");
            Err(Problem::new(Trouble::BadRequest, detail))
        }
    }
}

/// The key of a request that can also stand in its body. Two that differ name two requests, and it is not known which is meant.
pub(crate) fn one_key(body: Option<&str>, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    match (body, key_of(headers)?) {
        (Some(body), Some(header)) if body != header => {
            let detail = "the key of the body and the Idempotency-Key are not the same";
            Err(Problem::new(Trouble::BadRequest, detail).hint("send one of them"))
        }
        (Some(body), _) => Ok(Some(body.to_owned())),
        (None, header) => Ok(header),
    }
}

/// What whoever repeats a request is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// The same answer.
    Again,
    /// That it was done: the answer is a secret, and secrets are told once.
    Once,
}

/// Stands before every POST whose body is JSON.
pub(crate) async fn once(request: Request, next: Next) -> Result<Response, Problem> {
    once_told(request, next, Telling::Again).await
}

/// The same where the answer is a secret.
pub(crate) async fn once_secret(request: Request, next: Next) -> Result<Response, Problem> {
    once_told(request, next, Telling::Once).await
}

async fn once_told(request: Request, next: Next, telling: Telling) -> Result<Response, Problem> {
    let Some(key) = key_of(request.headers())? else { return Ok(next.run(request).await) };
    let name = name(&request, &key);
    let (parts, body) = request.into_parts();
    let body = read_whole(body, &parts.extensions).await?;
    let digest = Sha256::digest(&body).to_vec();
    let (place, _turn) = remembered(&name).await;
    match place.outcome.get() {
        Some(known) => known.again(&digest, &key),
        None => {
            let response = next.run(Request::from_parts(parts, Body::from(body))).await;
            Ok(keep(response, digest, &place, telling).await)
        }
    }
}

/// The same for a body that is too large to be looked at: only its length tells it from another.
pub(crate) async fn once_by_length(request: Request, next: Next) -> Result<Response, Problem> {
    let Some(key) = key_of(request.headers())? else { return Ok(next.run(request).await) };
    let length = request.headers().get(header::CONTENT_LENGTH);
    let digest = length.map_or_else(Vec::new, |length| length.as_bytes().to_vec());
    let (place, _turn) = remembered(&name(&request, &key)).await;
    match place.outcome.get() {
        Some(known) => known.again(&digest, &key),
        None => Ok(keep(next.run(request).await, digest, &place, Telling::Again).await),
    }
}

fn name(request: &Request, key: &str) -> String {
    let caller = request.extensions().get::<Caller>().map(Caller::name).unwrap_or_default();
    format!("{caller}\n{}\n{key}", request.uri())
}

/// What was refused or failed may be tried again.
async fn keep(response: Response, digest: Vec<u8>, place: &Place, telling: Telling) -> Response {
    if !response.status().is_success() {
        return response;
    }
    if telling == Telling::Once {
        // Headers hold secrets, too: a login is a cookie.
        let (status, headers) = (response.status(), HeaderMap::new());
        drop(place.outcome.set(Outcome { digest, status, headers, body: Err(NotKept::Secret) }));
        return response;
    }
    let (parts, body) = response.into_parts();
    let (status, headers) = (parts.status, parts.headers.clone());
    let is_small = body.size_hint().exact().is_some_and(|size| size <= ANSWER_BYTES as u64);
    let (kept, body) = match is_small {
        false => (Err(NotKept::TooLarge), body),
        // It is in memory already, so nothing can break off.
        true => {
            let bytes = to_bytes(body, ANSWER_BYTES).await.unwrap_or_default();
            (Ok(bytes.clone()), Body::from(bytes))
        }
    };
    // Only whoever has the turn comes here, and once.
    drop(place.outcome.set(Outcome { digest, status, headers, body: kept }));
    make_room();
    Response::from_parts(parts, body)
}

/// Waits for one that is under way with the same name.
async fn remembered(name: &str) -> (Arc<Place>, OwnedMutexGuard<()>) {
    let place = {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.since.elapsed() < REMEMBERED_FOR);
        match known.iter().find(|known| known.name == name) {
            Some(known) => known.place.clone(),
            None => {
                if known.len() >= REMEMBERED {
                    known.pop_front();
                }
                let (name, place) = (name.to_owned(), Arc::<Place>::default());
                known.push_back(Known { name, since: Instant::now(), place: place.clone() });
                place
            }
        }
    };
    let turn = place.turn.clone().lock_owned().await;
    (place, turn)
}

/// Forgets the oldest answers until the rest is no larger than all may be.
fn make_room() {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let size = |known: &Known| known.place.outcome.get().map_or(0, Outcome::size);
    let mut all: usize = known.iter().map(size).sum();
    known.retain(|known| {
        let is_kept = all <= ALL_BYTES || size(known) == 0;
        all -= if is_kept { 0 } else { size(known) };
        is_kept
    });
}

impl Outcome {
    fn size(&self) -> usize {
        self.body.as_ref().map_or(0, Bytes::len)
    }

    fn again(&self, digest: &[u8], key: &str) -> Result<Response, Problem> {
        if self.digest != digest {
            let detail = format!("the Idempotency-Key {key:?} was used for another request");
            return Err(
                Problem::new(Trouble::Conflict, detail).hint("use a fresh key for each request")
            );
        }
        let body = self.body.clone().map_err(|why| {
            let (detail, hint) = match why {
                NotKept::TooLarge => (
                    "this was done before, and its answer is too large to be told again",
                    "it counts; read what came of it from where it stands now",
                ),
                NotKept::Secret => (
                    "this was done before, and the secret in its answer is told once",
                    "remove what came of it if its answer was lost, and ask anew with a fresh key",
                ),
            };
            Problem::new(Trouble::Conflict, detail).hint(hint)
        })?;
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        // Its length is that of the body that it gets now.
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        Ok(response)
    }
}
