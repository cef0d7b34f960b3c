//! The login that `codex login` has left in Codex's home.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Credential, CredentialError, Secret};

/// Where Codex itself asks with a ChatGPT login.
const CHATGPT: &str = "https://chatgpt.com/backend-api/codex";
/// And with an API key.
const OPENAI: &str = "https://api.openai.com/v1";

/// `auth.json`, as far as it concerns us. The refresh token is not read at all.
#[derive(Deserialize)]
struct Login {
    auth_mode: Option<String>,
    #[serde(rename = "OPENAI_API_KEY")]
    api_key: Option<String>,
    tokens: Option<LoginTokens>,
}

#[derive(Deserialize)]
struct LoginTokens {
    access_token: Option<String>,
    account_id: Option<String>,
}

/// The base URL that belongs to the login in this home: ChatGPT's tokens are not taken by the API, nor its keys by ChatGPT.
///
/// Blocks for as long as a small file takes.
pub fn base_url(codex_home: &Path) -> Result<&'static str, CredentialError> {
    let path = codex_home.join("auth.json");
    let credential = parsed(std::fs::read_to_string(&path), codex_home, path)?;
    Ok(if credential.account.is_some() { CHATGPT } else { OPENAI })
}

/// As the file is now: Codex may have renewed it since it was read last.
pub(super) async fn read(codex_home: &Path) -> Result<Credential, CredentialError> {
    let path = codex_home.join("auth.json");
    parsed(tokio::fs::read_to_string(&path).await, codex_home, path)
}

fn parsed(
    read: std::io::Result<String>,
    codex_home: &Path,
    path: PathBuf,
) -> Result<Credential, CredentialError> {
    match read {
        Ok(text) => parse(&text, codex_home, path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(CredentialError::NotLoggedIn(codex_home.to_owned()))
        }
        Err(source) => Err(CredentialError::File { path, source }),
    }
}

fn parse(text: &str, codex_home: &Path, path: PathBuf) -> Result<Credential, CredentialError> {
    // The position alone is told: a part of the file's text could be a part of a key.
    let login: Login =
        serde_json::from_str(text).map_err(|source| CredentialError::BadLogin { path, source })?;
    let api_key = login.api_key.filter(|key| !key.is_empty());
    // As Codex 0.166 does: the mode decides, and without one an API key goes before tokens.
    let by_key = match login.auth_mode.as_deref() {
        Some(mode) => mode.eq_ignore_ascii_case("apikey"),
        None => api_key.is_some(),
    };
    let credential = match (by_key, api_key, login.tokens) {
        (true, Some(key), _) => Some(Credential { key: Some(Secret::new(key)), account: None }),
        (false, _, Some(tokens)) => {
            let key = tokens.access_token.filter(|token| !token.is_empty());
            // An account is sent even if it is not known: it also tells the two kinds of login apart.
            let account = Some(tokens.account_id.unwrap_or_default());
            key.map(|token| Credential { key: Some(Secret::new(token)), account })
        }
        _ => None,
    };
    credential.ok_or_else(|| CredentialError::NotLoggedIn(codex_home.to_owned()))
}
