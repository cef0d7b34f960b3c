//! Logging in and out, and tokens, over HTTP.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_model::{AuditEntry, AuditKind};
use serde::{Deserialize, Serialize};

use super::codes::LIVES;
use super::keys::{KeyError, LOGIN_LIVES_MS, now};
use super::secret::Secret;
use super::visitor::Seen;
use super::{Entry, Guard, Key, KeyKind, Need, Rights, Scope, Unseen, cookie_name, with_sight};
use crate::audit::Auditor;
use crate::given::Nothing;
use crate::problem::{Problem, Trouble};
use crate::table::Routes;
use crate::{Caller, Given, Hall};

/// What a person may call a token.
const NAME_LIMIT: usize = 100;

/// `POST /v1/login-codes`: for one login by a browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginCode {
    pub code: String,
    /// Where to log in by it. The code stands behind the #, which browsers tell nobody. Absent if the daemon has no door for them.
    pub url: Option<String>,
    /// Unix milliseconds.
    pub expires_at: i64,
}

/// `POST /v1/login`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    pub code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedIn {
    /// To be sent as `x-ostler-csrf` with every request. It is told this once; of it, too, only a digest is kept.
    pub csrf: String,
}

/// `GET /v1/session`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub name: String,
    pub scopes: BTreeSet<Scope>,
    /// Which of the logins it is; absent for whoever came by a token.
    pub login: Option<String>,
}

/// `POST /v1/tokens`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    pub scopes: BTreeSet<Scope>,
    /// Unix milliseconds; without it the token counts until it is removed.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

/// A token that was made. What it is stands here and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenMade {
    pub id: String,
    pub name: String,
    pub scopes: BTreeSet<Scope>,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub token: String,
}

/// `GET /v1/tokens`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenList {
    pub tokens: Vec<Key>,
    /// The browsers that are logged in. They end by the same route as tokens.
    pub logins: Vec<Key>,
}

#[derive(Clone)]
pub(crate) struct Gate {
    guard: Arc<Guard>,
    hall: Arc<Hall>,
}

/// All of them.
pub fn guard_routes(guard: Arc<Guard>, hall: Arc<Hall>) -> Routes {
    guard_table().with_state(Gate { guard, hall })
}

pub(crate) fn guard_table() -> Routes<Gate> {
    Routes::new()
        .post_secret("/v1/login-codes", Need::House, new_code)
        .post_secret("/v1/login", Need::Open, log_in)
        .post("/v1/logout", Need::Login, log_out)
        .get("/v1/session", Need::Login, session)
        .get("/v1/tokens", Need::Decide, list)
        .post_secret("/v1/tokens", Need::Decide, add)
        .delete("/v1/tokens/{token}", Need::Decide, remove)
}

