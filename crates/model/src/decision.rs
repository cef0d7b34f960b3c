//! What may be answered to an ask, and for how long it holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ask::{Ask, AskKind, ElicitationWant, Permissions};
use crate::form::{self, FormValue};
use crate::id::QuestionId;

/// Stands where the answer to a secret question was.
const HIDDEN: &str = "(hidden)";

/// The answer to an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Decision {
    /// Allowed, this once.
    Once,
    /// Allowed, and not asked again in this session.
    Session,
    /// Allowed, and remembered beyond the session in the way named.
    Always(Remember),
    /// Not allowed; the turn goes on and the model is told.
    Deny,
    /// Not allowed, and the turn ends; an MCP server's question is only dropped and the turn goes on.
    Cancel,
    /// The sandbox is widened by this much, which may be less than was asked.
    Grant { permissions: Permissions, holds: GrantHolds },
    /// Answers to the questions of a user-input ask.
    Answers(BTreeMap<QuestionId, Vec<String>>),
    /// A form filled in.
    Form(BTreeMap<String, FormValue>),
    /// What our tool returned.
    ToolResult { succeeded: bool, outputs: Vec<ToolOutput> },
}

/// What is remembered beyond the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remember {
    /// Commands that begin with these words, for the whole Codex home.
    CommandPrefix(Vec<String>),
    /// Connections to this host, allowed or refused.
    Host { host: String, allowed: bool },
    /// Calls of this MCP tool.
    Tool,
}

/// How long a widened sandbox holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantHolds {
    Turn,
    Session,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolOutput {
    Text(String),
    ImageUrl(String),
}

impl Decision {
    /// The order in which choices are put to a person, from the least to the most that is remembered, refusals last.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Once => 0,
            Self::Session => 1,
            Self::Deny => 4,
            Self::Always(Remember::Host { allowed: false, .. }) => 5,
            Self::Always(_) => 2,
            Self::Grant { .. } | Self::Answers(_) | Self::Form(_) | Self::ToolResult { .. } => 3,
            Self::Cancel => 6,
        }
    }

    /// The same yes or no without what is remembered, for where the remembering is done elsewhere.
    #[must_use]
    pub fn unremembered(self) -> Self {
        match self {
            Self::Always(Remember::Host { allowed: false, .. }) => Self::Deny,
            Self::Always(_) => Self::Once,
            decision => decision,
        }
    }

    /// Whether it is a plain yes.
    pub fn allows(&self) -> bool {
        matches!(self.clone().unremembered(), Self::Once | Self::Session)
    }
}

impl Ask {
    /// Whether this decision may be given to this ask: a plain one must be offered, one with data must fit the kind.
    pub fn takes(&self, decision: &Decision) -> bool {
        match (decision, &self.kind) {
            (Decision::Grant { permissions, .. }, AskKind::Permissions(ask)) => {
                permissions.is_within(&ask.wanted)
            }
            (Decision::Answers(answers), AskKind::UserInput(ask)) => {
                answers.keys().all(|id| ask.questions.iter().any(|question| question.id == *id))
            }
            (Decision::Form(values), AskKind::Elicitation(ask)) => match &ask.want {
                ElicitationWant::Form(fields) => form::is_filled(fields, values),
                _ => false,
            },
            (Decision::ToolResult { .. }, AskKind::ToolCall(_)) => true,
            _ => self.offers.contains(decision),
        }
    }

    /// The decision as others may see it: without answers that are secrets.
    pub fn shown(&self, decision: Decision) -> Decision {
        let (Decision::Answers(mut answers), AskKind::UserInput(ask)) =
            (decision.clone(), &self.kind)
        else {
            return decision;
        };
        for question in ask.questions.iter().filter(|question| question.is_secret) {
            if let Some(given) = answers.get_mut(&question.id) {
                *given = vec![HIDDEN.to_owned()];
            }
        }
        Decision::Answers(answers)
    }
}

impl Permissions {
    /// Whether nothing here goes beyond `wanted`. A person may grant less than was asked, never more.
    pub fn is_within(&self, wanted: &Self) -> bool {
        (self.network != Some(true) || wanted.network == Some(true))
            && self.read.iter().all(|path| wanted.read.contains(path))
            && self.write.iter().all(|path| wanted.write.contains(path))
            && self.rules.iter().all(|rule| wanted.rules.contains(rule))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Decision, GrantHolds, Remember};
    use crate::QuestionId;
    use crate::ask::{
        Ask, AskKind, CommandAsk, ElicitationAsk, ElicitationWant, Permissions, PermissionsAsk,
        Question, UserInputAsk,
    };
    use crate::form::{FormField, FormFieldKind, FormOption, FormValue};

    fn ask(kind: AskKind, offers: Vec<Decision>) -> Ask {
        Ask { thread: None, turn: None, item: None, reason: None, kind, offers }
    }

    #[test]
    fn only_offered_decisions_are_taken() {
        let remembered = Decision::Always(Remember::CommandPrefix(vec!["mkdir".into()]));
        let command = ask(
            AskKind::Command(CommandAsk::default()),
            vec![Decision::Once, remembered.clone(), Decision::Deny],
        );
        let other = Decision::Always(Remember::CommandPrefix(vec!["rm".into()]));

        let taken = [Decision::Once, remembered, other, Decision::Session, Decision::Deny]
            .map(|decision| command.takes(&decision));

        assert_eq!(taken, [true, true, false, false, true]);
    }

