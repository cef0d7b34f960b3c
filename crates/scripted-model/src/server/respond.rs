//! From a request to its response.

use std::future::pending;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http_body_util::{BodyExt, Either, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming as IncomingBody};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::Shared;
use crate::conversation::Played;
use crate::events::{Api, Setting};
use crate::fault::{Cut, Fault};
use crate::incoming::Incoming;
use crate::player::Player;
use crate::playing::{CutShort, Playing, Signs, Ticket, cut};
use crate::records::{Outcome, RequestRecord, recorded_headers};
use crate::refusal::Plain;
use crate::script::{Answer, Pace};
use crate::socket::Wire;

pub(super) type Body = Either<Full<Bytes>, StreamBody<BoxStream<'static, Part>>>;
type Part = Result<Frame<Bytes>, CutShort>;

/// Codex caps a thread's history at its model's context, far below this.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// A client on the same machine sends its body at once; one that does not is stuck.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// Answers one request; an error ends the connection without a response.
pub(super) async fn respond(
    shared: Arc<Shared>,
    wire: Arc<Wire>,
    request: Request<IncomingBody>,
) -> Result<Response<Body>, CutShort> {
    let (parts, body) = request.into_parts();
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(refusal) => {
            record(&shared, &parts, Bytes::new(), Verdict::refused(&refusal));
            return Ok(plain_response(refusal, &[]));
        }
    };
    let outage = *shared.outage.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(status) = outage {
        let refusal = Plain::error(status, None, "the scripted model is told to be out of order");
        record(&shared, &parts, Bytes::new(), Verdict::refused(&refusal));
        return Ok(plain_response(refusal, &[]));
    }
    match route(&shared, &parts, &body) {
        Route::Refuse(refusal) => {
            record(&shared, &parts, body, Verdict::refused(&refusal));
            Ok(plain_response(refusal, &[]))
        }
        Route::RefuseThread(refusal, thread) => {
            let verdict = Verdict { thread: Some(thread), ..Verdict::refused(&refusal) };
            record(&shared, &parts, body, verdict);
            Ok(plain_response(refusal, &[]))
        }
        Route::Models => {
            let verdict = Verdict { outcome: Outcome::Finished, thread: None, played: None };
            record(&shared, &parts, body, verdict);
            Ok(plain_response(Plain::models(), &[]))
        }
        Route::Play(scene) => {
            let verdict = Verdict {
                outcome: Outcome::Playing,
                thread: Some(scene.thread.clone()),
                played: Some(scene.played.clone()),
            };
            let number = record(&shared, &parts, body, verdict);
            let ticket = Ticket::new(Arc::clone(&shared.records), shared.stop.clone(), number);
            play(&shared, wire, &scene, ticket).await
        }
    }
}

enum Route<'script> {
    Models,
    Play(Scene<'script>),
    Refuse(Plain),
    RefuseThread(Plain, String),
}

/// An answer and all it needs to be played.
struct Scene<'script> {
    answer: &'script Answer,
    pace: Pace,
    setting: Setting,
    thread: String,
    played: Played,
}

fn route<'shared>(shared: &'shared Shared, parts: &Parts, body: &Bytes) -> Route<'shared> {
    if !knows_the_key(shared, parts) {
        let code = Some("invalid_api_key");
        let message = "the request does not carry the key that the scripted model demands";
        return Route::Refuse(Plain::error(StatusCode::UNAUTHORIZED, code, message));
    }
    match (&parts.method, parts.uri.path()) {
        (&Method::POST, "/v1/responses") => find_scene(shared, parts, body, Api::Responses),
        (&Method::POST, "/v1/chat/completions") => find_scene(shared, parts, body, Api::Chat),
        (&Method::GET, "/v1/models") => Route::Models,
        (method, path @ ("/v1/responses" | "/v1/chat/completions" | "/v1/models")) => {
            let message = format!("the scripted model does not take {method} on {path}");
            let status = StatusCode::METHOD_NOT_ALLOWED;
            Route::Refuse(Plain::error(status, None, &message))
        }
        (method, path) => {
            let message = format!(
                "the scripted model has no {method} {path}; it serves POST /v1/responses, POST /v1/chat/completions and GET /v1/models"
            );
            Route::Refuse(Plain::error(StatusCode::NOT_FOUND, None, &message))
        }
    }
}

fn knows_the_key(shared: &Shared, parts: &Parts) -> bool {
    let demanded = shared.key.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(key) = demanded.as_ref() else { return true };
    let sent = parts.headers.get(AUTHORIZATION);
    sent.is_some_and(|sent| sent.as_bytes() == format!("Bearer {key}").as_bytes())
}

