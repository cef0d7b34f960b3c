//! Words that a terminal would obey, and a terminal that takes no words.

use std::fs::{self, OpenOptions};

use insta::assert_snapshot;

use super::fixture::Home;

/// Clears the screen and turns the direction of writing round.
const ESCAPE: &str = "\u{1b}[2J\u{202e}";

#[test]
fn escapes_are_shown_and_not_obeyed() {
    let home = Home::empty();
    assert_snapshot!(home.run(&format!("codex use /no{ESCAPE}where")), @r"
    --- stderr
    error: /no\u{1b}[2J\u{202e}where is not there
      nothing was changed; `ostler codex list` shows what there is
    --- exit 1
    ");
    fs::create_dir(home.path().join("config")).unwrap();
    fs::write(home.config_file(), "\"a\\u001b[2Jb\" = 1\n").unwrap();
    let told = home.run("codex use --clear");
    let told = told.split_once("; ").unwrap().0;
    assert_snapshot!(told, @r"
    --- stderr
    error: [HOME]/config/config.toml: line 1: a\u{1b}[2Jb is unknown
    ");
}

/// With a log, without one, with words on the way and with none.
#[test]
fn the_exit_code_is_right_also_when_stderr_is_full() {
    let home = Home::empty();
    for (arguments, log, code) in [
        ("keeper stop zzzz", "", 3),
        ("keeper stop zzzz", "trace", 3),
        ("keeper stop zzzz --json", "", 3),
        ("codex list --json", "", 0),
        ("codex install 0.142.5", "trace", 1),
        ("codex bogus", "", 2),
    ] {
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = home.ostler(arguments);
        command.env("PATH", home.path()).env("OSTLER_LOG", log).stderr(full());
        assert_eq!(command.output().unwrap().status.code(), Some(code), "{arguments} {log}");
        let status = command.stdout(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments} {log}, and stdout too");
    }
}
