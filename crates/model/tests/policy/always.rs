//! The rule that comes of an answer for good.

use ostler_model::ask::{
    AskKind, CommandAsk, ElicitationAsk, ElicitationWant, Permissions, PermissionsAsk, Sandboxing,
    UserInputAsk,
};
use ostler_model::command_line::WhyCompound;
use ostler_model::decision::{GrantHolds, Remember};
use ostler_model::policy::{Context, Effect, Matcher, NoRule, Scope, Terms, WhyNot};
use ostler_model::{Ask, Decision, Rule, RuleSet, TaskId, Verdict};
use proptest::prelude::*;

use crate::rig::{
    CWD, NOW, ask, command, connection, exactly, files, folder, host, prefix, script,
};

const HOUR: i64 = 3_600_000;

fn always_in(
    scope: Scope,
    expires_at: Option<i64>,
    ask: &Ask,
    decision: &Decision,
) -> Result<Rule, WhyNot> {
    let task = TaskId::new("t1");
    let terms = Terms {
        id: "r1".into(),
        scope,
        expires_at,
        made_by: "ada".to_owned(),
        from_ask: Some("0a1b2c3d".into()),
    };
    Rule::from_always(ask, decision, &Context { task: &task, cwd: CWD, now: NOW }, terms)
}

fn always(ask: &Ask, decision: &Decision) -> Result<(Effect, Matcher), WhyNot> {
    always_in(Scope::Everywhere, None, ask, decision).map(|rule| (rule.effect, rule.matcher))
}

fn offering(mut ask: Ask, decision: &Decision) -> Ask {
    ask.offers.push(decision.clone());
    ask
}

fn command_prefix(words: &[&str]) -> Decision {
    Decision::Always(Remember::CommandPrefix(words.iter().map(|word| (*word).to_owned()).collect()))
}

#[test]
fn all_that_was_said_is_in_the_rule() {
    let scope = Scope::Task(TaskId::new("t1"));
    let made =
        always_in(scope.clone(), Some(NOW + 2 * HOUR), &command("touch zz"), &Decision::Once);
    let rule = Rule {
        id: "r1".into(),
        effect: Effect::Allow,
        matcher: exactly("touch zz"),
        sandboxing: Sandboxing::InsideFirst,
        cwd: Some(folder(CWD)),
        scope,
        expires_at: Some(NOW + 2 * HOUR),
        made_by: "ada".to_owned(),
        made_at: NOW,
        from_ask: Some("0a1b2c3d".into()),
    };
    assert_eq!(made, Ok(rule));
}

#[test]
fn what_codex_offers_is_taken_as_it_offers_it() {
    let decision = command_prefix(&["touch"]);
    let touch = offering(command("touch zz"), &decision);
    assert_eq!(always(&touch, &decision), Ok((Effect::Allow, prefix("touch"))));
    assert_eq!(always(&touch, &command_prefix(&["t"])), Err(WhyNot::NotOffered));

    for (allowed, effect) in [(true, Effect::Allow), (false, Effect::Deny)] {
        let decision = Decision::Always(Remember::Host { host: "h9.test".into(), allowed });
        let asked = offering(connection("h9.test"), &decision);
        assert_eq!(always(&asked, &decision), Ok((effect, host("h9.test"))));
    }

    let decision = Decision::Always(Remember::Tool);
    let write = Matcher::Tool { server: "tiny".into(), tool: "write".into() };
    assert_eq!(
        always(&offering(approval(Some("write")), &decision), &decision),
        Ok((Effect::Allow, write))
    );
    assert_eq!(always(&offering(approval(None), &decision), &decision), Err(WhyNot::ToolUnknown));
}

fn approval(tool: Option<&str>) -> Ask {
    let tool = tool.map(str::to_owned);
    let want = ElicitationWant::ToolApproval { tool, description: None, arguments: None };
    ask(AskKind::Elicitation(ElicitationAsk {
        server: "tiny".into(),
        message: String::new(),
        want,
    }))
}

#[test]
fn any_other_answer_is_remembered_as_narrowly_as_it_can_be() {
    for (decision, effect) in [
        (Decision::Once, Effect::Allow),
        (Decision::Session, Effect::Allow),
        (Decision::Deny, Effect::Deny),
        (Decision::Cancel, Effect::Deny),
    ] {
        assert_eq!(
            always(&command("rm -r build"), &decision),
            Ok((effect, exactly("rm -r build")))
        );
        assert_eq!(always(&connection("h9.test"), &decision), Ok((effect, host("h9.test"))));
        let write = Matcher::Tool { server: "tiny".into(), tool: "write".into() };
        assert_eq!(always(&approval(Some("write")), &decision), Ok((effect, write)));
    }
}

/// The rule would let it run in another folder, where it may be something else.
#[test]
fn a_command_of_a_task_stays_in_its_folder() {
    let of_task = |decision| {
        always_in(Scope::Task(TaskId::new("t1")), None, &command("make"), decision)
            .map(|rule| rule.cwd)
    };
    assert_eq!(of_task(&Decision::Once), Ok(Some(folder(CWD))));
    // A refusal is not made narrower than what was said.
    assert_eq!(of_task(&Decision::Deny), Ok(None));
    let everywhere = always_in(Scope::Everywhere, None, &command("make"), &Decision::Once);
    assert_eq!(everywhere.map(|rule| rule.cwd), Ok(None));
}

