//! A command line as what it runs: one program with its words, or something that no narrow rule may stand for.
//!
//! Codex shows a command as one line, quoted as `shlex` 1.3 does it, and nearly always wrapped into a shell:
//! `/bin/bash -lc 'cargo test --all'` (0.130.0, 0.142.5 and 0.166.0). A rule speaks of the program and its words, so the
//! line must be read exactly as the shell will read it. Whatever we are not sure of is [`CommandLine::Compound`].
//!
//! The `shlex` crate reads such lines too, but it does not tell what was quoted, so `a ';' b` and `a ; b` are the same to
//! it. Here that is the whole question.

mod lexer;
mod programs;
mod suspicion;

use std::fmt;

/// The shells that Codex wraps commands into, and the folders that it finds them in. A shell from any other place is a
/// program like any other: the model may name the shell, and `/tmp/bash -lc 'cargo test'` runs `/tmp/bash`.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
const SHELL_FOLDERS: [&str; 5] =
    ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"];

/// What a line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// One program, with exactly these words. The first is as it was written: whoever runs it looks it up in `PATH`.
    Simple { argv: Vec<String> },
    /// More than that, or something that we cannot tell.
    Compound {
        why: WhyCompound,
        /// What the shell is given, or the whole line where there is no shell that we know.
        script: String,
    },
}

/// What makes a line more than one plain command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyCompound {
    Empty,
    /// This stands outside quotes, where a shell gives it a meaning or may do so.
    Unquoted(char),
    /// A control character, or a letter in a place where shells do not agree on it.
    Unreadable,
    UnbalancedQuote,
    /// It sets a variable first, as in `PATH=/tmp cat`.
    Assignment(String),
    /// It is for the shell itself.
    ShellWord(String),
    /// It runs what its arguments say, as `env`, `sudo` and the `-exec` of `find` do.
    RunsOthers(String),
    /// It is typed into a program that runs already.
    Typed,
}

impl CommandLine {
    /// Reads a line as Codex shows it.
    pub fn read(line: &str) -> Self {
        let words = match lexer::words(line) {
            Ok(words) => words,
            Err(why) => return Self::Compound { why, script: line.to_owned() },
        };
        match script_of(&words) {
            Some(script) => Self::of_script(script),
            None => Self::of_words(words, line),
        }
    }

    /// Text that is typed into a program that runs already. Nobody here knows what that program makes of it.
    pub fn typed(text: &str) -> Self {
        Self::Compound { why: WhyCompound::Typed, script: text.to_owned() }
    }

    /// Reads what a shell is given.
    fn of_script(script: &str) -> Self {
        match lexer::words(script) {
            Ok(words) => Self::of_words(words, script),
            Err(why) => Self::Compound { why, script: script.to_owned() },
        }
    }

    fn of_words(argv: Vec<String>, script: &str) -> Self {
        match why_not_simple(&argv) {
            None => Self::Simple { argv },
            Some(why) => Self::Compound { why, script: script.to_owned() },
        }
    }

    /// Whether something in here could be a command that begins with these words. In doubt it could.
    pub fn could_run(&self, words: &[String]) -> bool {
        match self {
            Self::Simple { argv } => suspicion::begins(argv, words),
            Self::Compound { why: WhyCompound::Typed, script } => {
                suspicion::could_type(script, words)
            }
            Self::Compound { script, .. } => suspicion::could_run(script, words),
        }
    }
}

/// The script of a shell that is given nothing else. One level only: a shell in a shell is no plain command.
fn script_of(words: &[String]) -> Option<&str> {
    let [shell, flag, script] = words else { return None };
    let is_flag = flag == "-c" || flag == "-lc";
    let is_shell = match shell.rsplit_once('/') {
        None => SHELLS.contains(&shell.as_str()),
        Some((folder, name)) => SHELL_FOLDERS.contains(&folder) && SHELLS.contains(&name),
    };
    (is_flag && is_shell).then_some(script)
}

fn why_not_simple(argv: &[String]) -> Option<WhyCompound> {
    let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
        return Some(WhyCompound::Empty);
    };
    if program.contains('=') {
        return Some(WhyCompound::Assignment(program.clone()));
    }
    // A job in bash, and a modifier of the command after it in zsh. A script that begins with `-` or `+` is an option.
    if program.starts_with(['%', '-', '+']) || programs::is_shell_word(program) {
        return Some(WhyCompound::ShellWord(program.clone()));
    }
    let runner = programs::runs_others(program).then_some(program);
    let runner = runner.or_else(|| argv.iter().find(|word| programs::takes_a_command(word)));
    runner.map(|runner| WhyCompound::RunsOthers(runner.clone()))
}

impl fmt::Display for WhyCompound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(formatter, "it is empty"),
            Self::Unquoted('\n') => write!(formatter, "it has several lines"),
            Self::Unquoted(letter) => write!(formatter, "it has `{letter}` outside quotes"),
            Self::Unreadable => write!(formatter, "it has a control character"),
            Self::UnbalancedQuote => write!(formatter, "a quote in it does not end"),
            Self::Assignment(_) => write!(formatter, "it sets a variable first"),
            Self::ShellWord(word) => {
                write!(formatter, "`{}` is for the shell itself", word.escape_debug())
            }
            Self::RunsOthers(program) => {
                write!(formatter, "`{}` runs what its arguments say", program.escape_debug())
            }
            Self::Typed => write!(formatter, "it is typed into a program that runs already"),
        }
    }
}
