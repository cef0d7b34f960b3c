//! Lines by hand, each for one way in which a line is more than it seems.

use ostler_model::CommandLine;
use ostler_model::command_line::WhyCompound::{
    self, Assignment, Empty, RunsOthers, ShellWord, UnbalancedQuote, Unquoted, Unreadable,
};
use proptest::prelude::*;

/// The line that Codex shows for a script.
pub(crate) fn shown(script: &str) -> String {
    shlex::try_join(["/bin/bash", "-lc", script]).unwrap()
}

fn argv(line: &str) -> Result<Vec<String>, WhyCompound> {
    match CommandLine::read(line) {
        CommandLine::Simple { argv } => Ok(argv),
        CommandLine::Compound { why, .. } => Err(why),
    }
}

#[test]
fn plain_commands_have_their_words() {
    let cases: [(&str, &[&str]); 13] = [
        ("touch zz", &["touch", "zz"]),
        ("  cargo \t test  --all ", &["cargo", "test", "--all"]),
        ("git commit -m 'a; b && $c'", &["git", "commit", "-m", "a; b && $c"]),
        ("git commit -m 'first\n\nsecond'", &["git", "commit", "-m", "first\n\nsecond"]),
        (
            r#"git commit -m "it's \"done\" \$5 \d!""#,
            &["git", "commit", "-m", r#"it's "done" $5 \d!"#],
        ),
        (r"rg a\ b\;c", &["rg", "a b;c"]),
        ("rg '' \"\"", &["rg", "", ""]),
        ("r''g \"x\"'y'z", &["rg", "xyz"]),
        ("./tool --a=b x=y", &["./tool", "--a=b", "x=y"]),
        ("pip install a==1.0", &["pip", "install", "a==1.0"]),
        ("/usr/bin/test -f x", &["/usr/bin/test", "-f", "x"]),
        ("rg 'größe' src", &["rg", "größe", "src"]),
        ("echo hi", &["echo", "hi"]),
    ];
    for (script, words) in cases {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(argv(&shown(script)), Ok(words.clone()), "{script}");
        // A command that runs without a shell is shown by itself.
        assert_eq!(argv(&shlex::try_join(words.iter().map(String::as_str)).unwrap()), Ok(words));
    }
}

#[test]
fn whatever_a_shell_gives_a_meaning_is_compound() {
    let cases = [
        ("cargo test; rm x", Unquoted(';')),
        ("cargo test;", Unquoted(';')),
        ("cargo test && rm x", Unquoted('&')),
        ("cargo test &", Unquoted('&')),
        ("cargo test | sh", Unquoted('|')),
        ("cargo test\nrm x", Unquoted('\n')),
        ("cargo test\n", Unquoted('\n')),
        ("cargo test > x", Unquoted('>')),
        ("cargo test 2>&1", Unquoted('>')),
        ("cargo test < x", Unquoted('<')),
        ("cargo <(rm x)", Unquoted('<')),
        ("cargo $X", Unquoted('$')),
        ("cargo \"$X\"", Unquoted('$')),
        ("cargo \"a $(rm x)\"", Unquoted('$')),
        ("cargo \"`rm x`\"", Unquoted('`')),
        ("cargo `rm x`", Unquoted('`')),
        ("cargo $'a\\nb'", Unquoted('$')),
        ("(cargo test)", Unquoted('(')),
        ("{ cargo test; }", Unquoted('{')),
        ("cargo {a,b}", Unquoted('{')),
        ("cargo a}", Unquoted('}')),
        ("cargo *", Unquoted('*')),
        ("cargo a?", Unquoted('?')),
        ("cargo [ab]", Unquoted('[')),
        ("cargo ~/x", Unquoted('~')),
        ("cargo HEAD~1", Unquoted('~')),
        ("cargo test # not", Unquoted('#')),
        ("cargo !!", Unquoted('!')),
        ("! cargo test", Unquoted('!')),
        ("cargo ^a", Unquoted('^')),
        ("cargo =ls", Unquoted('=')),
        ("=ls", Unquoted('=')),
        ("cargo\\\ntest", Unquoted('\\')),
        ("cargo \"a\\\nb\"", Unquoted('\\')),
        ("cargo größe", Unquoted('ö')),
        ("cargo\u{a0}test", Unquoted('\u{a0}')),
        ("cargo\u{2028}test", Unquoted('\u{2028}')),
        ("cargo\rtest", Unreadable),
        ("cargo 'a\rb'", Unreadable),
        ("cargo 'a\u{1b}[1mb'", Unreadable),
        ("cargo \"a\u{7f}b\"", Unreadable),
        ("cargo 'a\u{85}b'", Unreadable),
        ("cargo\u{b}test", Unreadable),
        ("cargo 'test", UnbalancedQuote),
        ("cargo \"test", UnbalancedQuote),
        ("cargo \"test\\", UnbalancedQuote),
        ("cargo test\\", UnbalancedQuote),
        ("", Empty),
        ("  ", Empty),
        ("''", Empty),
        ("'' cargo", Empty),
        ("PATH=/tmp cat x", Assignment("PATH=/tmp".into())),
        ("A+=b cat", Assignment("A+=b".into())),
        ("A=b", Assignment("A=b".into())),
        ("'A=b' cat", Assignment("A=b".into())),
    ];
    for (script, why) in cases {
        assert_eq!(argv(&shown(script)), Err(why), "{script:?}");
    }
}

#[test]
fn what_runs_something_else_is_compound() {
    for script in [
        "env cargo test",
        "/usr/bin/env cargo test",
        "ENV cargo test",
        "sudo cargo test",
        "xargs cargo test",
        "timeout 5 cargo test",
        "nohup cargo test",
        "bash -c 'cargo test'",
        "/bin/sh -c 'cargo test'",
        "zsh-5.9 -c x",
        "busybox rm x",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
        "pwsh.exe -Command x",
        "find . -exec rm x '{}' '+'",
        "git rebase --exec=x main",
    ] {
        assert!(matches!(argv(&shown(script)), Err(RunsOthers(_))), "{script}");
    }
    for script in [
        "eval ls",
        "exec ls",
        "command ls",
        "source x",
        ". x",
        "time ls",
        "cd x",
        "trap ls EXIT",
        "if",
        "-",
        "%1",
        "+x",
        "printf x",
    ] {
        assert!(matches!(argv(&shown(script)), Err(ShellWord(_))), "{script}");
    }
}

/// The model may name the shell itself, so a shell counts only if it is one that the system has, and is given only a
/// script.
#[test]
fn only_a_known_shell_with_only_a_script_is_unwrapped() {
    let words = Ok(vec!["cargo".to_owned(), "test".to_owned()]);
    for shell in
        ["/bin/bash -lc", "bash -lc", "/usr/bin/zsh -lc", "/bin/sh -c", "/opt/homebrew/bin/bash -c"]
    {
        assert_eq!(argv(&format!("{shell} 'cargo test'")), words, "{shell}");
    }
    for line in [
        "/tmp/bash -lc 'cargo test'",
        "./bash -lc 'cargo test'",
        "bin/bash -lc 'cargo test'",
        "/bin/../tmp/bash -lc 'cargo test'",
        "/bin//bash -lc 'cargo test'",
        "/usr/bin/fish -c 'cargo test'",
        "/bin/bash -ic 'cargo test'",
        "/bin/bash -klc 'cargo test'",
        "/bin/bash -l -c 'cargo test'",
        "/bin/bash -lc 'cargo test' x",
        "/bin/bash --rcfile x -c 'cargo test'",
        "/bin/bash -lc cargo test",
        "/bin/bash script",
        "A=b /bin/bash -lc 'cargo test'",
        "<command included NUL byte>",
    ] {
        assert!(argv(line).is_err(), "{line}");
    }
}

/// The whole script stays known where the line is not plain: what is refused is looked for in it.
#[test]
fn a_compound_line_keeps_its_script() {
    let read = CommandLine::read("/bin/bash -lc 'touch made && echo ok'");
    let script = "touch made && echo ok".to_owned();
    assert_eq!(read, CommandLine::Compound { why: Unquoted('&'), script });
    let read = CommandLine::read("/bin/bash -lc 'cut");
    let script = "/bin/bash -lc 'cut".to_owned();
    assert_eq!(read, CommandLine::Compound { why: UnbalancedQuote, script });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// No command that is plain is refused for its quoting, however odd its words are.
    #[test]
    fn every_quoted_command_is_read_back(words in prop::collection::vec("[ -~äß日\n\t]{0,6}", 0..4)) {
        let mut command = vec!["tool".to_owned()];
        command.extend(words);
        prop_assume!(!command.iter().any(|word| word.starts_with("-exec") || word.starts_with("-ok")));
        let script = shlex::try_join(command.iter().map(String::as_str)).unwrap();
        prop_assert_eq!(argv(&shown(&script)), Ok(command));
    }

    #[test]
    fn no_text_is_too_odd_to_be_read(line in any::<String>(), words in prop::collection::vec(any::<String>(), 0..3)) {
        let read = CommandLine::read(&line);
        let _ = read.could_run(&words);
        let _ = CommandLine::typed(&line).could_run(&words);
    }
}