#[test]
fn what_no_rule_can_be_about_is_not_remembered() {
    let compound = || WhyNot::NotByRule(NoRule::Compound(WhyCompound::Unquoted('&')));
    let both = command("touch made && echo ok");
    assert_eq!(always(&both, &Decision::Once), Err(compound()));
    assert_eq!(always(&both, &Decision::Deny), Err(compound()));
    // Codex offers the first part of it, but that is not what was asked.
    let decision = command_prefix(&["touch", "made"]);
    assert_eq!(always(&offering(both, &decision), &decision), Err(compound()));

    let with_more = CommandAsk { extra: Some(Permissions::default()), ..script("ls") };
    assert_eq!(
        always(&ask(AskKind::Command(with_more)), &Decision::Once),
        Err(WhyNot::NotByRule(NoRule::WantsMore))
    );
    assert_eq!(always(&files(&["/work/repo/a"]), &Decision::Once), Err(WhyNot::Files));
    let questions = AskKind::UserInput(UserInputAsk::default());
    assert_eq!(
        always(&ask(questions.clone()), &Decision::Deny),
        Err(WhyNot::NotByRule(NoRule::NotForRules))
    );
    let answers = Decision::Answers([].into());
    assert_eq!(always(&ask(questions), &answers), Err(WhyNot::OwnContent));
}

#[test]
fn a_rule_that_would_not_hold_is_not_made() {
    let make = command("make");
    let with = |scope, expires_at| always_in(scope, expires_at, &make, &Decision::Once).map(|_| ());
    assert_eq!(with(Scope::Everywhere, Some(NOW + 1)), Ok(()));
    assert_eq!(with(Scope::Everywhere, Some(NOW)), Err(WhyNot::WouldNotHold));
    assert_eq!(with(Scope::Task(TaskId::new("t2")), None), Err(WhyNot::WouldNotHold));
    assert_eq!(with(Scope::Directory(folder("/tmp")), None), Err(WhyNot::WouldNotHold));
    // A prefix of another command.
    let decision = command_prefix(&["rm"]);
    assert_eq!(always(&offering(make, &decision), &decision), Err(WhyNot::WouldNotHold));
    let decision = command_prefix(&[]);
    assert!(matches!(
        always(&offering(command("make"), &decision), &decision),
        Err(WhyNot::Rule(_))
    ));
}

/// Who grants less than was asked will be asked again, so nothing is remembered.
#[test]
fn permissions_are_remembered_if_all_of_them_are_granted() {
    let wanted = Permissions { write: vec!["/a".into(), "/b".into()], ..Permissions::default() };
    let less = Permissions { write: vec!["/a".into()], ..Permissions::default() };
    let asked = ask(AskKind::Permissions(PermissionsAsk { cwd: None, wanted: wanted.clone() }));
    let grant = |permissions: &Permissions| Decision::Grant {
        permissions: permissions.clone(),
        holds: GrantHolds::Turn,
    };
    let made = Ok((Effect::Allow, Matcher::Permissions(wanted.clone())));
    assert_eq!(always(&asked, &grant(&wanted)), made);
    assert_eq!(always(&asked, &Decision::Once), made);
    assert_eq!(always(&asked, &grant(&less)), Err(WhyNot::WouldNotHold));
    assert_eq!(always(&asked, &grant(&Permissions::default())), Err(WhyNot::WouldNotHold));
}

fn ask_and_decision() -> impl Strategy<Value = (Ask, Decision)> {
    let words = || prop::collection::vec("[a-z ;$/.'-]{1,4}", 0..3);
    let asks = prop_oneof![
        "[a-c ;'\"$-]{0,8}".prop_map(|text| command(&text)),
        words()
            .prop_map(|words| command(&shlex::try_join(words.iter().map(String::as_str)).unwrap())),
        "[a-c.*A /]{0,6}".prop_map(|host| connection(&host)),
        words().prop_map(|write| {
            let wanted = Permissions { write, ..Permissions::default() };
            ask(AskKind::Permissions(PermissionsAsk { cwd: None, wanted }))
        }),
        prop::option::of("[a-c]{0,2}").prop_map(|tool| approval(tool.as_deref())),
    ];
    let decisions = prop_oneof![
        Just(Decision::Once),
        Just(Decision::Deny),
        Just(Decision::Always(Remember::Tool)),
        words().prop_map(|words| Decision::Always(Remember::CommandPrefix(words))),
        ("[a-c.]{0,4}", any::<bool>())
            .prop_map(|(host, allowed)| Decision::Always(Remember::Host { host, allowed })),
    ];
    (asks, decisions).prop_map(|(ask, decision)| (offering(ask, &decision), decision))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is remembered holds for the ask that it came from, also after it was stored.
    #[test]
    fn every_rule_decides_the_ask_it_came_from((ask, decision) in ask_and_decision()) {
        if let Ok(rule) = always_in(Scope::Task(TaskId::new("t1")), Some(NOW + 1), &ask, &decision) {
            let stored: Rule = serde_json::from_str(&serde_json::to_string(&rule).unwrap()).unwrap();
            prop_assert_eq!(&stored, &rule);
            let task = TaskId::new("t1");
            let context = Context { task: &task, cwd: CWD, now: NOW };
            let expected = match rule.effect {
                Effect::Allow => Verdict::Allowed { rule: "r1".into() },
                Effect::Deny => Verdict::Denied { rule: "r1".into() },
            };
            prop_assert_eq!(RuleSet::new(vec![stored]).decide(&ask, &context), expected);
        }
    }
}