    #[test]
    fn what_is_refused_for_good_is_refused() {
        let host = |allowed| Decision::Always(Remember::Host { host: "h".into(), allowed });
        let prefix = Decision::Always(Remember::CommandPrefix(vec!["mkdir".into()]));
        let tool = Decision::Always(Remember::Tool);
        for (decision, plain, allows) in [
            (host(false), Decision::Deny, false),
            (host(true), Decision::Once, true),
            (prefix, Decision::Once, true),
            (tool, Decision::Once, true),
            (Decision::Session, Decision::Session, true),
            (Decision::Deny, Decision::Deny, false),
            (Decision::Cancel, Decision::Cancel, false),
        ] {
            assert_eq!(decision.allows(), allows, "{decision:?}");
            assert_eq!(decision.unremembered(), plain);
        }
    }

    #[test]
    fn a_grant_never_exceeds_what_was_asked() {
        let wanted = Permissions { write: vec!["/a".into(), "/b".into()], ..Default::default() };
        let permissions =
            ask(AskKind::Permissions(PermissionsAsk { cwd: None, wanted }), vec![Decision::Deny]);
        let grant = |permissions| Decision::Grant { permissions, holds: GrantHolds::Turn };

        let less = grant(Permissions { write: vec!["/a".into()], ..Default::default() });
        let more = grant(Permissions { write: vec!["/".into()], ..Default::default() });
        let network = grant(Permissions { network: Some(true), ..Default::default() });

        assert_eq!(
            [less, more, network].map(|decision| permissions.takes(&decision)),
            [true, false, false]
        );
    }

    fn question(id: &str, is_secret: bool) -> Question {
        Question {
            id: QuestionId::new(id),
            header: String::new(),
            text: String::new(),
            options: Vec::new(),
            allows_other: true,
            is_secret,
        }
    }

    fn answers(given: &[(&str, &str)]) -> Decision {
        let given = given.iter().map(|(id, text)| (QuestionId::new(*id), vec![(*text).to_owned()]));
        Decision::Answers(given.collect())
    }

    #[test]
    fn only_what_was_asked_can_be_answered_and_secrets_are_not_shown() {
        let questions = vec![question("colour", false), question("key", true)];
        let ask = ask(
            AskKind::UserInput(UserInputAsk { questions, resolves_itself_after_ms: None }),
            vec![Decision::Deny],
        );

        assert!(ask.takes(&answers(&[("colour", "red")])));
        assert!(ask.takes(&answers(&[])));
        assert!(!ask.takes(&answers(&[("size", "red")])));
        assert_eq!(
            ask.shown(answers(&[("colour", "red"), ("key", "s3cret")])),
            answers(&[("colour", "red"), ("key", "(hidden)")])
        );
    }

    #[test]
    fn a_form_is_taken_only_where_one_is_wanted_and_only_well_filled() {
        let field = |name: &str, kind, required| FormField {
            name: name.to_owned(),
            title: None,
            description: None,
            kind,
            required,
        };
        let levels = vec![FormOption { value: "low".to_owned(), title: None }];
        let fields = vec![
            field("name", FormFieldKind::Text, true),
            field("level", FormFieldKind::Choice(levels), false),
            field("age", FormFieldKind::Integer, false),
        ];
        let elicitation = |want| {
            let (server, message) = (String::new(), String::new());
            let kind = AskKind::Elicitation(ElicitationAsk { server, message, want });
            ask(kind, vec![Decision::Deny])
        };
        let form = elicitation(ElicitationWant::Form(fields));
        let approval = elicitation(ElicitationWant::ToolApproval {
            tool: None,
            description: None,
            arguments: None,
        });
        let filled = |values: &[(&str, FormValue)]| {
            let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
            Decision::Form(values.collect::<BTreeMap<_, _>>())
        };
        let text = |text: &str| FormValue::Text(text.to_owned());

        let name = ("name", text("Ada"));
        assert!(form.takes(&filled(&[name.clone(), ("level", text("low"))])));
        assert!(form.takes(&filled(&[name.clone(), ("age", FormValue::Integer(7))])));
        assert!(!form.takes(&filled(&[])), "a required field is missing");
        assert!(!form.takes(&filled(&[name.clone(), ("level", text("high"))])), "no such choice");
        assert!(!form.takes(&filled(&[name.clone(), ("age", text("7"))])), "no number");
        assert!(!form.takes(&filled(&[name.clone(), ("more", text("x"))])), "no such field");
        assert!(!approval.takes(&filled(&[])), "nobody wants a form");
    }

    #[test]
    fn refusals_stand_last_whatever_they_remember() {
        let host = |allowed| Decision::Always(Remember::Host { host: "h".into(), allowed });
        let mut offers =
            [Decision::Cancel, host(false), Decision::Deny, host(true), Decision::Once];
        offers.sort_by_key(Decision::rank);

        assert_eq!(
            offers,
            [Decision::Once, host(true), Decision::Deny, host(false), Decision::Cancel]
        );
    }
}
