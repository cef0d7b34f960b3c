//! What rules say of an ask, and the rule that comes of an answer. The same for every ask, whoever puts it.

use ostler_codex::secrets::REDACTED;
use ostler_model::policy::{Context, Folder, Rule, RuleSet, Scope, Terms, Verdict};
use ostler_model::task::{AskRecord, DecidedBy, DecisionRecord};
use ostler_model::{Ask, Decision, RuleId};
use ostler_store::RuleRow;

use crate::runner::{AnswerError, Reach, Remembering, short_id};
use crate::shared::now;

/// What the rules decide of it in this folder; none if they leave it open.
pub(crate) fn by_rule(rules: &RuleSet, record: &AskRecord, cwd: &str) -> Option<DecisionRecord> {
    let context = Context { task: &record.task, cwd, now: now() };
    match rules.decide(&record.content, &context) {
        Verdict::Allowed { rule } => takes(record, Decision::Once, DecidedBy::Rule { rule }, None),
        Verdict::Denied { rule } => {
            let reason = "a rule of the operator forbids it";
            takes(record, Decision::Deny, DecidedBy::Rule { rule }, Some(reason))
        }
        _ => None,
    }
}

/// The decision, if the ask takes it.
pub(crate) fn takes(
    record: &AskRecord,
    decision: Decision,
    by: DecidedBy,
    reason: Option<&str>,
) -> Option<DecisionRecord> {
    let reason = reason.map(str::to_owned);
    let takes = record.content.takes(&decision);
    takes.then(|| DecisionRecord { decision, by, reason, at: now() })
}

/// The rule by which what was asked in this folder is decided alike from now on.
pub(crate) fn remembered(
    record: &AskRecord,
    cwd: &str,
    decision: &DecisionRecord,
    remember: Remembering,
) -> Result<Rule, AnswerError> {
    let no_rule = |why: String| AnswerError::NoRule(why);
    if holds_a_secret(&record.content) {
        let why = "what is asked holds a secret, which no rule may keep; answer it for this once";
        return Err(no_rule(why.to_owned()));
    }
    let scope = match remember.reach {
        Reach::Task => Scope::Task(record.task.clone()),
        Reach::Everywhere => Scope::Everywhere,
        Reach::Directory(folder) => {
            let folder = Folder::try_from(folder.unwrap_or_else(|| cwd.to_owned()));
            Scope::Directory(folder.map_err(|error| no_rule(error.to_string()))?)
        }
    };
    let terms = Terms {
        id: RuleId::new(short_id()),
        scope,
        expires_at: remember.expires_at,
        made_by: decision.by.describe(),
        from_ask: Some(record.id.clone()),
    };
    let context = Context { task: &record.task, cwd, now: decision.at };
    let rule = Rule::from_always(&record.content, &decision.decision, &context, terms);
    rule.map_err(|why| no_rule(why.to_string()))
}

fn holds_a_secret(ask: &Ask) -> bool {
    serde_json::to_string(&ask.kind).is_ok_and(|kind| kind.contains(REDACTED))
}

/// What is to be remembered of an answer.
///
/// One for good that does not say where holds in the task's folder and below, until somebody removes the rule. The task alone
/// would be narrower, but the next one in the same folder would ask the same again, which is not what `always` says; and it is
/// what `ostler answer ASK always` does without options.
pub(crate) fn to_remember(decision: &Decision, said: Option<Remembering>) -> Option<Remembering> {
    let usual = || Remembering { reach: Reach::Directory(None), expires_at: None };
    match decision {
        Decision::Always(_) => Some(said.unwrap_or_else(usual)),
        _ => said,
    }
}

/// What of the offers can be kept: nobody is offered to have something remembered of which no rule can be made.
pub(crate) fn keepable(record: &AskRecord, cwd: &str) -> Vec<Decision> {
    let can_be_kept = |offer: &Decision| {
        let Some(wish) = to_remember(offer, None) else { return true };
        let decision = DecisionRecord {
            decision: offer.clone(),
            by: DecidedBy::Nobody,
            reason: None,
            at: record.opened_at,
        };
        remembered(record, cwd, &decision, wish).is_ok()
    };
    let offers = record.content.offers.iter();
    offers.filter(|offer| can_be_kept(offer)).cloned().collect()
}

/// What Codex is told. What is remembered is remembered by us: Codex would do so for its whole home, and for good.
pub(crate) fn told(ask: &Ask, decision: Decision) -> Decision {
    let plain = decision.clone().unremembered();
    if ask.takes(&plain) { plain } else { decision }
}

/// As it is stored.
pub(crate) fn row(rule: &Rule) -> RuleRow {
    let json = serde_json::to_string(rule).unwrap_or_default();
    RuleRow { id: rule.id.clone(), json, expires_at: rule.expires_at }
}

#[cfg(test)]
mod tests {
    use ostler_model::ask::{AskKind, CommandAsk};
    use ostler_model::decision::Remember;

    use ostler_model::task::AskState;

    use super::*;

    fn ask(offers: &[Decision]) -> Ask {
        let kind = AskKind::Command(CommandAsk::default());
        Ask { thread: None, turn: None, item: None, reason: None, kind, offers: offers.to_vec() }
    }

    #[test]
    fn codex_is_told_yes_or_no_and_not_to_remember_it() {
        let host = |allowed| Decision::Always(Remember::Host { host: "a.b".into(), allowed });
        let both = ask(&[Decision::Once, host(true), Decision::Deny, host(false)]);
        assert_eq!(told(&both, host(true)), Decision::Once);
        assert_eq!(told(&both, host(false)), Decision::Deny);
        // A plain word that it does not take would be no answer.
        let neither = ask(&[host(true), host(false)]);
        assert_eq!(told(&neither, host(true)), host(true));
        assert_eq!(told(&neither, host(false)), host(false));
    }

    fn record(content: Ask) -> AskRecord {
        AskRecord {
            id: "a1".into(),
            task: "t1".into(),
            agent: None,
            source: None,
            digest: content.digest(),
            content,
            opened_at: 1,
            state: AskState::Open,
            decision: None,
            closed: None,
        }
    }

    #[test]
    fn an_answer_for_good_is_remembered_in_the_folder_unless_it_says_where() {
        let always = Decision::Always(Remember::Tool);
        let here = Remembering { reach: Reach::Directory(None), expires_at: None };
        let task = Remembering { reach: Reach::Task, expires_at: Some(9) };
        assert_eq!(to_remember(&always, None), Some(here));
        assert_eq!(to_remember(&always, Some(task.clone())), Some(task.clone()));
        assert_eq!(to_remember(&Decision::Deny, Some(task.clone())), Some(task));
        assert_eq!(to_remember(&Decision::Once, None), None);
    }

    #[test]
    fn only_what_a_rule_can_be_made_of_is_offered_for_good() {
        let prefix = Decision::Always(Remember::CommandPrefix(vec!["touch".into()]));
        let offered = |command: &str, cwd: &str| {
            let content = Ask {
                kind: AskKind::Command(CommandAsk {
                    command: Some(command.to_owned()),
                    cwd: Some(cwd.to_owned()),
                    ..CommandAsk::default()
                }),
                ..ask(&[Decision::Once, prefix.clone(), Decision::Deny])
            };
            keepable(&record(content), "/inn").contains(&prefix)
        };
        assert!(offered("touch made", "/inn/stable"));
        assert!(!offered("touch made && rm made", "/inn"));
        assert!(!offered("touch made", "/barn"), "the folder's rule would not hold there");
    }
}
