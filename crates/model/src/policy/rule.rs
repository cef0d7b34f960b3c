//! One rule.

use serde::{Deserialize, Serialize};

use super::fit::Fit;
use super::folder::Folder;
use super::matcher::Matcher;
use super::rule_set::Context;
use crate::ask::{Ask, AskKind, Sandboxing};
use crate::id::{AskId, RuleId, TaskId};

/// Decides asks of one sort, in one place, for some time.
///
/// Its stored form carries a version. A form with a version or a field that this program does not know is not read: what
/// it leaves out could be what makes the rule narrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Rule {
    pub id: RuleId,
    pub effect: Effect,
    pub matcher: Matcher,
    /// As far as a command may reach that it allows.
    pub sandboxing: Sandboxing,
    /// Only what happens in this folder or below.
    pub cwd: Option<Folder>,
    pub scope: Scope,
    /// Unix milliseconds from which it does not hold any more.
    pub expires_at: Option<i64>,
    pub made_by: String,
    /// Unix milliseconds.
    pub made_at: i64,
    /// The ask that somebody answered with it.
    pub from_ask: Option<AskId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Allow,
    Deny,
}

/// Whose asks a rule decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Task(TaskId),
    /// Of what happens in this folder or below.
    Directory(Folder),
    Everywhere,
}

impl Rule {
    /// How the names of those begin that stand in the operator's file. Nobody else's may.
    pub const OF_FILE: &'static str = "config-";

    pub fn has_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Whether it decides this ask, now.
    pub(super) fn decides(&self, ask: &Ask, context: &Context<'_>) -> bool {
        let fit = if self.has_expired(context.now) { Fit::Misses } else { self.fit(ask, context) };
        match self.effect {
            Effect::Allow => fit == Fit::Fits,
            Effect::Deny => fit >= Fit::Unclear,
        }
    }

    fn fit(&self, ask: &Ask, context: &Context<'_>) -> Fit {
        let place = place(&ask.kind, context);
        let scope = match &self.scope {
            Scope::Task(task) => Fit::when(task == context.task),
            Scope::Directory(folder) => folder.holds(place),
            Scope::Everywhere => Fit::Fits,
        };
        let cwd = self.cwd.as_ref().map_or(Fit::Fits, |folder| folder.holds(place));
        let fit = scope.min(cwd).min(self.matcher.fit(&ask.kind, context.cwd));
        if self.reaches(&ask.kind) { fit } else { fit.min(Fit::Unclear) }
    }

    /// Whether a command would run no further out of its sandbox than the rule says.
    fn reaches(&self, kind: &AskKind) -> bool {
        match (&self.matcher, kind) {
            (Matcher::Command(_) | Matcher::CommandPrefix(_), AskKind::Command(ask)) => {
                self.sandboxing.covers(ask.sandboxing)
            }
            _ => true,
        }
    }

    /// How far a rule reaches that does not say so: no further than the rules did that people made of asks in a sandbox.
    pub const fn usual_sandboxing() -> Sandboxing {
        Sandboxing::InsideFirst
    }
}

/// Where it happens: where the ask says, else where the task works.
pub(super) fn place<'a>(kind: &'a AskKind, context: &Context<'a>) -> &'a str {
    let said = match kind {
        AskKind::Command(ask) => ask.cwd.as_deref(),
        AskKind::Permissions(ask) => ask.cwd.as_deref(),
        _ => None,
    };
    said.unwrap_or(context.cwd)
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "version")]
enum Stored {
    #[serde(rename = "1")]
    One(StoredRule),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRule {
    id: RuleId,
    effect: Effect,
    matcher: Matcher,
    /// Rules of before 2026-11 do not have it.
    #[serde(default = "Rule::usual_sandboxing")]
    sandboxing: Sandboxing,
    cwd: Option<Folder>,
    scope: Scope,
    expires_at: Option<i64>,
    made_by: String,
    made_at: i64,
    from_ask: Option<AskId>,
}

impl From<Stored> for Rule {
    fn from(stored: Stored) -> Self {
        let Stored::One(rule) = stored;
        let StoredRule {
            id,
            effect,
            matcher,
            sandboxing,
            cwd,
            scope,
            expires_at,
            made_by,
            made_at,
            from_ask,
        } = rule;
        Self { id, effect, matcher, sandboxing, cwd, scope, expires_at, made_by, made_at, from_ask }
    }
}

impl From<Rule> for Stored {
    fn from(rule: Rule) -> Self {
        let Rule {
            id,
            effect,
            matcher,
            sandboxing,
            cwd,
            scope,
            expires_at,
            made_by,
            made_at,
            from_ask,
        } = rule;
        Self::One(StoredRule {
            id,
            effect,
            matcher,
            sandboxing,
            cwd,
            scope,
            expires_at,
            made_by,
            made_at,
            from_ask,
        })
    }
}
