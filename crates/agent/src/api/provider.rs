//! Who answers: a place, the API that is spoken there, and where the key for it is.

use std::sync::Arc;

use super::ModelApi;
use super::chat::Chat;
use super::client::Client;
use super::credentials::{Credential, CredentialError, KeySource, Secret};
use super::patience::Patience;
use super::proxy::ThroughProxy;
use super::responses::Responses;

/// A provider of models.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Up to what both APIs share, for example `https://api.openai.com/v1`.
    pub base_url: String,
    pub wire: Wire,
    pub key: KeySource,
    /// Whose encrypted reasoning this is; see [`issuer`].
    pub issuer: String,
    /// Further headers of each request.
    pub headers: Vec<(String, Secret)>,
    pub proxy: Option<ThroughProxy>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Responses,
    Chat,
}

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("{0:?} is no URL of a provider; use one like https://api.openai.com/v1")]
    BaseUrl(String),
    #[error("{0:?} is no URL of a proxy")]
    Proxy(String),
    #[error("{0:?} is no header, or its value cannot be one")]
    Header(String),
    #[error("HTTP cannot be spoken: {0}")]
    Http(String),
}

/// The issuer of ChatGPT's own servers, which want more headers than others.
pub const CODEX_BACKEND: &str = "codex_backend";

/// The issuer of xAI's servers, which take another wish for reasoning.
pub const XAI: &str = "xai_responses";

/// The issuer of GitHub's servers, Copilot's, which take less of everything.
pub const GITHUB: &str = "github_responses";

/// Who issues reasoning at this place. Keys of one place can read each other's; nobody else can.
pub fn issuer(base_url: &str) -> String {
    if base_url.contains("/backend-api/codex") {
        return CODEX_BACKEND.to_owned();
    }
    let url = reqwest::Url::parse(base_url).ok();
    let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
    let is_of = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    if is_of("x.ai") {
        XAI.to_owned()
    } else if is_of("githubcopilot.com") {
        GITHUB.to_owned()
    } else {
        format!("other:{}", base_url.trim_end_matches('/'))
    }
}

impl Provider {
    /// The key for this place. A login may have changed since the place was chosen by it, and a key is shown to nobody else.
    pub(crate) async fn credential(&self) -> Result<Credential, CredentialError> {
        let credential = self.key.fetch().await?;
        match &self.key {
            KeySource::CodexLogin { codex_home }
                if self.issuer == CODEX_BACKEND && credential.account.is_none() =>
            {
                Err(CredentialError::KeyForAnother(codex_home.clone()))
            }
            _ => Ok(credential),
        }
    }

    /// A client for this provider, to be shared by all who ask. Nothing is sent yet, and no key is fetched.
    pub fn connect(self, patience: Patience) -> Result<Arc<dyn ModelApi>, ProviderError> {
        let issuer = self.issuer.clone();
        Ok(match self.wire {
            Wire::Responses => Arc::new(Client::new(self, patience, Responses { issuer })?),
            Wire::Chat => Arc::new(Client::new(self, patience, Chat)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_its_own_issuer() {
        let issuers = [
            "https://chatgpt.com/backend-api/codex",
            "https://api.openai.com/v1/",
            "https://api.openai.com/v1",
            "https://api.x.ai/v1",
            "https://api.individual.githubcopilot.com",
            "https://notx.ai/v1",
        ]
        .map(issuer);
        let openai = "other:https://api.openai.com/v1";
        let other = "other:https://notx.ai/v1";
        assert_eq!(issuers, [CODEX_BACKEND, openai, openai, XAI, GITHUB, other]);
    }

    #[test]
    fn what_is_no_url_is_refused() {
        let provider = |base_url: &str, proxy: Option<&str>| Provider {
            base_url: base_url.to_owned(),
            wire: Wire::Chat,
            key: KeySource::None,
            issuer: String::new(),
            headers: Vec::new(),
            proxy: proxy.map(|url| ThroughProxy { url: url.to_owned(), not_for: String::new() }),
        };
        let said = |provider: Provider| match provider.connect(Patience::default()) {
            Ok(_) => panic!("it is taken"),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            said(provider("api.openai.com", None)),
            "\"api.openai.com\" is no URL of a provider; use one like https://api.openai.com/v1"
        );
        assert_eq!(
            said(provider("https://api.openai.com", Some("::"))),
            "\"::\" is no URL of a proxy"
        );
    }

    /// The place was chosen by a login that is another one now.
    #[tokio::test]
    async fn a_key_of_the_api_is_not_shown_to_chatgpt() {
        let home = tempfile::tempdir().unwrap();
        let login = |text: &str| std::fs::write(home.path().join("auth.json"), text).unwrap();
        let place = "https://chatgpt.com/backend-api/codex";
        let provider = Provider {
            base_url: place.to_owned(),
            wire: Wire::Responses,
            key: KeySource::CodexLogin { codex_home: home.path().to_owned() },
            issuer: issuer(place),
            headers: Vec::new(),
            proxy: None,
        };
        login(r#"{"tokens": {"access_token": "at", "account_id": "acc"}}"#);
        assert!(provider.credential().await.is_ok());
        login(r#"{"auth_mode": "apikey", "OPENAI_API_KEY": "sk"}"#);
        let said = provider.credential().await.unwrap_err().to_string();
        assert!(said.contains("begin a new session"), "{said}");
    }
}
