//! The JSON body of a request.

use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::Extensions;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::problem::{Problem, Trouble, WHAT_IT_TAKES};

/// What the caller sent, read whole within the door's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<T>(pub T);

/// The body of a request that says all by its path: none, or an empty object.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// How long a body may take. A whole one of the largest size takes milliseconds on a unix socket; the rest is for a client
/// that is stopped in the middle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyDeadline(pub(crate) Duration);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read_whole(body, &parts.extensions).await?;
        // No body is the same as an empty object: every field of ours that has a default may be left out.
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // A list would be taken for the fields in their order, which nobody means.
        if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            let detail = "the body is not a JSON object";
            return Err(Problem::new(Trouble::BadRequest, detail)
                .hint("put the fields in braces: `{ \"field\": … }`"));
        }
        serde_json::from_slice(text).map(Self).map_err(|error| {
            Problem::new(
                Trouble::BadRequest,
                format!("the body is not the JSON that is wanted here: {error}"),
            )
            .hint(WHAT_IT_TAKES)
        })
    }
}

/// A body as it came, if it came in time and is not too long.
pub(crate) async fn read_whole(body: Body, extensions: &Extensions) -> Result<Bytes, Problem> {
    let deadline = extensions.get::<BodyDeadline>().map_or(Duration::ZERO, |d| d.0);
    let read = timeout(deadline, body.collect()).await.map_err(|_| {
        let detail = format!("the body took longer than {} s", deadline.as_secs_f32());
        Problem::new(Trouble::TooSlow, detail)
    })?;
    Ok(read.map_err(|error| unreadable(&error))?.to_bytes())
}

pub(crate) fn unreadable(error: &axum::Error) -> Problem {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if inner.is::<LengthLimitError>() {
            return too_large();
        }
        cause = inner.source();
    }
    Problem::new(Trouble::BadRequest, format!("the body ended early: {error}"))
}

pub(crate) fn too_large() -> Problem {
    Problem::new(Trouble::TooLarge, "the body is larger than this daemon takes")
        .hint("put large input into a file and name the file")
}
