//! Which names of JSON members stand before a secret.

use std::collections::HashMap;

use crate::keeper::environment::looks_secret;

/// What of a value may not be shown. Ordered: what is below a secret is at least as secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Secrecy {
    Open,
    /// Every string in it. Numbers stay: `inputTokens` and `progressToken` are counts and handles.
    Strings,
    /// Every string and every number in it: a password may be `1234`.
    StringsAndNumbers,
}

/// A member of one of these names holds a map whose values are secrets under any name, as the environment of an MCP
/// server does. The last one is Codex's setting that gives commands their variables.
const MAPS: [&str; 9] = [
    "env",
    "env vars",
    "environment variables",
    "headers",
    "http headers",
    "request headers",
    "extra headers",
    "cookies",
    "shell environment policy",
];

/// A name that ends so stands before a secret. The codes open a session on another device for whoever types them. Base64 hides
/// bytes of any kind, also secrets, from every other rule.
const ENDS: [&str; 26] = [
    "token",
    "tokens",
    "jwt",
    "bearer",
    "authorization",
    "auth",
    "auth header",
    "auth url",
    "authorization url",
    "cookie",
    "credential",
    "credentials",
    "apikey",
    "api key",
    "access key",
    "access key id",
    "private key",
    "signing key",
    "session key",
    "encryption key",
    "license key",
    "user code",
    "device code",
    "manual code",
    "pairing code",
    "base64",
];

/// A name with one of these words in it stands before a secret, be it a number.
const WORDS: [&str; 7] =
    ["password", "passwd", "passphrase", "passcode", "secret", "secrets", "pin"];

/// Handles that only look like tokens; a replay needs them to match one message with another.
const HANDLES: [&str; 4] =
    ["progress token", "cancellation token", "page token", "next page token"];

/// Judgements so far: Codex has some thousand names, and most messages have the same ten.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<Box<str>, Secrecy>);

/// Names of tables and variables come from outside; past this they are judged anew each time.
const MAX_NAMES: usize = 4096;
const MAX_NAME_BYTES: usize = 64;

impl Names {
    pub(crate) fn secrecy_of(&mut self, name: &str) -> Secrecy {
        if let Some(secrecy) = self.0.get(name) {
            return *secrecy;
        }
        let secrecy = secrecy_of(name);
        if self.0.len() < MAX_NAMES && name.len() <= MAX_NAME_BYTES {
            self.0.insert(name.into(), secrecy);
        }
        secrecy
    }
}

/// How secret the value of a member of this name is. Dots separate names, as in Codex's `mcp_servers.docs.env`.
pub(crate) fn secrecy_of(name: &str) -> Secrecy {
    name.split('.').map(of_one).max().unwrap_or(Secrecy::Open)
}

fn of_one(name: &str) -> Secrecy {
    let words = words(name);
    let has = |wanted: &[&str]| words.split(' ').any(|word| wanted.contains(&word));
    if has(&WORDS) {
        return Secrecy::StringsAndNumbers;
    }
    let ends = |end: &&str| {
        let before = words.strip_suffix(*end);
        before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
    };
    let by_name = MAPS.contains(&words.as_str())
        || (ENDS.iter().any(ends) && !HANDLES.contains(&words.as_str()));
    // In a map of variables the names are written in capitals, and there the keeper's own table knows more of them.
    let is_variable = name.len() > 2 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    if by_name || (is_variable && looks_secret(name)) { Secrecy::Strings } else { Secrecy::Open }
}

/// `accessToken`, `access_token`, `Access-Token` and `ACCESS_TOKEN` are all `access token`; `APIKey` is `api key`.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut characters = name.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let follows_small = before.is_lowercase() || before.is_ascii_digit();
        let ends_capitals =
            before.is_uppercase() && characters.peek().is_some_and(|next| next.is_lowercase());
        if character.is_uppercase() && (follows_small || ends_capitals) {
            words.push(' ');
        }
        if character.is_alphanumeric() {
            words.extend(character.to_lowercase());
        } else if !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
        before = character;
    }
    words.truncate(words.trim_end().len());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_every_spelling() {
        let table = [
            ("accessToken", Secrecy::Strings),
            ("refresh_token", Secrecy::Strings),
            ("idToken", Secrecy::Strings),
            ("TOKEN", Secrecy::Strings),
            ("authBearerToken", Secrecy::Strings),
            ("apiKey", Secrecy::Strings),
            ("API_KEY", Secrecy::Strings),
            ("APIKey", Secrecy::Strings),
            ("x-api-key", Secrecy::Strings),
            ("OPENAI_API_KEY", Secrecy::Strings),
            ("DATABASE_URL", Secrecy::Strings),
            ("Authorization", Secrecy::Strings),
            ("env", Secrecy::Strings),
            ("mcp_servers.docs.env", Secrecy::Strings),
            ("mcp_servers.docs.env.PLAIN", Secrecy::Strings),
            ("shell_environment_policy.set", Secrecy::Strings),
            ("http_headers", Secrecy::Strings),
            ("client-private-key", Secrecy::Strings),
            ("deltaBase64", Secrecy::Strings),
            ("userCode", Secrecy::Strings),
            ("inputTokens", Secrecy::Strings),
            ("password", Secrecy::StringsAndNumbers),
            ("dbPassword", Secrecy::StringsAndNumbers),
            ("secretAccessKey", Secrecy::StringsAndNumbers),
            ("isSecret", Secrecy::StringsAndNumbers),
            ("tokenUsage", Secrecy::Open),
            ("progressToken", Secrecy::Open),
            ("authMode", Secrecy::Open),
            ("author", Secrecy::Open),
            ("environmentId", Secrecy::Open),
            ("environments", Secrecy::Open),
            ("key", Secrecy::Open),
            ("keyPath", Secrecy::Open),
            ("publicKey", Secrecy::Open),
            ("header", Secrecy::Open),
            ("exitCode", Secrecy::Open),
            ("spinner", Secrecy::Open),
            ("cwd", Secrecy::Open),
            ("ID", Secrecy::Open),
            ("", Secrecy::Open),
        ];
        let found = table.map(|(name, _)| (name, secrecy_of(name)));
        assert_eq!(found, table);
    }
}
