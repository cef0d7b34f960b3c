//! Tokens and logins, as they are remembered: by their digest, never by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use ostler_engine::{KeyRow, Store, StoreError, Write};
use ostler_model::{AuditEntry, AuditKind};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::scope::Scope;
use super::secret::{Digest, Secret};

/// Logins that are remembered; past it the one that was used longest ago ends. A person has a few browsers.
const LOGINS: usize = 64;

/// Each is looked through on every request: a thousand digests take some 20 µs.
const TOKENS: usize = 1000;

/// When a key was last used is written down this often at most, so that requests write nothing.
const NOTED_EVERY_MS: i64 = 10 * 60 * 1000;

/// How long a browser stays logged in.
pub(crate) const LOGIN_LIVES_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// A token or a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    pub id: String,
    /// Of the token, or of who logged in.
    pub name: String,
    pub kind: KeyKind,
    pub scopes: BTreeSet<Scope>,
    /// Who made it.
    pub made_by: String,
    /// Unix milliseconds, as all that follow.
    pub created_at: i64,
    pub expires_at: Option<i64>,
    #[serde(default)]
    pub last_used_at: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// For a program.
    Token,
    /// Of a browser.
    Login,
}

/// All that hold, also those of earlier daemons.
pub(crate) struct Keys {
    store: Store,
    known: RwLock<BTreeMap<String, Known>>,
}

/// Answers without an end that one key may have open: 500 viewers of a busy task. The other connections over TCP are for others.
const STREAMS_PER_KEY: usize = 500;

#[derive(Clone)]
struct Known {
    digest: Digest,
    key: Key,
    /// Of a login: what must come with the cookie.
    word: Option<Digest>,
    /// Cancelled when it is removed, so that what was opened by it ends.
    ended: CancellationToken,
    streams: Arc<Semaphore>,
}

/// A key that somebody has shown.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) key: Key,
    pub(crate) word: Option<Digest>,
    pub(crate) ended: CancellationToken,
    /// One for each answer without an end.
    pub(crate) streams: Arc<Semaphore>,
}

/// As it stands in the store.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    key: Key,
    /// A login without it is of an earlier version, and has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    word: Option<Digest>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("there are {TOKENS} tokens already; remove some with `ostler token rm`")]
    TooMany,
    #[error("there is no token or login {0}; `ostler token ls` lists them")]
    None(String),
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Known {
    fn new(digest: Digest, key: Key, word: Option<Digest>) -> Self {
        let streams = Arc::new(Semaphore::new(STREAMS_PER_KEY));
        Self { digest, key, word, ended: CancellationToken::new(), streams }
    }
}

impl Keys {
    pub(crate) async fn open(store: Store) -> Result<Self, StoreError> {
        let mut known = BTreeMap::new();
        for row in store.keys().await? {
            match serde_json::from_str::<Stored>(&row.json) {
                Ok(Stored { key, word }) => {
                    known.insert(row.id, Known::new(Digest::stored(row.digest), key, word));
                }
                Err(error) => {
                    tracing::error!(%error, id = row.id, "a token cannot be read and does not count");
                }
            }
        }
        Ok(Self { store, known: RwLock::new(known) })
    }

    /// A new key. Its secret is told once, here.
    pub(crate) async fn make(
        &self,
        wanted: Key,
        word: Option<Digest>,
        entry: AuditEntry,
    ) -> Result<(Key, Secret), KeyError> {
        let prefix = if wanted.kind == KeyKind::Token { "ostler_" } else { "" };
        let secret = Secret::new(prefix)?;
        let digest = secret.digest();
        // Enough of a hash of it to be a name, too little to be of use.
        let id = secret.derived("id").tell().chars().take(8).collect();
        let key = Key { id, ..wanted };
        self.make_room(key.kind, &entry).await?;
        let known = Known::new(digest, key.clone(), word);
        // Together: there is no key without its entry in the audit log.
        let writes = vec![Write::Key(row(&known)), Write::Audit(Box::new(of_key(entry, &key)))];
        self.store.commit(writes.into()).await?;
        self.known().insert(key.id.clone(), known);
        Ok((key, secret))
    }

    /// The key that this is the secret of. Each is compared, and each in the same time.
    pub(crate) fn find(&self, secret: &Secret, kind: KeyKind) -> Option<Shown> {
        let (digest, now) = (secret.digest(), now());
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for candidate in known.values() {
            if candidate.digest.is(&digest) {
                let Known { key, word, ended, streams, .. } = candidate.clone();
                found = Some(Shown { key, word, ended, streams });
            }
        }
        found
            .filter(|shown| shown.key.kind == kind)
            .filter(|shown| shown.key.expires_at.is_none_or(|end| end > now))
    }

    /// That it was used. It is no harm if that is lost.
    pub(crate) async fn note_use(&self, id: &str) {
        let used = {
            let mut known = self.known();
            let Some(known) = known.get_mut(id) else { return };
            let now = now();
            if known.key.last_used_at.is_some_and(|last| now < last + NOTED_EVERY_MS) {
                return;
            }
            known.key.last_used_at = Some(now);
            known.clone()
        };
        let written = self.store.commit(Write::KeyUsed(row(&used)).into()).await;
        if let Err(error) = written {
            tracing::warn!(%error, "when a token was used could not be written down");
        }
    }

    /// The oldest first.
    pub(crate) fn list(&self, kind: KeyKind) -> Vec<Key> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut keys: Vec<Key> =
            known.values().map(|known| known.key.clone()).filter(|key| key.kind == kind).collect();
        keys.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        keys
    }

    /// It counts no more from the moment that this returns.
    pub(crate) async fn remove(&self, id: &str, entry: AuditEntry) -> Result<Key, KeyError> {
        let found = self.known().get(id).cloned();
        let Known { key, ended, .. } = found.ok_or_else(|| KeyError::None(id.to_owned()))?;
        let gone = Write::KeyGone { id: id.to_owned() };
        let writes = vec![gone, Write::Audit(Box::new(of_key(entry, &key)))];
        self.store.commit(writes.into()).await?;
        self.known().remove(id);
        ended.cancel();
        Ok(key)
    }

    async fn make_room(&self, kind: KeyKind, entry: &AuditEntry) -> Result<(), KeyError> {
        let keys = self.list(kind);
        match kind {
            KeyKind::Token if keys.len() >= TOKENS => Err(KeyError::TooMany),
            KeyKind::Login if keys.len() >= LOGINS => {
                let used = |key: &Key| key.last_used_at.unwrap_or(key.created_at);
                if let Some(oldest) = keys.iter().min_by_key(|key| used(key)) {
                    let entry = AuditEntry { kind: AuditKind::KeyRemoved, ..entry.clone() };
                    self.remove(&oldest.id, entry).await?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn known(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<String, Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn row(known: &Known) -> KeyRow {
    let Known { digest, key, word, .. } = known.clone();
    let id = key.id.clone();
    let json = serde_json::to_string(&Stored { key, word }).unwrap_or_default();
    KeyRow { id, digest: digest.as_str().to_owned(), json }
}

/// With what the key is, which is no secret.
fn of_key(entry: AuditEntry, key: &Key) -> AuditEntry {
    let kind = match key.kind {
        KeyKind::Token => "token",
        KeyKind::Login => "login",
    };
    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.name()).collect();
    let what = format!("{kind} {} ({}) may {}", key.name, key.id, scopes.join(", "));
    let AuditEntry { kind, at, who, place, .. } = entry;
    AuditEntry::new(kind, at, &who, &place, &what)
}

pub(crate) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
