//! Which of the starter's variables Codex, and every command that Codex runs, may see.
//!
//! Codex hands its whole environment on to the commands of the model, so a variable that Codex gets is a variable the
//! model can print. The rule is data: the table in [`table`], first match wins, explained in `docs/environment.md`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::MARK;
use super::folder::KeeperId;

mod given;
mod pattern;
mod table;

pub use given::{Given, may_be_given};
use pattern::matches;
pub use table::{ROWS, Row, Verdict};

/// Codex writes a line per request at `info`; `warn` keeps the log readable. A value of the user's own is respected.
const DEFAULT_RUST_LOG: &str = "warn";

/// What the user or the caller wants other than the table. Names may hold `*` and `%`; case does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentRule {
    /// Becomes `CODEX_HOME`; without it the starter's own stays.
    pub codex_home: Option<PathBuf>,
    /// Passed on although the table withholds it, e.g. the `env_key` of a model provider.
    pub keep: Vec<String>,
    /// Withheld although the table keeps it. Beats `keep`.
    pub strip: Vec<String>,
    /// Added, and passed on whatever the table says.
    pub given: Given,
}

/// Codex's environment, and the names of what it does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub variables: Vec<(OsString, OsString)>,
    pub stripped: Vec<OsString>,
}

/// Applies the rule. `HOME` stays the user's own: `CODEX_HOME` is what isolates.
pub fn codex_environment(
    environment: &[(OsString, OsString)],
    rule: &EnvironmentRule,
    keeper: &KeeperId,
) -> Built {
    let mut built = Built { variables: Vec::new(), stripped: Vec::new() };
    for (name, value) in environment {
        if name == MARK || (name == "CODEX_HOME" && rule.codex_home.is_some()) {
            continue;
        }
        // As elsewhere, empty is as good as not set.
        if value.is_empty() && rule.given.has(name) {
            continue;
        }
        match verdict(name, value, rule) {
            Verdict::Keep => built.variables.push((name.clone(), value.clone())),
            Verdict::Strip | Verdict::Own => built.stripped.push(name.clone()),
        }
    }
    for (name, value) in rule.given.iter() {
        let (name, value) = (OsString::from(name), OsString::from(value));
        let is_set = built.variables.iter().any(|(known, _)| *known == name);
        if !is_set && verdict(&name, &value, rule) == Verdict::Keep {
            built.variables.push((name, value));
        }
    }
    if let Some(home) = &rule.codex_home {
        let home = home.as_os_str().to_owned();
        built.variables.push(("CODEX_HOME".into(), home));
    }
    if !built.variables.iter().any(|(name, _)| name == "RUST_LOG") {
        built.variables.push(("RUST_LOG".into(), DEFAULT_RUST_LOG.into()));
    }
    built.variables.push((MARK.into(), keeper.as_str().into()));
    built.stripped.sort();
    built
}

/// Whether Codex gets a variable of this name. Without a value the name alone decides.
pub fn is_passed(name: &str, value: Option<&OsStr>, rule: &EnvironmentRule) -> bool {
    let value = value.unwrap_or_default();
    matches!(verdict(OsStr::new(name), value, rule), Verdict::Keep)
}

/// Names that Codex has only because they are given: commands of the model are not to see them.
pub fn given_alone(
    given: Vec<String>,
    environment: &[(OsString, OsString)],
    rule: &EnvironmentRule,
) -> Vec<String> {
    let without = EnvironmentRule { given: Given::default(), ..rule.clone() };
    let is_users = |wanted: &str| {
        let mut set =
            environment.iter().filter(|(name, value)| name == wanted && !value.is_empty());
        set.any(|(name, value)| verdict(name, value, &without) == Verdict::Keep)
    };
    given.into_iter().filter(|name| !is_users(name)).collect()
}

/// Whether the value of a variable of this name should never be shown, also when Codex gets it.
pub(crate) fn looks_secret(name: &str) -> bool {
    table::is_secret(name.as_bytes())
}

