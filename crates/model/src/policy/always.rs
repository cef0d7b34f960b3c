//! The rule that somebody makes by answering an ask for good.

use super::folder::Folder;
use super::matcher::Matcher;
use super::rule::{Effect, Rule, Scope, place};
use super::rule_set::{Context, NoRule, RuleSet, Verdict, why_none};
use super::words::Words;
use super::{HostPattern, RuleError};
use crate::ask::{Ask, AskKind, CommandAsk, ElicitationWant, Permissions, Sandboxing};
use crate::command_line::CommandLine;
use crate::decision::{Decision, Remember};
use crate::id::{AskId, RuleId};

/// What the person says of the rule besides the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub id: RuleId,
    pub scope: Scope,
    /// Unix milliseconds.
    pub expires_at: Option<i64>,
    pub made_by: String,
    pub from_ask: Option<AskId>,
}

/// Why no rule comes of a decision. It can still be given, for this once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    #[error("this ask does not take that decision; give one of those it offers")]
    NotOffered,
    #[error("{0}; answer it for this once")]
    NotByRule(NoRule),
    #[error("which tool is asked for is not known; answer it for this once")]
    ToolUnknown,
    #[error("changes of files are not remembered by one answer; make a rule for the folder")]
    Files,
    #[error("an answer with content of its own is not remembered; answer it for this once")]
    OwnContent,
    #[error("the rule would not be about this ask; choose another scope, or a later end")]
    WouldNotHold,
    #[error(transparent)]
    Rule(#[from] RuleError),
}

impl Rule {
    /// The rule by which an ask like this one is decided in the same way from now on.
    ///
    /// What Codex offers to remember is taken as it offers it. Any other decision is remembered as narrowly as it can be:
    /// this very command, this host, this tool, these permissions. In a task, a command also has to stay where it was
    /// asked for.
    pub fn from_always(
        ask: &Ask,
        decision: &Decision,
        context: &Context<'_>,
        terms: Terms,
    ) -> Result<Self, WhyNot> {
        if !ask.takes(decision) {
            return Err(WhyNot::NotOffered);
        }
        let (effect, matcher) = match decision {
            Decision::Always(remember) => remembered(ask, remember)?,
            Decision::Once | Decision::Session => (Effect::Allow, narrowest(&ask.kind)?),
            Decision::Deny | Decision::Cancel => (Effect::Deny, narrowest(&ask.kind)?),
            Decision::Grant { permissions, .. } => (Effect::Allow, granted(permissions)?),
            Decision::Answers(_) | Decision::Form(_) | Decision::ToolResult { .. } => {
                return Err(WhyNot::OwnContent);
            }
        };
        let Terms { id, scope, expires_at, made_by, from_ask } = terms;
        let is_command = matches!(matcher, Matcher::Command(_) | Matcher::CommandPrefix(_));
        let cwd = match (&scope, effect) {
            (Scope::Task(_), Effect::Allow) if is_command => {
                Some(Folder::try_from(place(&ask.kind, context).to_owned())?)
            }
            _ => None,
        };
        let made_at = context.now;
        let sandboxing = match &ask.kind {
            AskKind::Command(ask) if is_command => ask.sandboxing.min(Sandboxing::Outside),
            _ => Self::usual_sandboxing(),
        };
        let rule = Self {
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
        };
        // Nobody is told that something is remembered for good which would be asked again.
        let wanted = match effect {
            Effect::Allow => Verdict::Allowed { rule: rule.id.clone() },
            Effect::Deny => Verdict::Denied { rule: rule.id.clone() },
        };
        if RuleSet::new(vec![rule.clone()]).decide(ask, context) == wanted {
            Ok(rule)
        } else {
            Err(WhyNot::WouldNotHold)
        }
    }
}

fn remembered(ask: &Ask, remember: &Remember) -> Result<(Effect, Matcher), WhyNot> {
    match remember {
        Remember::CommandPrefix(words) => match why_none(&ask.kind) {
            NoRule::NoneFits => {
                Ok((Effect::Allow, Matcher::CommandPrefix(Words::try_from(words.clone())?)))
            }
            why => Err(WhyNot::NotByRule(why)),
        },
        Remember::Host { host, allowed } => {
            let effect = if *allowed { Effect::Allow } else { Effect::Deny };
            Ok((effect, Matcher::Host(HostPattern::try_from(host.clone())?)))
        }
        Remember::Tool => Ok((Effect::Allow, narrowest(&ask.kind)?)),
    }
}

/// The rule that is about this ask and as little else as possible.
fn narrowest(kind: &AskKind) -> Result<Matcher, WhyNot> {
    match (why_none(kind), kind) {
        (NoRule::NoneFits, AskKind::Command(ask)) => command(ask),
        (NoRule::NoneFits, AskKind::Permissions(ask)) => granted(&ask.wanted),
        (NoRule::NoneFits, AskKind::Elicitation(ask)) => match &ask.want {
            ElicitationWant::ToolApproval { tool: Some(tool), .. } => {
                Ok(Matcher::Tool { server: ask.server.clone(), tool: tool.clone() })
            }
            _ => Err(WhyNot::ToolUnknown),
        },
        (NoRule::NoneFits, AskKind::FileChange(_)) => Err(WhyNot::Files),
        (why, _) => Err(WhyNot::NotByRule(why)),
    }
}

fn command(ask: &CommandAsk) -> Result<Matcher, WhyNot> {
    match (&ask.command, &ask.network) {
        (Some(line), _) => match CommandLine::read(line) {
            CommandLine::Simple { argv } => Ok(Matcher::Command(Words::try_from(argv)?)),
            CommandLine::Compound { why, .. } => Err(WhyNot::NotByRule(NoRule::Compound(why))),
        },
        (None, Some(target)) => Ok(Matcher::Host(HostPattern::try_from(target.host.clone())?)),
        (None, None) => Err(WhyNot::NotByRule(NoRule::NoneFits)),
    }
}

fn granted(permissions: &Permissions) -> Result<Matcher, WhyNot> {
    if *permissions == Permissions::default() {
        return Err(WhyNot::WouldNotHold);
    }
    Ok(Matcher::Permissions(permissions.clone()))
}
