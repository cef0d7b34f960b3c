//! Whether the login of a Codex home is another than before. What it is, nobody here looks at.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

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

/// Holds some dozen events of the kernel; what does not fit waits there.
const EVENT_BYTES: usize = 4096;

/// A home that is watched for another login. The kernel tells it (`inotify(7)`), so nothing is looked at while nothing is written there.
#[derive(Debug)]
pub struct LoginWatch {
    home: PathBuf,
    events: pipe::Receiver,
}

impl LoginWatch {
    pub fn new(home: &Path) -> io::Result<Self> {
        let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        // Only a file that somebody has written to its end.
        let written = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        add_watch(&events, home, written)?;
        // It is no pipe, but is read and waited for like one.
        let events = pipe::Receiver::from_owned_fd_unchecked(events)?;
        Ok(Self { home: home.to_owned(), events })
    }

    /// Returns when a login is there whose content is another. Cancel-safe. Never returns if the kernel can tell nothing more.
    pub async fn differs_from(&mut self, content: &str) {
        while !self.home.join(FILE).exists() || Login::read(&self.home).content == content {
            let mut buffer = [0_u8; EVENT_BYTES];
            match self.events.read(&mut buffer).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => std::future::pending().await,
            }
        }
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
