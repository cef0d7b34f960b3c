//! Rules for commands.

use ostler_model::Verdict;
use ostler_model::command_line::WhyCompound;
use ostler_model::policy::{Effect, NoRule};

use crate::rig::{
    FITS, MISSES, UNCLEAR, allowed, command, decide, denied, exactly, none_fits, prefix, reach,
    rule,
};

#[test]
fn a_prefix_is_of_words_and_not_of_letters() {
    let cargo_test = prefix("cargo test");
    for (script, reached) in [
        ("cargo test", FITS),
        ("cargo test --all", FITS),
        ("'cargo' \"test\"", FITS),
        ("cargo 'test --all'", MISSES),
        ("cargo tests", MISSES),
        ("cargo", MISSES),
        ("cargo --config x test", MISSES),
        ("carg", MISSES),
        // The same program in another folder is another program to whoever allows it.
        ("/tmp/cargo test", UNCLEAR),
        ("./cargo test", UNCLEAR),
        ("cargo test; ls", UNCLEAR),
        ("cargo test && ls", UNCLEAR),
        ("cargo test > x", UNCLEAR),
        ("cargo test $X", UNCLEAR),
        ("A=b cargo test", UNCLEAR),
        ("env cargo test", UNCLEAR),
        ("bash -c 'cargo test'", UNCLEAR),
        ("$X", UNCLEAR),
        ("ls; ls", MISSES),
    ] {
        assert_eq!(reach(&cargo_test, &command(script)), reached, "{script}");
    }
}

#[test]
fn an_exact_command_has_no_word_more() {
    let rm = exactly("rm build");
    for (script, reached) in [
        ("rm build", FITS),
        // Allowed once for good, it must not carry anything else along. Refused, it must not come back with more.
        ("rm build -rf /", UNCLEAR),
        ("rm", MISSES),
        ("rm -rf build", MISSES),
    ] {
        assert_eq!(reach(&rm, &command(script)), reached, "{script}");
    }
}

#[test]
fn a_refusal_wins_whatever_stands_first() {
    let allow = rule("allow", Effect::Allow, prefix("git"));
    let deny = rule("deny", Effect::Deny, prefix("git push"));
    for rules in [[allow.clone(), deny.clone()], [deny, allow]] {
        assert_eq!(decide(&rules, &command("git push origin")), denied("deny"));
        assert_eq!(decide(&rules, &command("git status")), allowed("allow"));
        assert_eq!(decide(&rules, &command("git status; git push")), denied("deny"));
    }
}

#[test]
fn among_equals_the_first_decides() {
    let rules =
        [rule("one", Effect::Allow, prefix("git")), rule("two", Effect::Allow, prefix("git"))];
    assert_eq!(decide(&rules, &command("git status")), allowed("one"));
}

#[test]
fn it_is_said_why_no_rule_decides() {
    let rules = [rule("allow", Effect::Allow, prefix("cargo test"))];
    assert_eq!(decide(&rules, &command("ls")), none_fits());
    assert_eq!(decide(&[], &command("cargo test")), none_fits());
    let compound = NoRule::Compound(WhyCompound::Unquoted(';'));
    assert_eq!(
        decide(&rules, &command("cargo test; ls")),
        Verdict::NoRule { why: compound.clone() }
    );
    assert_eq!(compound.to_string(), "no rule can allow this, because it has `;` outside quotes");
}
