//! Who may do what over TCP.
//!
//! In this order: is the request meant for us and from no foreign page ([`Hosts`]); by which token or login does it come
//! ([`keys`]); may that do what the route is for ([`Need`]); and where only people may, which process is it ([`visitor`]). On
//! the unix socket the kernel says who calls, and the first two do not arise.

mod codes;
mod failures;
mod headers;
mod hosts;
mod keys;
mod rights;
mod routes;
mod scope;
mod secret;
mod visitor;

use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};
use ostler_engine::{Store, StoreError};
use ostler_model::AuditKind;
use rustix::process::geteuid;

pub use hosts::Hosts;
pub use keys::{Key, KeyKind};
pub use routes::{
    LoggedIn, LoginCode, LoginRequest, NewToken, Session, TokenList, TokenMade, guard_routes,
};
pub use scope::{Need, Scope, with_sight};

pub(crate) use headers::secure;
pub(crate) use hosts::refuse_browsers;
pub(crate) use rights::{Entry, Rights, require};
pub(crate) use routes::guard_table;
pub(crate) use visitor::Visitor;

use crate::caller::{Caller, Look, Standing};
use crate::problem::{Problem, Trouble};
use codes::Codes;
use failures::Failures;
use keys::{Keys, Shown};
use secret::{Digest, Secret};

/// A name that nobody can guess and nobody else has.
pub(crate) fn random_name() -> std::io::Result<String> {
    Secret::new("").map(|secret| secret.tell().to_owned())
}

/// The cookie of a browser that has logged in at a port. Cookies know no ports: without the number in its name, two daemons of
/// one machine would end each other's logins.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("ostler_session_{port}")
}

/// The word that was told with the login. A cookie goes to whatever else listens on this host; the word is kept by our own page,
/// where browsers do tell one port from another.
pub(crate) const CSRF_HEADER: HeaderName = HeaderName::from_static("x-ostler-csrf");

/// How far local callers are trusted whose process cannot be looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unseen {
    /// They could be agents.
    #[default]
    IsAnAgent,
    /// The operator says that they are none.
    IsAPerson,
}

#[derive(Debug, Clone, Default)]
pub struct GuardSettings {
    pub hosts: Hosts,
    pub unseen: Unseen,
}

pub struct Guard {
    settings: GuardSettings,
    look: Look,
    keys: Keys,
    codes: Codes,
    failures: Failures,
}

impl Guard {
    /// With the keys that earlier daemons gave out.
    pub async fn open(
        settings: GuardSettings,
        store: Store,
        look: Look,
    ) -> Result<Self, StoreError> {
        let keys = Keys::open(store).await?;
        let (codes, failures) = (Codes::default(), Failures::default());
        Ok(Self { settings, look, keys, codes, failures })
    }

    pub(crate) fn look(&self) -> Look {
        self.look.clone()
    }

    /// Before anything else is looked at.
    pub(crate) fn check_origin(&self, parts: &Parts) -> Result<(), Problem> {
        self.settings.hosts.check(parts)
    }

    /// Who this is and what it may. Whoever shows nothing, or something wrong, may only what everybody may.
    pub(crate) async fn recognise(&self, entry: Entry, parts: &Parts) -> (Caller, Rights) {
        let caller = |key: Option<String>| Caller {
            uid: geteuid().as_raw(),
            user: None,
            pid: 0,
            standing: Standing::agent("was not looked at"),
            key,
            mcp: None,
        };
        match self.shown(&entry, parts) {
            Ok(shown) => {
                self.keys.note_use(&shown.key.id).await;
                let name = match shown.key.kind {
                    KeyKind::Token => format!("token {}", shown.key.name),
                    KeyKind::Login => shown.key.name.clone(),
                };
                let Shown { key, ended, streams, .. } = shown;
                let unseen = self.settings.unseen;
                (caller(Some(name)), Rights::Key { key, ended, streams, entry, unseen })
            }
            Err(problem) => (caller(Some("nobody".to_owned())), Rights::None { problem, entry }),
        }
    }