fn verdict(name: &OsStr, value: &OsStr, rule: &EnvironmentRule) -> Verdict {
    let named = |patterns: &[String]| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
    };
    let row = table::first_match(name.as_bytes());
    match row.map(|row| row.verdict) {
        // Nothing may bring these back: whoever asked cannot answer.
        Some(Verdict::Own) => Verdict::Own,
        _ if named(&rule.strip) => Verdict::Strip,
        _ if rule.given.has(name) => Verdict::Keep,
        _ if named(&rule.keep) => Verdict::Keep,
        Some(verdict) => verdict,
        None if holds_password(value.as_bytes()) => Verdict::Strip,
        None => Verdict::Keep,
    }
}

/// A URL with `user:password@` in it, whatever its variable is called.
fn holds_password(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', ',']).next().unwrap_or("");
        let login = authority.rsplit_once('@').map(|(login, _)| login);
        let password = login.and_then(|login| login.split_once(':'));
        password.is_some_and(|(_, password)| !password.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        variables.iter().map(pair).collect()
    }

    fn keeper() -> KeeperId {
        KeeperId::parse("0123abcd").unwrap()
    }

    #[test]
    fn whether_a_variable_reaches_codex_is_told_before_it_is_set() {
        let rule =
            EnvironmentRule { keep: vec!["HAY_TOKEN".to_owned()], ..EnvironmentRule::default() };
        let table = [
            ("STABLE", None, true),
            ("OATS_TOKEN", None, false),
            ("HAY_TOKEN", None, true),
            ("BARN", Some("https://ana:hay@barn.example/"), false),
            ("OSTLER_TASK", None, false),
        ];
        for (name, value, expected) in table {
            assert_eq!(is_passed(name, value.map(OsStr::new), &rule), expected, "{name}");
        }
    }

    #[test]
    fn codex_gets_what_it_works_with_and_nothing_that_opens_other_doors() {
        let given = pairs(&[
            ("HOME", "/home/somebody"),
            ("PATH", "/usr/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("https_proxy", "http://user:word@proxy:3128"),
            ("OPENAI_API_KEY", "1"),
            ("OPENROUTER_API_KEY", "1"),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_BEARER_TOKEN_BEDROCK", "1"),
            ("AWS_SECRET_ACCESS_KEY", "1"),
            ("CODEX_API_KEY", "1"),
            ("CODEX_SANDBOX", "seatbelt"),
            ("SLACK_BOT_TOKEN", "1"),
            ("GH_TOKEN", "1"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("DATABASE_URL", "postgres://db"),
            ("INVENTED_SERVICE_SECRET", "1"),
            ("INVENTED_URL", "https://user:word@example.org/x"),
            ("INVENTED_PLAIN_URL", "https://user@example.org:443/x?a=b:c@d"),
            ("NOTIFY_SOCKET", "/run/notify"),
            ("OSTLER_API_TOKEN", "1"),
            ("OSTLER_KEEPER", "ffffffff"),
        ]);
        let built = codex_environment(&given, &EnvironmentRule::default(), &keeper());
        assert_eq!(
            built,
            Built {
                variables: pairs(&[
                    ("HOME", "/home/somebody"),
                    ("PATH", "/usr/bin"),
                    ("LC_ALL", "C.UTF-8"),
                    ("https_proxy", "http://user:word@proxy:3128"),
                    ("OPENAI_API_KEY", "1"),
                    ("OPENROUTER_API_KEY", "1"),
                    ("AWS_REGION", "eu-central-1"),
                    ("AWS_BEARER_TOKEN_BEDROCK", "1"),
                    ("CODEX_API_KEY", "1"),
                    ("INVENTED_PLAIN_URL", "https://user@example.org:443/x?a=b:c@d"),
                    ("RUST_LOG", "warn"),
                    ("OSTLER_KEEPER", "0123abcd"),
                ]),
                stripped: [
                    "AWS_SECRET_ACCESS_KEY",
                    "CODEX_SANDBOX",
                    "DATABASE_URL",
                    "GH_TOKEN",
                    "INVENTED_SERVICE_SECRET",
                    "INVENTED_URL",
                    "NOTIFY_SOCKET",
                    "OSTLER_API_TOKEN",
                    "SLACK_BOT_TOKEN",
                    "SSH_AUTH_SOCK",
                ]
                .map(OsString::from)
                .to_vec(),
            }
        );
    }

    #[test]
    fn the_caller_has_the_last_word_except_on_our_own() {
        let given = pairs(&[
            ("CODEX_HOME", "/old"),
            ("RUST_LOG", "debug"),
            ("AWS_SECRET_ACCESS_KEY", "1"),
            ("PATH", "/usr/bin"),
            ("OSTLER_API_TOKEN", "1"),
        ]);
        let rule = EnvironmentRule {
            codex_home: Some("/new".into()),
            keep: vec!["aws_*".to_owned(), "OSTLER_*".to_owned(), "PATH".to_owned()],
            strip: vec!["PATH".to_owned()],
            ..EnvironmentRule::default()
        };
        assert_eq!(
            codex_environment(&given, &rule, &keeper()),
            Built {
                variables: pairs(&[
                    ("RUST_LOG", "debug"),
                    ("AWS_SECRET_ACCESS_KEY", "1"),
                    ("CODEX_HOME", "/new"),
                    ("OSTLER_KEEPER", "0123abcd"),
                ]),
                stripped: vec!["OSTLER_API_TOKEN".into(), "PATH".into()],
            }
        );
    }

    #[test]
    fn what_is_given_is_added_and_what_is_set_wins() {
        let given = [
            ("HAY_TOKEN", "stored"),
            ("OATS_TOKEN", "stored"),
            ("BARN_TOKEN", "stored"),
            ("STRAW_TOKEN", "stored"),
            // These would be Codex's own, ours, or change programs.
            ("OPENAI_API_KEY", "stored"),
            ("HTTPS_PROXY", "stored"),
            ("OSTLER_API_TOKEN", "stored"),
            ("LD_PRELOAD", "stored"),
            ("CUT_TOKEN", "by a \0"),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let rule = EnvironmentRule {
            keep: vec!["BARN_TOKEN".to_owned()],
            strip: vec!["STRAW_TOKEN".to_owned()],
            given: Given::new(given),
            ..EnvironmentRule::default()
        };
        let set = pairs(&[("OATS_TOKEN", "set"), ("BARN_TOKEN", "set"), ("HAY_TOKEN", "")]);
        let built = codex_environment(&set, &rule, &keeper());
        assert_eq!(
            built.variables,
            pairs(&[
                ("OATS_TOKEN", "set"),
                ("BARN_TOKEN", "set"),
                ("HAY_TOKEN", "stored"),
                ("RUST_LOG", "warn"),
                ("OSTLER_KEEPER", "0123abcd"),
            ])
        );
        // Whoever passes a variable on wants the commands to see it.
        let names = rule.given.names().map(str::to_owned).collect();
        assert_eq!(given_alone(names, &set, &rule), ["HAY_TOKEN", "OATS_TOKEN", "STRAW_TOKEN"]);
        assert_eq!(
            format!("{:?}", rule.given),
            r#"{"BARN_TOKEN", "HAY_TOKEN", "OATS_TOKEN", "STRAW_TOKEN"}"#
        );
    }

    #[test]
    fn a_word_that_means_a_secret_is_found_wherever_it_stands() {
        let secrets = [
            "APIKEY",
            "API_KEY",
            "AUTHORIZATION",
            "AUTH_HEADER",
            "BASIC_AUTH",
            "BEARER",
            "BOT_JWT",
            "CREDS",
            "DBPASS",
            "DB_CREDS",
            "DB_PASS",
            "DB_PWD_PROD",
            "DJANGO_SECRET",
            "GH_PAT",
            "GOOGLE_CREDENTIALS_JSON",
            "JIRA_TOKEN_PROD",
            "JWT",
            "KEYSTORE_PASSWORD_FILE",
            "LOGIN_PASSPHRASE",
            "MYTOKEN",
            "MY_PAT",
            "MY_PATENT_TOKEN",
            "OAUTH",
            "PASS",
            "PASSWD",
            "PASSWORD",
            "PAT",
            "PAT_2",
            "PRIVATE_KEY_PEM",
            "PROD_DATABASE_URL_RO",
            "SECRET_KEY_BASE",
            "SENTRY_DSN_PROD",
            "SESSION_COOKIE",
            "SESSION_KEY",
            "SIGNING_KEYS",
            "SSHPASS",
            "STRIPE_API_KEY_LIVE",
            "STRIPE_KEY_ID",
            "SUDO_ASKPASS",
            "TOKEN",
            "TOKEN2",
            "TOKENS",
            "TOKEN_GITHUB",
            "WEBHOOK_URL",
            "X_BYPASS_SECRET",
            "accessToken",
            "apiKey",
            "npm_config_//registry/:_authToken",
        ];
        let harmless = [
            "AUTHOR",
            "BYPASS",
            "COLORTERM",
            "COMPAT",
            "DESKTOP_SESSION",
            "DISPATCH",
            "EDITOR",
            "FZF_KEY_BINDINGS",
            "GIT_AUTHOR_EMAIL",
            "GIT_AUTHOR_NAME",
            "GPG_TTY",
            "HOTKEY",
            "KEYBOARD_LAYOUT",
            "KEYTIMEOUT",
            "LD_LIBRARY_PATH",
            "LS_COLORS",
            "MANPATH",
            "MAX_OUTPUT_TOKENS",
            "MODEL_MAX_OUTPUT_TOKENS",
            "MONKEY",
            "NODE_EXTRA_CA_CERTS",
            "OLDPWD",
            "PASSENGERS",
            "PATCH",
            "PATHEXT",
            "PATTERN",
            "PWD",
            "PYTHONPATH",
            "REQUESTS_CA_BUNDLE",
            "SANDBOX_BYPASS",
            "SHELL",
            "SPATIAL",
            "SSH_CONNECTION",
            "SSL_CERT_FILE",
            "TERM_SESSION_ID",
            "TOKENIZERS_PARALLELISM",
            "USER",
            "XAUTHORITY",
            "XDG_RUNTIME_DIR",
            "XDG_SESSION_ID",
        ];
        // What codex works with stays, and its value is hidden wherever it could be shown.
        let kept = [
            "AWS_BEARER_TOKEN_BEDROCK",
            "AZURE_OPENAI_API_KEY",
            "CODEX_ACCESS_TOKEN",
            "CODEX_API_KEY",
            "GEMINI_API_KEY",
            "HTTPS_PROXY",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
        ];
        let rule = EnvironmentRule::default();
        let judged = |name: &&str| {
            (
                name.to_string(),
                verdict(OsStr::new(name), OsStr::new("x"), &rule),
                looks_secret(name),
            )
        };
        let all = |names: &[&str], verdict: Verdict, secret: bool| -> Vec<_> {
            names.iter().map(|name| (name.to_string(), verdict, secret)).collect()
        };
        let judge = |names: &[&str]| -> Vec<_> { names.iter().map(judged).collect() };
        assert_eq!(judge(&secrets), all(&secrets, Verdict::Strip, true));
        assert_eq!(judge(&kept), all(&kept, Verdict::Keep, true));
        let verdicts: Vec<_> =
            judge(&harmless).into_iter().map(|(name, kept, _)| (name, kept)).collect();
        let expected: Vec<_> =
            harmless.iter().map(|name| (name.to_string(), Verdict::Keep)).collect();
        assert_eq!(verdicts, expected);
    }

    #[test]
    fn every_row_can_be_reached() {
        for row in ROWS {
            let example = row.pattern.replace('*', "X").replace('%', "_");
            let first = table::first_match(example.as_bytes()).unwrap();
            assert_eq!(first, row, "{example} is caught by an earlier row");
        }
    }

    #[test]
    fn the_page_shows_this_very_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment.md");
        let text = std::fs::read_to_string(page).unwrap();
        let table = table::as_markdown();
        assert!(text.contains(&table), "docs/environment.md must hold this table:\n{table}");
    }
}
