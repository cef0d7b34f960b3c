//! A place of a provider beside its models: JSON or a form goes there, JSON or a file comes back.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::api::credentials::Credential;
use crate::api::http::{Http, describe};
use crate::api::{Patience, Provider};

/// Pictures take minutes where many want some.
const PATIENCE: Duration = Duration::from_secs(300);

/// A picture of 8 megapixels as text has some 40 MB.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// What is told of a refusal.
const REFUSAL: usize = 500;

/// A provider that is asked for files.
#[derive(Debug, Clone)]
pub struct Endpoint {
    provider: Result<Provider, String>,
}

pub(super) struct Sent {
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

impl Endpoint {
    /// One that cannot be asked says why at every call: a chat must not fail for a tool that nobody uses in it.
    pub fn new(provider: Result<Provider, String>) -> Self {
        Self { provider }
    }

    /// Posts, and gives what came back whole. Errors are for the model.
    pub(super) async fn post(
        &self,
        path: &str,
        sent: Sent,
        stop: &CancellationToken,
    ) -> Result<Vec<u8>, String> {
        let posting = tokio::time::timeout(PATIENCE, self.post_without_end(path, sent));
        tokio::select! {
            biased;
            () = stop.cancelled() => Err("the turn was stopped; whether it was done is not known".to_owned()),
            answer = posting => answer.unwrap_or_else(|_| {
                Err(format!("the provider did not answer within {} s", PATIENCE.as_secs()))
            }),
        }
    }

    async fn post_without_end(&self, path: &str, sent: Sent) -> Result<Vec<u8>, String> {
        let provider = self.provider.as_ref().map_err(String::clone)?;
        let http = Http::new(provider, &Patience::default(), path);
        let http = http.map_err(|error| error.to_string())?;
        let credential = provider.credential().await.map_err(|error| error.to_string())?;
        let request = http.post(&sent.content_type, sent.body, &credential);
        let mut response = request.send().await.map_err(|error| describe(&error))?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| describe(&error))? {
            body.extend_from_slice(&piece);
            if body.len() > MOST_BYTES {
                return Err(format!("the provider answered with more than {MOST_BYTES} bytes"));
            }
        }
        match status.is_success() {
            true => Ok(body),
            false => Err(refusal(provider, status.as_u16(), &body, &credential)),
        }
    }
}

fn refusal(provider: &Provider, status: u16, body: &[u8], credential: &Credential) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let own = json.pointer("/error/message").or_else(|| json.get("message"));
    let own = own.and_then(Value::as_str).map(str::to_owned);
    let said = own.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let said: String = said.trim().chars().take(REFUSAL).collect();
    let said = credential.key.as_ref().map_or_else(|| said.clone(), |key| key.hide_in(&said));
    let advice = match status {
        401 | 403 => format!(" ({})", provider.key.advice()),
        404 => " (perhaps this provider does not do that; the user can name another)".to_owned(),
        _ => String::new(),
    };
    format!("the provider answered {status}: {said}{advice}")
}
