//! Whether the login of a Codex home is another than before. What it is, nobody here looks at.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The file that `codex login` writes.
const FILE: &str = "auth.json";

/// Two digests of the login on disk. A home without one has a login, too: none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Of who is logged in. The tokens of one account are renewed by Codex itself, which says nothing of this.
    pub identity: String,
    /// Of all that is in the file.
    pub content: String,
}

impl Login {
    pub fn read(home: &Path) -> Self {
        let bytes = fs::read(home.join(FILE)).unwrap_or_default();
        let content = digest(&bytes);
        let identity = match serde_json::from_slice::<Value>(&bytes) {
            Ok(file) => {
                let account = file.pointer("/tokens/account_id");
                let parts = [file.get("auth_mode"), file.get("OPENAI_API_KEY"), account];
                let parts = parts.map(|part| part.cloned().unwrap_or_default());
                digest(Value::from(parts.to_vec()).to_string().as_bytes())
            }
            Err(_) => content.clone(),
        };
        Self { identity, content }
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_token_is_the_same_login_and_another_key_or_account_is_not() {
        let home = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(home.path().join(FILE), text).unwrap();
            Login::read(home.path())
        };
        let none = Login::read(home.path());
        let key = read(r#"{"auth_mode":"apikey","OPENAI_API_KEY":"one"}"#);
        let other = read(r#"{"auth_mode":"apikey","OPENAI_API_KEY":"two"}"#);
        let account = |token: &str, account: &str| {
            format!(r#"{{"tokens":{{"access_token":"{token}","account_id":"{account}"}}}}"#)
        };
        let (first, renewed) = (read(&account("a", "x")), read(&account("b", "x")));
        let elsewhere = read(&account("b", "y"));
        assert_eq!(first.identity, renewed.identity);
        assert_ne!(first.content, renewed.content);
        let all = [&none, &key, &other, &first, &elsewhere];
        for (at, one) in all.iter().enumerate() {
            assert!(all.iter().skip(at + 1).all(|two| two.identity != one.identity), "{one:?}");
        }
    }
}
