//! What the doctor says about one thing, and about all of them.

use std::fmt;

use serde::Serialize;

/// What was looked at; the order is the order on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Name {
    Codex,
    AppServer,
    Login,
    Sandbox,
    CodexConfig,
    ConfigLayers,
    McpServers,
    Plugins,
    CodexHome,
    Config,
    StateFolder,
    CacheFolder,
    RuntimeFolder,
    Databases,
    Keepers,
    Leftovers,
    Npm,
}

impl Name {
    pub(super) const ALL: [Self; 17] = [
        Self::Codex,
        Self::AppServer,
        Self::Login,
        Self::Sandbox,
        Self::CodexConfig,
        Self::ConfigLayers,
        Self::McpServers,
        Self::Plugins,
        Self::CodexHome,
        Self::Config,
        Self::StateFolder,
        Self::CacheFolder,
        Self::RuntimeFolder,
        Self::Databases,
        Self::Keepers,
        Self::Leftovers,
        Self::Npm,
    ];

    /// The word on the page, the same as in JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::AppServer => "app-server",
            Self::Login => "login",
            Self::Sandbox => "sandbox",
            Self::CodexConfig => "codex-config",
            Self::ConfigLayers => "config-layers",
            Self::McpServers => "mcp-servers",
            Self::Plugins => "plugins",
            Self::CodexHome => "codex-home",
            Self::Config => "config",
            Self::StateFolder => "state-folder",
            Self::CacheFolder => "cache-folder",
            Self::RuntimeFolder => "runtime-folder",
            Self::Databases => "databases",
            Self::Keepers => "keepers",
            Self::Leftovers => "leftovers",
            Self::Npm => "npm",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.word())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Ok,
    /// Works, but somebody may want to know.
    Warning,
    /// Codex cannot run, or not safely.
    Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: Name,
    pub(super) state: State,
    pub(super) found: String,
    /// One by one, where it is about several things.
    pub(super) details: Vec<String>,
    /// What to do about it.
    pub(super) advice: Option<String>,
}

impl Check {
    pub(super) fn ok(name: Name, found: impl Into<String>) -> Self {
        Self { name, state: State::Ok, found: found.into(), details: Vec::new(), advice: None }
    }

    pub(super) fn warning(name: Name, found: impl Into<String>) -> Self {
        Self { state: State::Warning, ..Self::ok(name, found) }
    }

    pub(super) fn problem(name: Name, found: impl Into<String>) -> Self {
        Self { state: State::Problem, ..Self::ok(name, found) }
    }

    /// What could not be looked at because of something that is a problem of its own.
    pub(super) fn not_looked_at(name: Name, because: &str) -> Self {
        Self::warning(name, format!("not looked at: {because}"))
    }

    pub(super) fn with_details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }

    /// The same with all that it says in other words.
    pub(super) fn with_words(self, other: impl Fn(&str) -> String) -> Self {
        Self {
            found: other(&self.found),
            details: self.details.iter().map(|detail| other(detail)).collect(),
            advice: self.advice.as_deref().map(&other),
            ..self
        }
    }

    pub(super) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// Something that was put in order, or could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Fix {
    pub(super) what: String,
    /// Why it was not done.
    pub(super) left: Option<String>,
}

impl Fix {
    pub(super) fn with_words(self, other: impl Fn(&str) -> String) -> Self {
        Self { what: other(&self.what), left: self.left.as_deref().map(&other) }
    }
}

/// All checks, in the order of the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    /// What `--fix` did before the look.
    pub(super) fixes: Vec<Fix>,
    pub(super) checks: Vec<Check>,
    pub(super) ok: usize,
    pub(super) warnings: usize,
    pub(super) problems: usize,
}

impl Report {
    pub(super) fn new(mut checks: Vec<Check>, fixes: Vec<Fix>) -> Self {
        checks.sort_by_key(|check| check.name);
        let count = |state| checks.iter().filter(|check| check.state == state).count();
        Self {
            ok: count(State::Ok),
            warnings: count(State::Warning),
            problems: count(State::Problem),
            fixes,
            checks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_sorted_and_counted() {
        let npm = Check::warning(Name::Npm, "none");
        let codex = Check::ok(Name::Codex, "0.166.0");
        let login = Check::problem(Name::Login, "none").advise("log in");

        let fix = Fix { what: "swept".to_owned(), left: None };
        let unsorted = vec![npm.clone(), login.clone(), codex.clone()];
        let report = Report::new(unsorted, vec![fix.clone()]);

        let (checks, fixes) = (vec![codex, login, npm], vec![fix]);
        assert_eq!(report, Report { fixes, checks, ok: 1, warnings: 1, problems: 1 });
    }

    #[test]
    fn a_name_is_the_same_word_on_the_page_and_in_json() {
        for name in Name::ALL {
            assert_eq!(serde_json::to_value(name).unwrap(), name.word());
        }
    }
}
