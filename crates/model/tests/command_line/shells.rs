//! What we call a plain command is given to real shells, which must run exactly that and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ostler_model::CommandLine;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tempfile::TempDir;

use crate::cases::shown;

/// A few hundred, because each starts processes.
const LINES: usize = 400;

/// Writes down each call of itself: how many words, then the words, each ended by a NUL.
const STUB: &str = "#!/bin/sh\nprintf '%s\\0' \"$#\" \"$0\" \"$@\" >> \"$RECORD\"\n";

/// A place where the only programs are stubs. Its folder has files in it, so that a pattern would find some.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let place = Self { folder };
        for name in ["bin", "cwd"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        for name in ["a", "ab", "b c", "tool"] {
            fs::write(place.path("cwd").join(name), "").unwrap();
        }
        // By another process: what this one has open for writing while a parallel test forks cannot be executed.
        let written = Command::new("/bin/sh")
            .args(["-c", r#"printf %s "$1" > "$0" && chmod 755 "$0""#])
            .arg(place.path("stub"))
            .arg(STUB)
            .status();
        assert!(written.unwrap().success());
        // These do nothing but what their words say, so they count as programs; here they become some.
        fs::write(place.path("env"), "enable -n echo pwd true false\n").unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Every call of a stub while the shell ran the script.
    fn calls(&self, shell: &str, script: &str, program: &str) -> Vec<Vec<String>> {
        let record = self.path("record");
        fs::write(&record, "").unwrap();
        let stub = self.path("bin").join(program);
        if !program.contains('/') && fs::symlink_metadata(&stub).is_err() {
            symlink(self.path("stub"), &stub).unwrap();
        }
        Command::new(shell)
            .args(["-c", script])
            .current_dir(self.path("cwd"))
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("cwd"))
            .env("BASH_ENV", self.path("env"))
            .env("RECORD", &record)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        self.recorded(&record)
    }

    fn recorded(&self, record: &Path) -> Vec<Vec<String>> {
        let text = fs::read_to_string(record).unwrap();
        let mut parts = text.split_terminator('\0').map(str::to_owned);
        let bin = format!("{}/", self.path("bin").display());
        let mut calls = Vec::new();
        while let Some(count) = parts.next() {
            let count: usize = count.parse().unwrap();
            let mut call: Vec<_> = parts.by_ref().take(count + 1).collect();
            call[0] = call[0].strip_prefix(&bin).unwrap_or(&call[0]).to_owned();
            calls.push(call);
        }
        calls
    }
}

/// Pieces that make words, quotes, and everything that a shell gives a meaning.
fn piece() -> impl Strategy<Value = String> {
    let meaning = [
        "'", "\"", "\\", "$", "$a", "`", ";", "&", "&&", "|", "\n", "\t", " ", " ", " ", "<", ">",
        "(", ")", "{", "}", ",", "*", "?", "[", "]", "~", "#", "!", "^", "=", "%", "+", ":", "@",
        "-", "A=b", "$'", "é", "\\\n", "\r", "''", "\"\"", "'a b'", "\"a b\"", "\\ ", "\\'",
        "\\\"", "{a,b}", "$(tool)", "`tool`", "\u{a0}", "\u{1}",
    ];
    let words = [
        "tool", "a", "ab", "echo", "true", "if", "time", "exec", "cd", "é", "0", "-x", "in", "do",
        "x=y",
    ];
    prop_oneof![
        2 => prop::sample::select(meaning.to_vec()),
        3 => prop::sample::select(words.to_vec()),
    ]
    .prop_map(str::to_owned)
}

/// Words in all ways of quoting, next to each other.
fn quoted() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z]{1,3}",
        "[ -&(-~é\n\t]{0,4}".prop_map(|text| format!("'{text}'")),
        "[ !#%-\\[\\]-_a-~é\n\t]{0,4}".prop_map(|text| format!("\"{text}\"")),
        "[!-~ ]".prop_map(|letter| format!("\\{letter}")),
        "[!-~]".prop_map(|letter| format!("\"\\{letter}\"")),
    ];
    let word = prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat());
    prop::collection::vec(word, 0..4)
        .prop_map(|words| format!("tool {}", words.join(" ")).trim_end().to_owned())
}

fn script() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(piece(), 1..7).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(piece(), 0..6).prop_map(|pieces| format!("tool {}", pieces.concat())),
        quoted(),
    ]
}

#[test]
fn shells_run_exactly_what_we_read() {
    let place = Place::new();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < LINES {
        let script = script().new_tree(&mut runner).unwrap().current();
        let CommandLine::Simple { argv } = CommandLine::read(&shown(&script)) else { continue };
        // A path would have to be there to be run, and the stub does not stand at it.
        if argv[0].contains('/') || !seen.insert(script.clone()) {
            continue;
        }
        for shell in ["/bin/bash", "/bin/sh"] {
            // The builtins that count as programs cannot be turned off in `sh`.
            if shell == "/bin/sh" && ["echo", "pwd", "true", "false"].contains(&argv[0].as_str()) {
                continue;
            }
            let calls = place.calls(shell, &script, &argv[0]);
            assert_eq!(calls, std::slice::from_ref(&argv), "{shell} {script:?}");
        }
    }
}

/// The stage must be able to show a difference: these lines run something else than their words.
#[test]
fn the_stage_shows_what_a_shell_makes_of_a_line() {
    let place = Place::new();
    let calls = |script| place.calls("/bin/bash", script, "tool");
    assert_eq!(calls("tool a; tool b"), [["tool", "a"], ["tool", "b"]]);
    assert_eq!(calls("tool a*"), [["tool", "a", "ab"]]);
    assert_eq!(calls("tool {a,b}"), [["tool", "a", "b"]]);
    assert_eq!(calls("tool $(tool)"), [["tool"], ["tool"]]);
    assert_eq!(calls("cd x"), Vec::<Vec<String>>::new());
}

/// Every word that bash itself gives a meaning, but those four that do nothing else than programs of their name.
#[test]
fn every_word_of_bash_is_known() {
    let listed = Command::new("/bin/bash").args(["-c", "compgen -b; compgen -k"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.lines().count() > 70, "{listed}");
    let plain: Vec<_> = listed
        .lines()
        .filter(|word| {
            let line = shown(&shlex::try_join([*word, "x"]).unwrap());
            matches!(CommandLine::read(&line), CommandLine::Simple { .. })
        })
        .collect();
    assert_eq!(plain, ["echo", "false", "pwd", "true"]);
}