async fn new_code(
    State(gate): State<Gate>,
    caller: Caller,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Response, Problem> {
    caller.must_be_person("log in")?;
    let code = gate.guard.codes.make(caller.name()).map_err(KeyError::Random)?;
    let code = code.tell().to_owned();
    let url = gate.hall.listens().map(|listens| format!("{}/login#{code}", listens.url()));
    let lives = i64::try_from(LIVES.as_millis()).unwrap_or(0);
    let made = LoginCode { code, url, expires_at: now() + lives };
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

/// Who has the code was given it on the unix socket, a moment ago, or has got hold of it: an agent is refused, and the code still
/// counts for whom it was made.
async fn log_in(
    State(gate): State<Gate>,
    mut caller: Caller,
    rights: Rights,
    auditor: Auditor,
    Given(request): Given<LoginRequest>,
) -> Result<Response, Problem> {
    let entry = match &rights {
        Rights::Key { entry, .. } | Rights::None { entry, .. } => entry,
        Rights::House => {
            let detail = "only browsers log in; on this socket everybody is known";
            return Err(Problem::new(Trouble::BadRequest, detail));
        }
    };
    let guard = &gate.guard;
    let code = Secret::given(&request.code);
    let refused = || {
        let detail = "this code does not count: it was used before, or is too old";
        guard.failed(entry, &code, detail, "`ostler open` makes a new one")
    };
    // The right one counts however many wrong ones were tried from the same address: all programs of this machine share it.
    if !guard.codes.counts(&code) {
        return Err(refused());
    }
    let scopes = login_scopes(&mut caller, entry.visitor.seen().await, guard.settings.unseen)?;
    let name = guard.codes.take(&code).ok_or_else(refused)?;
    let wanted = Key {
        id: String::new(),
        made_by: name.clone(),
        name,
        kind: KeyKind::Login,
        scopes,
        created_at: now(),
        expires_at: Some(now() + LOGIN_LIVES_MS),
        last_used_at: None,
    };
    let word = Secret::new("").map_err(KeyError::Random)?;
    let audit = AuditEntry { who: wanted.name.clone(), ..auditor.entry(AuditKind::LoggedIn) };
    let (_, secret) = guard.keys.make(wanted, Some(word.digest()), audit).await?;
    let mut response = Json(LoggedIn { csrf: word.tell().to_owned() }).into_response();
    set_cookie(&mut response, secret.tell(), LOGIN_LIVES_MS / 1000, entry)?;
    Ok(response)
}

/// What a login is good for. A process of ours that cannot be looked at gets what the unix socket gives to agents, and no more.
fn login_scopes(
    caller: &mut Caller,
    seen: Seen,
    unseen: Unseen,
) -> Result<BTreeSet<Scope>, Problem> {
    match seen {
        Seen::Process { pid, standing } => {
            (caller.pid, caller.standing) = (pid, standing);
            caller.must_be_person("log in")?;
            Ok(Scope::ALL.into())
        }
        Seen::Unseen if unseen == Unseen::IsAnAgent => Ok([Scope::Read, Scope::Operate].into()),
        Seen::Unseen | Seen::Elsewhere => Ok(Scope::ALL.into()),
    }
}

async fn log_out(
    State(gate): State<Gate>,
    rights: Rights,
    auditor: Auditor,
    Given(Nothing {}): Given<Nothing>,
) -> Result<Response, Problem> {
    let mut response = Json(serde_json::json!({})).into_response();
    if let Rights::Key { key, entry, .. } = rights
        && key.kind == KeyKind::Login
    {
        gate.guard.keys.remove(&key.id, auditor.entry(AuditKind::KeyRemoved)).await?;
        set_cookie(&mut response, "", 0, &entry)?;
    }
    Ok(response)
}

async fn session(caller: Caller, rights: Rights) -> Json<Session> {
    let name = caller.name();
    Json(match rights {
        Rights::Key { key, .. } => {
            let login = (key.kind == KeyKind::Login).then_some(key.id);
            Session { name, scopes: key.scopes, login }
        }
        Rights::House => Session { name, scopes: Scope::ALL.into(), login: None },
        Rights::None { .. } => Session { name, scopes: BTreeSet::new(), login: None },
    })
}

async fn list(State(gate): State<Gate>) -> Json<TokenList> {
    let keys = &gate.guard.keys;
    Json(TokenList { tokens: keys.list(KeyKind::Token), logins: keys.list(KeyKind::Login) })
}

async fn add(
    State(gate): State<Gate>,
    caller: Caller,
    rights: Rights,
    auditor: Auditor,
    Given(wanted): Given<NewToken>,
) -> Result<Response, Problem> {
    caller.must_be_person("make a token")?;
    let bad = |detail: &str| Problem::new(Trouble::BadRequest, detail);
    let name = wanted.name.as_str();
    let is_name = !name.is_empty()
        && name.chars().count() <= NAME_LIMIT
        && name.trim() == name
        && !name.chars().any(char::is_control);
    if !is_name {
        return Err(bad(&format!(
            "a token needs a name of at most {NAME_LIMIT} characters in one line, without space around it"
        )));
    }
    if wanted.scopes.is_empty() {
        return Err(bad("a token needs a scope: read, operate or decide"));
    }
    if wanted.expires_at.is_some_and(|end| end <= now()) {
        return Err(bad("a token cannot end before it begins"));
    }
    let scopes = with_sight(wanted.scopes);
    if let Rights::Key { key, .. } = &rights
        && let Some(missing) = scopes.difference(&key.scopes).next()
    {
        let detail = format!("nobody gives away what he has not: {}", missing.name());
        return Err(Problem::new(Trouble::ScopeMissing, detail).audited(AuditKind::ScopeRefused));
    }
    let wanted = Key {
        id: String::new(),
        name: name.to_owned(),
        kind: KeyKind::Token,
        scopes,
        made_by: caller.name(),
        created_at: now(),
        expires_at: wanted.expires_at,
        last_used_at: None,
    };
    let entry = auditor.entry(AuditKind::TokenMade);
    let (key, secret) = gate.guard.keys.make(wanted, None, entry).await?;
    let Key { id, name, scopes, created_at, expires_at, .. } = key;
    let token = secret.tell().to_owned();
    let made = TokenMade { id, name, scopes, created_at, expires_at, token };
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

async fn remove(
    State(gate): State<Gate>,
    caller: Caller,
    auditor: Auditor,
    Path(token): Path<String>,
) -> Result<Json<Key>, Problem> {
    caller.must_be_person("remove a token or a login")?;
    Ok(Json(gate.guard.keys.remove(&token, auditor.entry(AuditKind::KeyRemoved)).await?))
}

/// It has no domain, so it goes back to this very host; scripts cannot read it, and no other site's page can send it.
fn set_cookie(
    response: &mut Response,
    value: &str,
    seconds: i64,
    entry: &Entry,
) -> Result<(), Problem> {
    let secure = if entry.tls { "; Secure" } else { "" };
    let name = cookie_name(entry.visitor.port());
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let value = HeaderValue::from_str(&text)
        .map_err(|_| Problem::new(Trouble::Internal, "the cookie cannot be written"))?;
    response.headers_mut().insert(header::SET_COOKIE, value);
    Ok(())
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        let detail = error.to_string();
        match error {
            KeyError::TooMany => Self::new(Trouble::Conflict, detail),
            KeyError::None(_) => Self::new(Trouble::NotFound, detail),
            KeyError::Random(_) => Self::new(Trouble::Unavailable, detail),
            KeyError::Store(error) => error.into(),
        }
    }
}
