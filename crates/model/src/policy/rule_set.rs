//! All rules together: what they say of an ask.

use std::fmt;

use super::rule::{Effect, Rule};
use crate::ask::{Ask, AskKind, ElicitationWant};
use crate::command_line::{CommandLine, WhyCompound};
use crate::decision::Decision;
use crate::id::{RuleId, TaskId};

/// The rules there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

/// Where and when an ask is decided.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub task: &'a TaskId,
    /// Where the task works; what an ask says of itself counts before it.
    pub cwd: &'a str,
    /// Unix milliseconds.
    pub now: i64,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allowed {
        rule: RuleId,
    },
    Denied {
        rule: RuleId,
    },
    /// Somebody else decides.
    NoRule {
        why: NoRule,
    },
}

/// Why no rule decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRule {
    /// There is none for it.
    NoneFits,
    /// No rule can allow it.
    Compound(WhyCompound),
    /// It wants more than a rule for its command or its files can give.
    WantsMore,
    /// Rules do not decide such asks.
    NotForRules,
}

impl RuleSet {
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The same with one rule more.
    #[must_use]
    pub fn with(&self, rule: Rule) -> Self {
        let mut rules = self.without(&rule.id);
        rules.rules.push(rule);
        rules
    }

    /// The same with one rule less.
    #[must_use]
    pub fn without(&self, rule: &RuleId) -> Self {
        Self::new(self.rules.iter().filter(|known| known.id != *rule).cloned().collect())
    }

    /// What the rules say of this ask: a refusal before a permission, and among equals the rule that comes first.
    pub fn decide(&self, ask: &Ask, context: &Context<'_>) -> Verdict {
        let decider = |effect| {
            let mut rules = self.rules.iter().filter(|rule| rule.effect == effect);
            rules.find(|rule| rule.decides(ask, context)).map(|rule| rule.id.clone())
        };
        if let Some(rule) = decider(Effect::Deny) {
            return Verdict::Denied { rule };
        }
        match decider(Effect::Allow).filter(|_| ask.takes(&Decision::Once)) {
            Some(rule) => Verdict::Allowed { rule },
            None => Verdict::NoRule { why: why_none(&ask.kind) },
        }
    }
}

impl Verdict {
    /// What Codex is told. Only for this once: the rules are asked each time, so that each use is on record and a rule that
    /// was removed or has expired holds nowhere any more.
    pub fn decision(&self) -> Option<Decision> {
        match self {
            Self::Allowed { .. } => Some(Decision::Once),
            Self::Denied { .. } => Some(Decision::Deny),
            Self::NoRule { .. } => None,
        }
    }
}

/// What stands between such an ask and any rule that allows.
pub(super) fn why_none(kind: &AskKind) -> NoRule {
    match kind {
        AskKind::Command(ask) => {
            let is_connection = ask.network.is_some() && ask.command.is_none();
            let wants_more = ask.extra.is_some() || (ask.network.is_some() && !is_connection);
            match &ask.command {
                _ if wants_more => NoRule::WantsMore,
                Some(_) if ask.writes_to_running => NoRule::Compound(WhyCompound::Typed),
                Some(line) => match CommandLine::read(line) {
                    CommandLine::Simple { .. } => NoRule::NoneFits,
                    CommandLine::Compound { why, .. } => NoRule::Compound(why),
                },
                None => NoRule::NoneFits,
            }
        }
        AskKind::FileChange(ask) if ask.grant_root.is_some() => NoRule::WantsMore,
        AskKind::FileChange(_) | AskKind::Permissions(_) => NoRule::NoneFits,
        AskKind::Elicitation(ask) if matches!(ask.want, ElicitationWant::ToolApproval { .. }) => {
            NoRule::NoneFits
        }
        AskKind::UserInput(_)
        | AskKind::Elicitation(_)
        | AskKind::ToolCall(_)
        | AskKind::Continue { .. }
        | AskKind::TokenRefresh { .. }
        | AskKind::Other { .. } => NoRule::NotForRules,
    }
}

impl fmt::Display for NoRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneFits => write!(formatter, "no rule is about this"),
            Self::Compound(why) => {
                write!(formatter, "no rule can allow this, because {why}")
            }
            Self::WantsMore => {
                write!(formatter, "no rule can allow this, because it asks for further rights")
            }
            Self::NotForRules => write!(formatter, "rules do not decide such questions"),
        }
    }
}
