//! Which runtime turns are run by, and the one state machine by which a person changes it: `/codex-runtime` and
//! `ostler runtime`. Pure: whoever calls brings the look at Codex and the writing of the file as closures.

use std::fmt::{self, Display, Formatter};

use semver::Version;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The oldest Codex whose app-server all of this runs on.
pub const OLDEST_CODEX: Version = Version::new(0, 125, 0);

/// The providers whose models Codex reaches by itself. With any other, turns stay with the agent's own loop.
pub const PROVIDERS_OF_CODEX: [&str; 2] = ["openai", "codex"];

const INSTALL: &str = "`ostler codex install` fetches one";

/// Who runs a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// The agent's own loop on a model's API. Never touches Codex.
    #[default]
    Auto,
    /// A Codex thread. Never asks a model's API.
    CodexAppServer,
}

/// What somebody wants of the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To know how it stands.
    Report,
    Set(Runtime),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no runtime; say auto (off, default, disable, ostler) or codex_app_server (on, codex, enable)"
)]
pub struct BadWord(String);

/// How things stand before the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'a> {
    pub runtime: Runtime,
    /// The provider that turns go to.
    pub provider: &'a str,
    pub turn: Turn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    None,
    Runs,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Switch {
    pub success: bool,
    pub old: Runtime,
    /// What holds now: the old one, unless all went well.
    pub new: Runtime,
    /// For people, one line or several.
    pub message: String,
    /// The caller closes the session that is open: it belongs to the old runtime.
    pub requires_new_session: bool,
    /// None if nobody had to look.
    pub codex_ok: Option<bool>,
    pub codex_version: Option<String>,
}

/// One word, in any case, with spaces around it. Nothing at all asks for a report.
pub fn parse(words: &str) -> Result<Asked, BadWord> {
    match words.trim().to_lowercase().as_str() {
        "" | "show" | "status" => Ok(Asked::Report),
        "codex_app_server" | "codex-app-server" | "on" | "codex" | "enable" => {
            Ok(Asked::Set(Runtime::CodexAppServer))
        }
        "auto" | "off" | "default" | "disable" | "ostler" => Ok(Asked::Set(Runtime::Auto)),
        _ => Err(BadWord(words.trim().to_owned())),
    }
}

/// The runtime that turns really have: a provider that Codex does not reach leaves them with the agent's own loop.
pub fn effective(runtime: Runtime, provider: &str) -> Runtime {
    match PROVIDERS_OF_CODEX.contains(&provider) {
        true => runtime,
        false => Runtime::Auto,
    }
}

/// Does what was asked. `look` finds Codex's version, or says why there is none; it is called at most once, and not at all
/// where Codex does not matter. `persist` writes the choice down, and is not called unless everything else is fine.
pub async fn switch(
    asked: Asked,
    standing: Standing<'_>,
    look: impl AsyncFnOnce() -> Result<Version, String>,
    persist: impl FnOnce(Runtime) -> Result<(), String>,
) -> Switch {
    let old = standing.runtime;
    let (wanted, outcome) = match asked {
        Asked::Report => return report(standing, look().await),
        Asked::Set(wanted) => (wanted, Switch::unchanged(old)),
    };
    if standing.turn == Turn::Runs {
        return outcome.fails("a turn runs; wait for its end, or end it with /stop first");
    }
    if wanted == old {
        let message = with_effect(format!("runtime: {old}, as it was"), old, standing.provider);
        return Switch { success: true, message, ..outcome };
    }
    let (outcome, codex_line) = match wanted {
        Runtime::Auto => (outcome, None),
        Runtime::CodexAppServer => match gate(look().await) {
            Ok(version) => (outcome.with_codex(&version), Some(format!("codex: {version}"))),
            Err(NoCodex { version, why }) => {
                let codex_version = version.map(|version| version.to_string());
                let outcome = Switch { codex_ok: Some(false), codex_version, ..outcome };
                return outcome.fails(&format!("{why}; nothing was changed; {INSTALL}"));
            }
        },
    };
    if let Err(why) = persist(wanted) {
        return outcome.fails(&format!("the choice could not be written down: {why}"));
    }
    let first = format!("runtime: {old} → {wanted}");
    let mut lines = vec![with_effect(first, wanted, standing.provider)];
    lines.extend(codex_line);
    lines.push("it holds from the next session on".to_owned());
    let message = lines.join("\n");
    Switch { success: true, new: wanted, message, requires_new_session: true, ..outcome }
}

