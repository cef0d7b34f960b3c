//! Asks, rules and verdicts in few words.

use ostler_model::ask::{
    CommandAsk, FileChangeAsk, FileChangeKind, FileDiff, NetworkTarget, Sandboxing,
};
use ostler_model::policy::{Context, Effect, Folder, HostPattern, Matcher, NoRule, Scope, Words};
use ostler_model::{Ask, AskKind, Decision, Rule, RuleSet, TaskId, Verdict};

pub(crate) const CWD: &str = "/work/repo";
pub(crate) const NOW: i64 = 1_000_000;

/// What the rules say in the task `t1`, which works in [`CWD`].
pub(crate) fn decide(rules: &[Rule], ask: &Ask) -> Verdict {
    let task = TaskId::new("t1");
    RuleSet::new(rules.to_vec()).decide(ask, &Context { task: &task, cwd: CWD, now: NOW })
}

pub(crate) fn allowed(rule: &str) -> Verdict {
    Verdict::Allowed { rule: rule.into() }
}

pub(crate) fn denied(rule: &str) -> Verdict {
    Verdict::Denied { rule: rule.into() }
}

pub(crate) fn none_fits() -> Verdict {
    Verdict::NoRule { why: NoRule::NoneFits }
}

/// Whether a rule that allows, and one that refuses, decides this ask.
pub(crate) fn reach(matcher: &Matcher, ask: &Ask) -> (bool, bool) {
    let allows = rule("a", Effect::Allow, matcher.clone());
    let denies = rule("d", Effect::Deny, matcher.clone());
    (decide(&[allows], ask) == allowed("a"), decide(&[denies], ask) == denied("d"))
}

/// It is what the rule is about; it may be; it is not.
pub(crate) const FITS: (bool, bool) = (true, true);
pub(crate) const UNCLEAR: (bool, bool) = (false, true);
pub(crate) const MISSES: (bool, bool) = (false, false);

pub(crate) fn rule(id: &str, effect: Effect, matcher: Matcher) -> Rule {
    Rule {
        id: id.into(),
        effect,
        matcher,
        sandboxing: Sandboxing::InsideFirst,
        cwd: None,
        scope: Scope::Everywhere,
        expires_at: None,
        made_by: "ada".to_owned(),
        made_at: NOW,
        from_ask: None,
    }
}

pub(crate) fn words(line: &str) -> Words {
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    Words::try_from(words).unwrap()
}

pub(crate) fn prefix(line: &str) -> Matcher {
    Matcher::CommandPrefix(words(line))
}

pub(crate) fn exactly(line: &str) -> Matcher {
    Matcher::Command(words(line))
}

pub(crate) fn folder(path: &str) -> Folder {
    Folder::try_from(path.to_owned()).unwrap()
}

pub(crate) fn host(pattern: &str) -> Matcher {
    Matcher::Host(HostPattern::try_from(pattern.to_owned()).unwrap())
}

pub(crate) fn ask(kind: AskKind) -> Ask {
    let offers = vec![Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel];
    Ask { thread: None, turn: None, item: None, reason: None, kind, offers }
}

/// As Codex shows a script.
pub(crate) fn script(script: &str) -> CommandAsk {
    CommandAsk {
        command: Some(shlex::try_join(["/bin/bash", "-lc", script]).unwrap()),
        cwd: Some(CWD.to_owned()),
        sandboxing: Sandboxing::InsideFirst,
        ..CommandAsk::default()
    }
}

pub(crate) fn command(text: &str) -> Ask {
    ask(AskKind::Command(script(text)))
}

pub(crate) fn connection(host: &str) -> Ask {
    let network = NetworkTarget { host: host.to_owned(), protocol: Some("https".to_owned()) };
    ask(AskKind::Command(CommandAsk { network: Some(network), ..CommandAsk::default() }))
}

pub(crate) fn file(path: &str) -> FileDiff {
    FileDiff { path: path.to_owned(), change: FileChangeKind::Add, diff: String::new() }
}

pub(crate) fn files(paths: &[&str]) -> Ask {
    let files = paths.iter().map(|path| file(path)).collect();
    ask(AskKind::FileChange(FileChangeAsk { files, grant_root: None }))
}
