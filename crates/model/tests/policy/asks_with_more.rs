//! Asks that want more than what a rule is about.

use ostler_model::ask::{
    AskKind, CommandAsk, ElicitationAsk, ElicitationWant, NetworkTarget, Permissions,
    PermissionsAsk, UserInputAsk,
};
use ostler_model::policy::{Effect, Matcher, NoRule};
use ostler_model::{Decision, Verdict};

use crate::rig::{
    FITS, MISSES, UNCLEAR, allowed, ask, command, connection, decide, folder, host, none_fits,
    prefix, reach, rule, script,
};

fn write(paths: &[&str]) -> Permissions {
    let write = paths.iter().map(|path| (*path).to_owned()).collect();
    Permissions { write, ..Permissions::default() }
}

fn network() -> Permissions {
    Permissions { network: Some(true), ..Permissions::default() }
}

fn target() -> Option<NetworkTarget> {
    Some(NetworkTarget { host: "example.com".to_owned(), protocol: None })
}

#[test]
fn a_command_with_further_wishes_is_not_what_a_rule_for_it_allows() {
    let plain = script("cargo test");
    let wishes = [
        CommandAsk { extra: Some(network()), ..plain.clone() },
        CommandAsk { extra: Some(Permissions::default()), ..plain.clone() },
        CommandAsk { network: target(), ..plain.clone() },
        CommandAsk { writes_to_running: true, ..plain.clone() },
    ];
    assert_eq!(reach(&prefix("cargo"), &ask(AskKind::Command(plain))), FITS);
    for wish in wishes {
        let wish = ask(AskKind::Command(wish));
        assert_eq!(reach(&prefix("cargo"), &wish), UNCLEAR, "{wish:?}");
        let rules = [rule("a", Effect::Allow, prefix("cargo"))];
        let Verdict::NoRule { why } = decide(&rules, &wish) else { panic!("{wish:?}") };
        assert!(matches!(why, NoRule::WantsMore | NoRule::Compound(_)), "{why:?}");
    }
}

#[test]
fn a_host_is_not_what_allows_a_command() {
    let with_command = CommandAsk { network: target(), ..script("curl example.com") };
    assert_eq!(reach(&host("example.com"), &ask(AskKind::Command(with_command))), UNCLEAR);
    let with_more =
        CommandAsk { network: target(), extra: Some(network()), ..CommandAsk::default() };
    assert_eq!(reach(&host("example.com"), &ask(AskKind::Command(with_more))), UNCLEAR);
    let typed = CommandAsk { network: target(), writes_to_running: true, ..CommandAsk::default() };
    assert_eq!(reach(&host("example.com"), &ask(AskKind::Command(typed))), UNCLEAR);
    assert_eq!(reach(&host("example.com"), &command("curl example.com")), MISSES);
    assert_eq!(reach(&prefix("curl"), &connection("example.com")), MISSES);
}

#[test]
fn a_wider_sandbox_is_allowed_up_to_what_the_rule_says() {
    let wants = |wanted| ask(AskKind::Permissions(PermissionsAsk { cwd: None, wanted }));
    let rule = Matcher::Permissions(Permissions { network: Some(true), ..write(&["/a", "/b"]) });
    let finer = Permissions { rules: vec!["{}".to_owned()], ..Permissions::default() };
    let finer_rule = Matcher::Permissions(finer.clone());
    for (matcher, wanted, reached) in [
        (&rule, write(&["/a"]), FITS),
        (&rule, Permissions { network: Some(true), ..write(&["/b", "/a"]) }, FITS),
        (&rule, network(), FITS),
        (&rule, write(&["/a", "/c"]), UNCLEAR),
        (&rule, write(&["/a/sub"]), UNCLEAR),
        (&rule, write(&["/"]), UNCLEAR),
        (&rule, Permissions { network: Some(true), ..write(&["/c"]) }, UNCLEAR),
        (&rule, write(&["/c"]), MISSES),
        (&rule, Permissions { read: vec!["/a".to_owned()], ..Permissions::default() }, MISSES),
        (&rule, Permissions::default(), MISSES),
        (&rule, finer.clone(), MISSES),
        (&finer_rule, finer, UNCLEAR),
        // Below which folder, only the ask knows.
        (&Matcher::Permissions(write(&["out"])), write(&["out"]), UNCLEAR),
    ] {
        assert_eq!(reach(matcher, &wants(wanted.clone())), reached, "{wanted:?}");
    }
    let with_command = CommandAsk { extra: Some(write(&["/a"])), ..script("ls") };
    assert_eq!(reach(&rule, &ask(AskKind::Command(with_command))), UNCLEAR);
    let elsewhere = CommandAsk { extra: Some(write(&["/c"])), ..script("ls") };
    assert_eq!(reach(&rule, &ask(AskKind::Command(elsewhere))), MISSES);
}

/// Whoever refuses changes in a folder does not want commands to write there either.
#[test]
fn refused_files_are_refused_to_a_wider_sandbox_too() {
    let secrets = Matcher::FilesBelow(folder("/secrets"));
    let wants =
        |paths| ask(AskKind::Permissions(PermissionsAsk { cwd: None, wanted: write(paths) }));
    assert_eq!(reach(&secrets, &wants(&["/secrets/x"])), UNCLEAR);
    assert_eq!(reach(&secrets, &wants(&["/other", "/"])), UNCLEAR);
    assert_eq!(reach(&secrets, &wants(&["/other"])), MISSES);
    let with_command = CommandAsk { extra: Some(write(&["/secrets"])), ..script("ls") };
    assert_eq!(reach(&secrets, &ask(AskKind::Command(with_command))), UNCLEAR);
}

#[test]
fn questions_are_not_for_rules() {
    let form = ElicitationWant::Form(Vec::new());
    let kinds = [
        AskKind::UserInput(UserInputAsk::default()),
        AskKind::Elicitation(ElicitationAsk {
            server: "s".into(),
            message: String::new(),
            want: form,
        }),
        AskKind::TokenRefresh { cause: None, account: None },
        AskKind::Other { name: "new".into() },
    ];
    for kind in kinds {
        let verdict = decide(&[], &ask(kind));
        assert_eq!(verdict, Verdict::NoRule { why: NoRule::NotForRules });
        assert_eq!(verdict.decision(), None);
    }
}

/// Codex is told yes for this once, and only where it takes that.
#[test]
fn a_permission_is_given_where_it_is_offered() {
    let rules = [rule("a", Effect::Allow, prefix("cargo"))];
    let mut offered = command("cargo test");
    assert_eq!(decide(&rules, &offered), allowed("a"));
    assert_eq!(decide(&rules, &offered).decision(), Some(Decision::Once));
    offered.offers = vec![Decision::Deny, Decision::Cancel];
    assert_eq!(decide(&rules, &offered), none_fits());
    let denies = [rule("d", Effect::Deny, prefix("cargo"))];
    assert_eq!(decide(&denies, &offered).decision(), Some(Decision::Deny));
}