fn report(standing: Standing<'_>, found: Result<Version, String>) -> Switch {
    let Standing { runtime, provider, .. } = standing;
    let outcome = Switch { success: true, ..Switch::unchanged(runtime) };
    let (outcome, codex) = match gate(found) {
        Ok(version) => (outcome.with_codex(&version), version.to_string()),
        Err(NoCodex { version, why }) => {
            let codex_version = version.map(|version| version.to_string());
            let outcome = Switch { codex_ok: Some(false), codex_version, ..outcome };
            (outcome, format!("not available: {why}; {INSTALL}"))
        }
    };
    let runtime_line = with_effect(format!("runtime: {runtime}"), runtime, provider);
    Switch { message: format!("{runtime_line}\ncodex: {codex}"), ..outcome }
}

struct NoCodex {
    version: Option<Version>,
    why: String,
}

fn gate(found: Result<Version, String>) -> Result<Version, NoCodex> {
    match found {
        Ok(version) if version >= OLDEST_CODEX => Ok(version),
        Ok(version) => {
            let why = format!("Codex {version} is too old: it must be {OLDEST_CODEX} or newer");
            Err(NoCodex { version: Some(version), why })
        }
        Err(why) => Err(NoCodex { version: None, why }),
    }
}

fn with_effect(message: String, runtime: Runtime, provider: &str) -> String {
    match effective(runtime, provider) == runtime {
        true => message,
        false => format!(
            "{message} (no effect while agent.provider is `{provider}`: Codex runs turns of {} only)",
            PROVIDERS_OF_CODEX.join(" and ")
        ),
    }
}

impl Switch {
    fn unchanged(runtime: Runtime) -> Self {
        Self {
            success: false,
            old: runtime,
            new: runtime,
            message: String::new(),
            requires_new_session: false,
            codex_ok: None,
            codex_version: None,
        }
    }

    fn with_codex(self, version: &Version) -> Self {
        Self { codex_ok: Some(true), codex_version: Some(version.to_string()), ..self }
    }

    fn fails(self, why: &str) -> Self {
        Self { success: false, message: why.to_owned(), ..self }
    }
}

impl Runtime {
    /// As it stands in the file, in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::CodexAppServer => "codex_app_server",
        }
    }
}

impl Display for Runtime {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const AUTO: Runtime = Runtime::Auto;
    const CODEX: Runtime = Runtime::CodexAppServer;

    #[test]
    fn words_are_read_with_their_synonyms() {
        let table: [(&str, &[&str]); 3] = [
            ("report", &["", "  ", "show", "Status"]),
            (
                "codex_app_server",
                &["codex_app_server", "codex-app-server", "on", " ON ", "codex", "enable"],
            ),
            ("auto", &["auto", "off", "Default", "disable", "ostler"]),
        ];
        for (meaning, words) in table {
            for word in words {
                let name = match parse(word).unwrap() {
                    Asked::Report => "report",
                    Asked::Set(runtime) => runtime.name(),
                };
                assert_eq!(name, meaning, "{word:?}");
            }
        }
        assert_eq!(
            parse(" codexx ").unwrap_err().to_string(),
            "`codexx` is no runtime; say auto (off, default, disable, ostler) or codex_app_server (on, codex, enable)"
        );
        assert!(parse("on please").is_err());
    }

    /// What a case came to: the record, how often Codex was looked at, and what was written.
    fn run(
        asked: Asked,
        standing: Standing<'_>,
        found: Result<&str, &str>,
        written: Result<(), &str>,
    ) -> (Switch, u32, Option<Runtime>) {
        let (looks, persisted) = (Cell::new(0), Cell::new(None));
        let look = async || {
            looks.set(looks.get() + 1);
            found.map(|version| version.parse().unwrap()).map_err(str::to_owned)
        };
        let persist = |runtime| {
            persisted.set(Some(runtime));
            written.map_err(str::to_owned)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let record = runtime.block_on(switch(asked, standing, look, persist));
        (record, looks.get(), persisted.get())
    }

    fn standing(runtime: Runtime) -> Standing<'static> {
        Standing { runtime, provider: "openai", turn: Turn::None }
    }

    fn record(old: Runtime, new: Runtime, message: &str) -> Switch {
        Switch { new, message: message.to_owned(), success: true, ..Switch::unchanged(old) }
    }