    fn shown(&self, entry: &Entry, parts: &Parts) -> Result<Shown, Problem> {
        if let Some(header) = parts.headers.get(header::AUTHORIZATION) {
            let token = header.to_str().ok().and_then(bearer);
            let token = token.ok_or_else(|| {
                Problem::new(
                    Trouble::Unauthorized,
                    "the Authorization header holds no bearer token",
                )
                .hint("write `Authorization: Bearer TOKEN`")
            })?;
            let token = Secret::given(token);
            let found = self.keys.find(&token, KeyKind::Token);
            return found.ok_or_else(|| {
                let hint = "`ostler token new` makes one";
                self.failed(entry, &token, "this token does not count, or no longer", hint)
            });
        }
        let given = cookies(&parts.headers, &cookie_name(entry.visitor.port()));
        let Some(first) = given.first() else {
            return Err(Problem::new(Trouble::Unauthorized, "nobody is logged in").hint(
                "`ostler open` logs a browser in; programs send `Authorization: Bearer TOKEN`",
            ));
        };
        // Whatever else listens on this host can set a cookie of our name, too; that must not hide ours.
        let shown = given.iter().find_map(|cookie| self.keys.find(cookie, KeyKind::Login));
        let shown = shown.ok_or_else(|| {
            self.failed(entry, first, "this login has ended", "`ostler open` logs in again")
        })?;
        check_word(parts, shown.word.as_ref())?;
        Ok(shown)
    }

    /// Writes the failure down, and says no.
    fn failed(&self, entry: &Entry, tried: &Secret, detail: &str, hint: &str) -> Problem {
        let from = entry.visitor.from.ip();
        // A program whose token has ended shows it again and again, and one entry says so.
        let is_known = self.failures.knows(from, tried);
        let refused = Problem::new(Trouble::Unauthorized, detail).hint(hint);
        match self.failures.note(from, tried) {
            Some(wait) => too_many(wait).audited(AuditKind::Guessing),
            None if is_known => refused,
            None => refused.audited(AuditKind::KeyRefused),
        }
    }
}

fn too_many(wait: Duration) -> Problem {
    let detail = "too many tokens or codes were tried from this address that are none";
    let seconds = u16::try_from(wait.as_secs().max(1)).unwrap_or(u16::MAX);
    Problem::new(Trouble::TooManyFailures, detail)
        .hint(format!("try again in {seconds} s"))
        .retry_after(seconds)
}

fn bearer(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// All of this name, in the order in which the browser sends them.
fn cookies(headers: &HeaderMap, name: &str) -> Vec<Secret> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let cookies = texts.flat_map(|text| text.split(';'));
    let values = cookies.filter_map(|cookie| cookie.trim().strip_prefix(name)?.strip_prefix('='));
    values.map(Secret::given).collect()
}

/// A cookie alone is not enough to look, nor to change anything. A browser names the page whenever something is changed; the
/// name itself was checked before.
fn check_word(parts: &Parts, expected: Option<&Digest>) -> Result<(), Problem> {
    let changes = parts.method != Method::GET && parts.method != Method::HEAD;
    let refused = |detail: &str| {
        let trouble = if changes { Trouble::CsrfRefused } else { Trouble::Unauthorized };
        Problem::new(trouble, detail).hint(
            "programs use a token; a page sends the word that POST /v1/login told it, and `ostler open` logs in again",
        )
        .audited(AuditKind::CsrfRefused)
    };
    if changes && !parts.headers.contains_key(header::ORIGIN) {
        return Err(refused("the request does not say which page it comes from"));
    }
    let given = parts.headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    match (given.map(Secret::given), expected) {
        (Some(given), Some(expected)) if given.digest().is(expected) => Ok(()),
        _ => Err(refused("the request does not carry the word of our page")),
    }
}