fn find_scene<'shared>(
    shared: &'shared Shared,
    parts: &Parts,
    body: &Bytes,
    api: Api,
) -> Route<'shared> {
    if let Some(encoding) = parts.headers.get(CONTENT_ENCODING) {
        // Codex compresses for OpenAI's own servers only, whatever its features say.
        let message = format!("the scripted model takes plain JSON, not {encoding:?}");
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Route::Refuse(Plain::error(status, None, &message));
    }
    let body = match serde_json::from_slice::<Value>(body) {
        Ok(body) => body,
        Err(error) => {
            let message = format!("the body is not JSON: {error}");
            return Route::Refuse(Plain::error(StatusCode::BAD_REQUEST, None, &message));
        }
    };
    let incoming = Incoming::read(&parts.headers, &body);
    if !incoming.streams {
        let message = "the scripted model answers with events only; ask with \"stream\": true";
        return Route::Refuse(Plain::error(StatusCode::BAD_REQUEST, None, message));
    }
    let mut progress = shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
    match progress.choose(&shared.script, &incoming) {
        Ok(choice) => Route::Play(Scene {
            answer: choice.answer,
            pace: choice.answer.pace.unwrap_or(shared.script.pace),
            setting: Setting {
                seed: choice.seed,
                model: incoming.model,
                created_at_s: now_s(),
                api,
            },
            thread: incoming.thread,
            played: choice.played,
        }),
        Err(no_answer) => {
            let code = Some("script_has_no_answer");
            let refusal = Plain::error(StatusCode::BAD_REQUEST, code, &no_answer.to_string());
            Route::RefuseThread(refusal, incoming.thread)
        }
    }
}

async fn play(
    shared: &Shared,
    wire: Arc<Wire>,
    scene: &Scene<'_>,
    mut ticket: Ticket,
) -> Result<Response<Body>, CutShort> {
    // The sender lives as long as the server, so this waits for its word and nothing else.
    drop(shared.held.subscribe().wait_for(|held| !held).await);
    sleep(Duration::from_millis(scene.pace.before_headers_ms)).await;
    let fault = scene.answer.fault.as_ref();
    let outcome = fault.map_or(Outcome::Finished, |fault| Outcome::FaultPlayed(fault.kind()));
    match fault {
        Some(Fault::HangBeforeHeaders { for_ms: None }) => pending().await,
        Some(Fault::HangBeforeHeaders { for_ms: Some(time) }) => {
            sleep(Duration::from_millis(*time)).await;
        }
        Some(Fault::DropBeforeHeaders { how }) => {
            cut(&wire, *how);
            ticket.settle(outcome);
            return Err(CutShort);
        }
        Some(Fault::Refuse { for_ms }) => {
            // The door is closed before this connection ends: the retry must find it closed.
            if let Err(error) = shared.door.close(for_ms.map(Duration::from_millis)).await {
                tracing::warn!(%error, "connections are not refused");
            }
            cut(&wire, Cut::Reset);
            ticket.settle(outcome);
            return Err(CutShort);
        }
        Some(fault) => {
            if let Some(plain) = Plain::of_fault(fault, now_s()) {
                ticket.settle(outcome);
                return Ok(plain_response(plain, &scene.answer.headers));
            }
        }
        None => {}
    }
    let playing = Playing {
        player: Player::new(scene.answer, scene.pace, scene.setting.clone()),
        wire,
        ticket,
        outcome,
        keep_alive: Signs::of(&scene.pace),
    };
    let stream: BoxStream<'static, Part> = Box::pin(playing.into_stream());
    let mut response = Response::new(Either::Right(StreamBody::new(stream)));
    let fixed = [("content-type", "text/event-stream"), ("cache-control", "no-cache")];
    let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
    set_headers(&mut response, &fixed);
    set_headers(&mut response, &scene.answer.headers);
    Ok(response)
}

async fn read_body(body: IncomingBody) -> Result<Bytes, Plain> {
    match timeout(BODY_DEADLINE, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => {
            let message = format!("the body cannot be read: {error}");
            Err(Plain::error(StatusCode::PAYLOAD_TOO_LARGE, None, &message))
        }
        Err(_) => {
            let message = format!("the body did not come within {BODY_DEADLINE:?}");
            Err(Plain::error(StatusCode::REQUEST_TIMEOUT, None, &message))
        }
    }
}

/// What a request's record says beside the request itself.
struct Verdict {
    outcome: Outcome,
    thread: Option<String>,
    played: Option<Played>,
}

impl Verdict {
    fn refused(refusal: &Plain) -> Self {
        Self { outcome: Outcome::Refused(refusal.status.as_u16()), thread: None, played: None }
    }
}

fn record(shared: &Shared, parts: &Parts, body: Bytes, verdict: Verdict) -> u64 {
    let path = parts.uri.path_and_query();
    shared.records.add(RequestRecord {
        number: 0,
        method: parts.method.to_string(),
        path: path.map_or_else(String::new, ToString::to_string),
        headers: recorded_headers(&parts.headers),
        body,
        thread: verdict.thread.filter(|thread| !thread.is_empty()),
        played: verdict.played,
        outcome: verdict.outcome,
    })
}

fn plain_response(plain: Plain, headers: &[(String, String)]) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(plain.body))));
    *response.status_mut() = plain.status;
    set_headers(&mut response, &plain.headers);
    set_headers(&mut response, headers);
    response
}

/// The headers of a script were checked when it was read.
fn set_headers(response: &mut Response<Body>, headers: &[(String, String)]) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