    #[test]
    fn a_report_is_two_lines_and_changes_nothing() {
        let good = run(Asked::Report, standing(CODEX), Ok("0.166.0"), Ok(()));
        let expected = Switch {
            codex_ok: Some(true),
            codex_version: Some("0.166.0".to_owned()),
            ..record(CODEX, CODEX, "runtime: codex_app_server\ncodex: 0.166.0")
        };
        assert_eq!(good, (expected, 1, None));

        let missing = run(Asked::Report, standing(AUTO), Err("no Codex was found"), Ok(()));
        let message = "runtime: auto\ncodex: not available: no Codex was found; `ostler codex install` fetches one";
        let expected = Switch { codex_ok: Some(false), ..record(AUTO, AUTO, message) };
        assert_eq!(missing, (expected, 1, None));

        let elsewhere = Standing { provider: "local", turn: Turn::Runs, ..standing(CODEX) };
        let (shown, ..) = run(Asked::Report, elsewhere, Ok("0.166.0"), Ok(()));
        assert_eq!(
            shown.message,
            "runtime: codex_app_server (no effect while agent.provider is `local`: Codex runs turns of openai and codex \
             only)\ncodex: 0.166.0"
        );
    }

    #[test]
    fn turning_it_on_looks_at_codex_once_and_then_writes() {
        let set = Asked::Set(CODEX);
        let expected = Switch {
            requires_new_session: true,
            codex_ok: Some(true),
            codex_version: Some("0.125.0".to_owned()),
            ..record(
                AUTO,
                CODEX,
                "runtime: auto → codex_app_server\ncodex: 0.125.0\nit holds from the next session on",
            )
        };
        assert_eq!(run(set, standing(AUTO), Ok("0.125.0"), Ok(())), (expected, 1, Some(CODEX)));
    }

    #[test]
    fn turning_it_off_never_looks_at_codex() {
        let expected = Switch {
            requires_new_session: true,
            ..record(
                CODEX,
                AUTO,
                "runtime: codex_app_server → auto\nit holds from the next session on",
            )
        };
        let came = run(Asked::Set(AUTO), standing(CODEX), Err("gone"), Ok(()));
        assert_eq!(came, (expected, 0, Some(AUTO)));
    }

    #[test]
    fn without_a_fit_codex_nothing_is_written() {
        let table = [
            (Err("no Codex was found"), None, "no Codex was found"),
            (
                Ok("0.124.9"),
                Some("0.124.9"),
                "Codex 0.124.9 is too old: it must be 0.125.0 or newer",
            ),
            (
                Ok("0.125.0-alpha.1"),
                Some("0.125.0-alpha.1"),
                "Codex 0.125.0-alpha.1 is too old: it must be 0.125.0 or newer",
            ),
        ];
        for (found, version, why) in table {
            let message = format!("{why}; nothing was changed; `ostler codex install` fetches one");
            let expected = Switch {
                success: false,
                codex_ok: Some(false),
                codex_version: version.map(str::to_owned),
                ..record(AUTO, AUTO, &message)
            };
            let came = run(Asked::Set(CODEX), standing(AUTO), found, Ok(()));
            assert_eq!(came, (expected, 1, None));
        }
    }

    #[test]
    fn the_same_again_says_so_and_does_nothing() {
        for (runtime, message) in
            [(AUTO, "runtime: auto, as it was"), (CODEX, "runtime: codex_app_server, as it was")]
        {
            let came = run(Asked::Set(runtime), standing(runtime), Err("gone"), Ok(()));
            assert_eq!(came, (record(runtime, runtime, message), 0, None));
        }
    }

    #[test]
    fn nothing_is_switched_under_a_running_turn() {
        let running = Standing { turn: Turn::Runs, ..standing(AUTO) };
        let message = "a turn runs; wait for its end, or end it with /stop first";
        let expected = Switch { success: false, ..record(AUTO, AUTO, message) };
        assert_eq!(run(Asked::Set(CODEX), running, Ok("0.166.0"), Ok(())), (expected, 0, None));
    }

    #[test]
    fn a_choice_that_cannot_be_written_does_not_hold() {
        let (record, looks, tried) =
            run(Asked::Set(CODEX), standing(AUTO), Ok("0.166.0"), Err("the disk is full"));
        assert_eq!((looks, tried), (1, Some(CODEX)));
        assert_eq!((record.success, record.new, record.requires_new_session), (false, AUTO, false));
        assert_eq!(record.message, "the choice could not be written down: the disk is full");
    }

    #[test]
    fn a_provider_that_codex_does_not_reach_is_told_that_it_has_no_effect() {
        let elsewhere = Standing { provider: "local", ..standing(AUTO) };
        let (record, _, written) = run(Asked::Set(CODEX), elsewhere, Ok("0.166.0"), Ok(()));
        assert_eq!(written, Some(CODEX));
        assert!(
            record.success && record.message.contains("no effect while agent.provider is `local`")
        );
        assert_eq!(effective(CODEX, "local"), AUTO);
        assert_eq!(PROVIDERS_OF_CODEX.map(|name| effective(CODEX, name)), [CODEX; 2]);
    }
}
