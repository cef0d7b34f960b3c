//! Where a command would run: a rule reaches no further than the ask that it was made of.

use ostler_model::ask::{CommandAsk, Sandboxing};
use ostler_model::policy::{Context, Effect, NoRule, Scope, Terms};
use ostler_model::{AskKind, Decision, Rule, TaskId, Verdict};

use crate::rig::{CWD, NOW, allowed, ask, decide, denied, exactly, prefix, rule, script};

const ALL: [Sandboxing; 4] =
    [Sandboxing::Inside, Sandboxing::InsideFirst, Sandboxing::Outside, Sandboxing::Unknown];

fn asked(sandboxing: Sandboxing) -> ostler_model::Ask {
    ask(AskKind::Command(CommandAsk { sandboxing, ..script("cp a /b") }))
}

fn made_of(sandboxing: Sandboxing) -> Rule {
    let task = TaskId::new("t1");
    let terms = Terms {
        id: "r".into(),
        scope: Scope::Everywhere,
        expires_at: None,
        made_by: "ada".to_owned(),
        from_ask: None,
    };
    let context = Context { task: &task, cwd: CWD, now: NOW };
    Rule::from_always(&asked(sandboxing), &Decision::Once, &context, terms).unwrap()
}

#[test]
fn a_rule_reaches_as_far_as_the_ask_that_it_was_made_of() {
    let decided =
        |made: Sandboxing| ALL.map(|now| decide(&[made_of(made)], &asked(now)) == allowed("r"));
    let table = ALL.map(decided);
    assert_eq!(
        table,
        [
            [true, false, false, false],
            [true, true, false, false],
            [true, true, true, true],
            [true, true, true, true],
        ]
    );
}

#[test]
fn a_rule_that_says_nothing_of_it_lets_nothing_out_and_refuses_everywhere() {
    for matcher in [exactly("cp a /b"), prefix("cp")] {
        let allows = [rule("a", Effect::Allow, matcher.clone())];
        let denies = [rule("d", Effect::Deny, matcher)];
        let none = Verdict::NoRule { why: NoRule::NoneFits };
        assert_eq!(decide(&allows, &asked(Sandboxing::InsideFirst)), allowed("a"));
        for out in [Sandboxing::Outside, Sandboxing::Unknown] {
            assert_eq!(decide(&allows, &asked(out)), none);
            assert_eq!(decide(&denies, &asked(out)), denied("d"));
        }
    }
}

#[test]
fn people_are_told_how_far_it_reaches() {
    let told = ALL.map(|sandboxing| made_of(sandboxing).describe());
    let sentence = |reach| {
        format!(
            "allows the command `cp a /b` with exactly these words, {reach}, everywhere, until somebody removes the rule"
        )
    };
    assert_eq!(
        told,
        [
            sentence("in the sandbox"),
            sentence(
                "in the sandbox (what the sandbox stops, Codex may run again outside without asking)"
            ),
            sentence("in or outside of the sandbox"),
            sentence("in or outside of the sandbox"),
        ]
    );
    let summaries = ALL.map(|sandboxing| asked(sandboxing).kind.summary());
    let line = "/bin/bash -lc 'cp a /b'";
    assert_eq!(
        summaries,
        [
            format!("run {line}"),
            format!("run {line}"),
            format!("run outside of the sandbox: {line}"),
            format!("run in or outside of the sandbox: {line}"),
        ]
    );
}
