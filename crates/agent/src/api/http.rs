//! The HTTP that both APIs speak.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Url, redirect};
use serde_json::Value;

use super::credentials::Credential;
use super::patience::Patience;
use super::provider::{Provider, ProviderError};

pub(crate) struct Http {
    client: reqwest::Client,
    url: Url,
}

impl Http {
    pub(crate) fn new(
        provider: &Provider,
        patience: &Patience,
        path: &str,
    ) -> Result<Self, ProviderError> {
        let base = provider.base_url.trim_end_matches('/');
        let wrong = || ProviderError::BaseUrl(provider.base_url.clone());
        let url = Url::parse(&format!("{base}{path}")).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong());
        }
        // It fails only if somebody has chosen a provider before, and that one is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
            // A key is never carried to where somebody else points.
            .redirect(redirect::Policy::none())
            .no_proxy();
        if let Some(limit) = patience.connect {
            builder = builder.connect_timeout(limit);
        }
        if let Some(proxy) = &provider.proxy {
            let wrong = || ProviderError::Proxy(proxy.url.clone());
            builder = builder.proxy(proxy.proxy().ok_or_else(wrong)?);
        }
        let mut always = HeaderMap::new();
        for (name, value) in &provider.headers {
            let wrong = || ProviderError::Header(name.clone());
            let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value.expose()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            always.insert(header, value);
        }
        let client = builder
            .default_headers(always)
            .build()
            .map_err(|error| ProviderError::Http(describe(&error)))?;
        Ok(Self { client, url })
    }

    pub(crate) fn request(
        &self,
        body: &Value,
        extra: &[(&'static str, String)],
        credential: &Credential,
    ) -> RequestBuilder {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in extra {
            insert(&mut headers, HeaderName::from_static(name), value);
        }
        identify(&mut headers, credential);
        self.client.post(self.url.clone()).headers(headers).body(body.to_string())
    }

    /// For what is only looked at.
    pub(crate) fn get(&self, credential: &Credential) -> RequestBuilder {
        let mut headers = HeaderMap::new();
        identify(&mut headers, credential);
        self.client.get(self.url.clone()).headers(headers)
    }

    /// Of any kind, for the places beside the models themselves: pictures, speech.
    pub(crate) fn post(
        &self,
        content_type: &str,
        body: Vec<u8>,
        credential: &Credential,
    ) -> RequestBuilder {
        let mut headers = HeaderMap::new();
        insert(&mut headers, CONTENT_TYPE, content_type);
        identify(&mut headers, credential);
        self.client.post(self.url.clone()).headers(headers).body(body)
    }
}

fn identify(headers: &mut HeaderMap, credential: &Credential) {
    if let Some(key) = &credential.key
        && let Ok(mut value) = HeaderValue::try_from(format!("Bearer {}", key.expose()))
    {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if let Some(account) = credential.account.as_deref().filter(|account| !account.is_empty()) {
        insert(headers, HeaderName::from_static("chatgpt-account-id"), account);
    }
}

/// A value that no header can have is left out: none of these decides what is answered.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// How long the provider asks to wait. A date is not read: who sends one means longer than anybody waits here.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let milliseconds = number("retry-after-ms").map(|time| time / 1000.0);
    Duration::try_from_secs_f64(milliseconds.or_else(|| number("retry-after"))?).ok()
}

/// The causes of an error, without the URL, which may have a key in it.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let what = if error.is_connect() {
        "cannot connect to the provider"
    } else if error.is_timeout() {
        "the provider took too long"
    } else if error.is_body() || error.is_decode() {
        "the connection to the provider broke in the middle of the answer"
    } else {
        "the connection to the provider broke"
    };
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| what.to_owned(), |cause| format!("{what}: {cause}"))
}
