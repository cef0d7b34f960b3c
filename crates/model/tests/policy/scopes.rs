//! Where and how long rules hold.

use ostler_model::ask::CommandAsk;
use ostler_model::policy::{Effect, Scope};
use ostler_model::{AskKind, Rule, TaskId};

use crate::rig::{
    NOW, allowed, ask, command, connection, decide, denied, folder, host, none_fits, prefix, rule,
    script,
};

fn scoped(effect: Effect, scope: Scope) -> Rule {
    Rule { scope, ..rule("r", effect, prefix("make")) }
}

#[test]
fn a_rule_of_a_task_holds_for_that_task_only() {
    let of = |task: &str| [scoped(Effect::Allow, Scope::Task(TaskId::new(task)))];
    assert_eq!(decide(&of("t1"), &command("make")), allowed("r"));
    assert_eq!(decide(&of("t2"), &command("make")), none_fits());
}

fn make_in(cwd: Option<&str>) -> ostler_model::Ask {
    ask(AskKind::Command(CommandAsk { cwd: cwd.map(str::to_owned), ..script("make") }))
}

#[test]
fn a_rule_of_a_folder_holds_for_what_happens_there() {
    let rules = |effect, path: &str| {
        let directory = scoped(effect, Scope::Directory(folder(path)));
        let cwd = Rule { cwd: Some(folder(path)), ..scoped(effect, Scope::Everywhere) };
        [[directory], [cwd]]
    };
    for (path, cwd, holds) in [
        ("/work/repo", Some("/work/repo"), true),
        ("/work/repo", Some("/work/repo/sub/"), true),
        ("/work", Some("/work/repo"), true),
        ("/work/repo/sub", Some("/work/repo"), false),
        ("/work/re", Some("/work/repo"), false),
        // The task works in /work/repo, but this is not where it happens.
        ("/work/repo", Some("/tmp"), false),
        ("/work/repo", None, true),
        ("/tmp", None, false),
    ] {
        for rules in rules(Effect::Allow, path) {
            let expected = if holds { allowed("r") } else { none_fits() };
            assert_eq!(decide(&rules, &make_in(cwd)), expected, "{path} {cwd:?}");
        }
        for rules in rules(Effect::Deny, path) {
            let expected = if holds { denied("r") } else { none_fits() };
            assert_eq!(decide(&rules, &make_in(cwd)), expected, "{path} {cwd:?}");
        }
    }
    // Where this is, only the disk knows.
    for cwd in ["/work/repo/../../tmp", "sub", ""] {
        for rules in rules(Effect::Allow, "/work/repo") {
            assert_eq!(decide(&rules, &make_in(Some(cwd))), none_fits(), "{cwd}");
        }
        for rules in rules(Effect::Deny, "/work/repo") {
            assert_eq!(decide(&rules, &make_in(Some(cwd))), denied("r"), "{cwd}");
        }
    }
}

/// A connection does not say where it happens, so the task does.
#[test]
fn what_has_no_place_happens_where_the_task_works() {
    let at = |path: &str| {
        let scope = Scope::Directory(folder(path));
        [Rule { scope, ..rule("r", Effect::Allow, host("example.com")) }]
    };
    assert_eq!(decide(&at("/work"), &connection("example.com")), allowed("r"));
    assert_eq!(decide(&at("/tmp"), &connection("example.com")), none_fits());
}

#[test]
fn a_rule_holds_until_its_end_and_not_longer() {
    for (expires_at, holds) in
        [(None, true), (Some(NOW + 1), true), (Some(NOW), false), (Some(0), false)]
    {
        for (effect, verdict) in [(Effect::Allow, allowed("r")), (Effect::Deny, denied("r"))] {
            let rules = [Rule { expires_at, ..scoped(effect, Scope::Everywhere) }];
            let expected = if holds { verdict } else { none_fits() };
            assert_eq!(decide(&rules, &command("make")), expected, "{expires_at:?}");
            assert_eq!(rules.map(|rule| rule.has_expired(NOW)), [!holds]);
        }
    }
}
