//! What only a terminal shows: an offer to fetch Codex, and the moving line.

use std::process::Command;

use ostler_testkit::Terminal;

use super::fixture::Home;

const OFFER: &str = "no Codex was found; fetch 0.166.0 from npm now? [y/N] ";

/// The three commands that need a Codex; npm notes what it is asked for, and fails.
#[test]
fn a_codex_is_offered_where_there_is_none() {
    for arguments in ["codex path", "codex check", "keeper start"] {
        let home = Home::empty();
        let bin = home.fake_npm("echo \"$@\" >> $home/asked; exit 1");
        let asked = || std::fs::read_to_string(home.path().join("asked")).unwrap_or_default();
        let answer = |answer: &str| {
            let mut terminal = Terminal::run(on_terminal(&home, arguments, &bin)).unwrap();
            terminal.wait_for(OFFER, 1).unwrap();
            terminal.type_in(answer).unwrap();
            (terminal.exit_code().unwrap(), screen(&terminal.shown()))
        };

        let (code, shown) = answer("\n");
        let not_found = [
            OFFER.trim_end(),
            "error: no Codex was found",
            "  run `ostler codex install` to fetch one",
        ];
        assert_eq!((code, shown), (3, not_found.map(str::to_owned).to_vec()), "{arguments}");
        assert_eq!(asked(), "", "{arguments}");

        let (code, shown) = answer("y\n");
        assert_eq!(code, 1, "{arguments}: {shown:?}");
        assert_eq!(shown[0], format!("{OFFER}y"));
        assert!(shown[1].starts_with("error: cannot install Codex 0.166.0: "), "{shown:?}");
        assert!(asked().contains(" @openai/codex@0.166.0\n"), "{arguments}: {}", asked());
    }
}

/// Neither where a script reads, nor where JSON is wanted.
#[test]
fn nobody_is_asked_who_cannot_answer() {
    let home = Home::empty();
    let error = r#"{"exit":3,"message":"no Codex was found","hint":"run `ostler codex install` to fetch one"}"#;
    let expected = format!(
        "{{\"error\":{error}}}\n--- stderr\nerror: no Codex was found\n  \
         run `ostler codex install` to fetch one\n--- exit 3"
    );
    let sorted = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| {
                serde_json::from_str(line)
                    .map_or(line.to_owned(), |value: serde_json::Value| value.to_string())
            })
            .collect()
    };
    assert_eq!(sorted(&home.run("codex path --json")), sorted(&expected));
    let command = on_terminal(&home, "codex path --json", home.path());
    let mut terminal = Terminal::run(command).unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 3);
    assert!(!terminal.shown().contains("[y/N]"), "{}", terminal.shown());
}

#[test]
fn words_that_make_no_sense_are_an_error_object_too() {
    let home = Home::empty();
    let output = home.ostler("codex remove --json").output().unwrap();
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["error"]["exit"], 2);
    let message = object["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the following required arguments"), "{message}");
    assert_eq!(output.status.code(), Some(2));
}

/// The terminal writes `^C` behind the line, which must not push it out of reach.
#[test]
fn ctrl_c_leaves_nothing_of_the_moving_line() {
    let home = Home::empty();
    let bin = home.fake_npm("sleep 600");
    let mut terminal = Terminal::run(on_terminal(&home, "codex install 0.142.5", &bin)).unwrap();
    terminal.wait_for("fetching Codex 0.142.5", 2).unwrap();
    terminal.type_in("\u{3}").unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 130);
    assert_eq!(screen(&terminal.shown()), ["error: interrupted"], "{:?}", terminal.shown());
}

#[test]
fn ctrl_c_leaves_nothing_of_the_doctor_s_line() {
    let home = Home::empty();
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let codex = ostler_testkit::codex_binary("0.130.0").unwrap();
    std::fs::create_dir_all(home.path().join("config")).unwrap();
    std::fs::write(home.config_file(), format!("[codex]\npath = {codex:?}\n")).unwrap();
    std::fs::create_dir(home.path().join("codex-home")).unwrap();
    let pipe = home.path().join("codex-home/config.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = on_terminal(&home, "doctor", &bin);
    command.env("CODEX_HOME", home.path().join("codex-home"));
    let mut terminal = Terminal::run(command).unwrap();
    // All the others are done; Codex waits for somebody to write its config.
    terminal.wait_for("looking at app-server, login, sandbox, codex-config", 2).unwrap();
    terminal.type_in("\u{3}").unwrap();
    assert_eq!(terminal.exit_code().unwrap(), 130);
    assert_eq!(screen(&terminal.shown()), ["error: interrupted"], "{:?}", terminal.shown());
}

/// `ostler` with this terminal as its own, so that Ctrl-C reaches it.
fn on_terminal(home: &Home, arguments: &str, bin: &std::path::Path) -> Command {
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", env!("CARGO_BIN_EXE_ostler")])
        .args(arguments.split(' '))
        .env_clear()
        .env("HOME", home.path())
        .env("OSTLER_HOME", home.path())
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

/// The lines of an 80-column terminal after all of this was written to it, as far as our programs use its language.
fn screen(written: &str) -> Vec<String> {
    let mut lines = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0_usize);
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        match character {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' => {
                assert_eq!(characters.next(), Some('['));
                let mut number = String::new();
                let order = loop {
                    match characters.next().unwrap() {
                        digit @ ('0'..='9' | ';') => number.push(digit),
                        order => break order,
                    }
                };
                let count = number.parse().unwrap_or(1);
                match order {
                    'm' => {}
                    'K' => lines[row].clear(),
                    'A' => row -= count,
                    'B' => row += count,
                    other => panic!("{other}"),
                }
            }
            shown => {
                if column == 80 {
                    (row, column) = (row + 1, 0);
                }
                lines.resize(lines.len().max(row + 1), Vec::new());
                let line: &mut Vec<char> = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = shown;
                column += 1;
            }
        }
        lines.resize(lines.len().max(row + 1), Vec::new());
    }
    let lines = lines.into_iter().map(|line| line.iter().collect::<String>().trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}
