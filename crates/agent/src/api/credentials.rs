//! Keys: where they come from, and that nobody sees them.

mod codex_login;
mod command;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;

pub use codex_login::base_url as codex_login_base_url;

/// A key. It is shown to nobody: not in messages, not in logs, not by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Fetches a key whenever one is needed; only `cli` reads the environment.
pub type FetchSecret = Arc<dyn Fn() -> Option<Secret> + Send + Sync>;

/// Where a key is. It is fetched at the first question, and once more when the provider no longer takes it.
#[derive(Clone)]
pub enum KeySource {
    /// The provider wants none.
    None,
    /// Whoever starts the agent has it.
    Given {
        /// For messages: the name of a variable, for example.
        name: String,
        fetch: FetchSecret,
    },
    /// The file's text, without the white space around it.
    File(PathBuf),
    /// What this program writes to its standard output, without the white space around it.
    Command(Vec<String>),
    /// The login of Codex, which alone renews it: two programs that redeem the same refresh token log each other out.
    CodexLogin { codex_home: PathBuf },
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("{0} is not set; set it to the provider's key")]
    NotGiven(String),
    #[error("cannot read the key in {path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{0} has no key in it")]
    Empty(String),
    #[error("{0} has more than a key in it, or characters that no key has")]
    NoKey(String),
    #[error("no command is named that prints the key")]
    NoCommand,
    #[error("cannot run {program}, which prints the key: {source}")]
    Command { program: String, source: io::Error },
    #[error("{program}, which prints the key, failed with {status}")]
    CommandFailed { program: String, status: String },
    #[error("{program}, which prints the key, did not end within {within:?}")]
    CommandHangs { program: String, within: Duration },
    #[error("nobody is logged in to Codex in {0}; run `codex login`")]
    NotLoggedIn(PathBuf),
    #[error(
        "Codex is logged in with an API key in {0}, which ChatGPT's servers are not to see; begin a new session, or give the provider another base_url"
    )]
    KeyForAnother(PathBuf),
    #[error("{path} is not what Codex writes: {source}; run `codex login`")]
    BadLogin { path: PathBuf, source: serde_json::Error },
}

/// What a request carries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) key: Option<Secret>,
    /// ChatGPT's account, which its servers want beside the key.
    pub(crate) account: Option<String>,
}

/// A key is a line; the longest known, ChatGPT's tokens, have some 2 KiB.
const MAX_KEY_BYTES: usize = 64 * 1024;

/// Password managers ask their user to unlock them; this is how long one is given for that.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

impl Secret {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// For whoever hands it over; it goes nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Takes the key out of a text: some providers repeat it when they refuse it.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.0, "[key]"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(hidden)")
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Given { name, .. } => formatter.debug_tuple("Given").field(name).finish(),
            Self::File(path) => formatter.debug_tuple("File").field(path).finish(),
            // Its arguments may be secrets.
            Self::Command(argv) => formatter.debug_tuple("Command").field(&argv.first()).finish(),
            Self::CodexLogin { codex_home } => {
                formatter.debug_tuple("CodexLogin").field(codex_home).finish()
            }
        }
    }
}

impl KeySource {
    pub(crate) async fn fetch(&self) -> Result<Credential, CredentialError> {
        let key = match self {
            Self::None => return Ok(Credential::default()),
            Self::CodexLogin { codex_home } => return codex_login::read(codex_home).await,
            Self::Given { name, fetch } => {
                let secret = fetch().ok_or_else(|| CredentialError::NotGiven(name.clone()))?;
                as_key(&secret.0, name)?
            }
            Self::File(path) => as_key(&read_file(path).await?, &path.display().to_string())?,
            Self::Command(argv) => {
                let (program, text) = command::output(argv, COMMAND_TIMEOUT).await?;
                as_key(&text, &format!("the output of {program}"))?
            }
        };
        Ok(Credential { key: Some(key), account: None })
    }

    /// The secret itself, for whoever needs one that is kept as keys are.
    pub async fn secret(&self) -> Result<Option<Secret>, CredentialError> {
        Ok(self.fetch().await?.key)
    }

    /// What a person can do when the provider does not take the key.
    pub(crate) fn advice(&self) -> String {
        match self {
            Self::None => "the provider wants a key; name one in its settings".to_owned(),
            Self::Given { name, .. } => format!("look at {name}"),
            Self::File(path) => format!("look at the key in {}", path.display()),
            Self::Command(argv) => {
                let program = argv.first().map_or("", String::as_str);
                format!("look at what {program} prints")
            }
            Self::CodexLogin { codex_home } => {
                format!("run `CODEX_HOME={} codex login`", codex_home.display())
            }
        }
    }
}

fn as_key(text: &str, whence: &str) -> Result<Secret, CredentialError> {
    let key = text.trim();
    if key.is_empty() {
        return Err(CredentialError::Empty(whence.to_owned()));
    }
    match key.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Secret::new(key)),
        false => Err(CredentialError::NoKey(whence.to_owned())),
    }
}

/// Never more than a key, whatever the file is.
async fn read_file(path: &Path) -> Result<String, CredentialError> {
    let read = async {
        let mut text = String::new();
        let file = tokio::fs::File::open(path).await?;
        file.take(MAX_KEY_BYTES as u64).read_to_string(&mut text).await?;
        Ok(text)
    };
    read.await.map_err(|source| CredentialError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
