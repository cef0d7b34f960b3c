//! A command that needs more of the environment than Codex can give it. Codex passes variables on under their own names
//! and takes no placeholder anywhere, so a shell puts them where the server wants them.

use super::pieces::Piece;

const SHELL: &str = "/bin/sh";

/// What is put together when the server starts.
#[derive(Default)]
pub(super) struct Launch {
    pub(super) folder: Option<Vec<Piece>>,
    /// Variables that get their value out of others.
    pub(super) set: Vec<(String, Vec<Piece>)>,
    /// The program first.
    pub(super) words: Vec<Vec<Piece>>,
}

impl Launch {
    /// Whether Codex could not do it by itself.
    pub(super) fn is_needed(&self) -> bool {
        let varies =
            |pieces: &Vec<Piece>| pieces.iter().any(|it| matches!(it, Piece::Variable { .. }));
        !self.set.is_empty()
            || self.folder.as_ref().is_some_and(&varies)
            || self.words.iter().any(varies)
    }

    /// The shell and its arguments.
    pub(super) fn command(&self) -> (String, Vec<String>) {
        let mut script = String::new();
        if let Some(folder) = &self.folder {
            script.push_str(&format!("cd -- {} && ", quoted(folder)));
        }
        for (name, pieces) in &self.set {
            script.push_str(&format!("export {name}={} && ", quoted(pieces)));
        }
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        script.push_str(&format!("exec {}", words.join(" ")));
        (SHELL.to_owned(), vec!["-c".to_owned(), script])
    }
}

/// One word for a shell. A variable without a value ends the server with a message that names it.
fn quoted(pieces: &[Piece]) -> String {
    let mut word = String::from("\"");
    for piece in pieces {
        match piece {
            Piece::Text(text) => word.push_str(&escaped(text)),
            Piece::Variable { name, default: None } => {
                word.push_str(&format!("${{{name}:?set it where Codex is started}}"));
            }
            Piece::Variable { name, default: Some(default) } => {
                word.push_str(&format!("${{{name}:-{}}}", escaped(default)));
            }
        }
    }
    word.push('"');
    word
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        if matches!(sign, '"' | '\\' | '$' | '`') {
            escaped.push('\\');
        }
        escaped.push(sign);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::migrate::pieces::pieces;

    #[test]
    fn a_real_shell_starts_the_program_with_what_was_meant() {
        let launch = Launch {
            folder: Some(pieces("${PLACE}/").unwrap()),
            set: vec![("OURS".to_owned(), pieces("<${THEIRS}>").unwrap())],
            words: ["/usr/bin/env", "sh", "-c", "pwd; printf '%s\\n' \"$OURS\" \"$@\"", "x"]
                .iter()
                .chain(
                    ["--a=${THEIRS}", "$(no) `no` \"q\" \\ $x", "${NONE:-a \"b\" $c}", ""].iter(),
                )
                .map(|word| match pieces(word).unwrap().as_slice() {
                    // The inner shell's own variables are no placeholders.
                    _ if word.starts_with("pwd") => vec![Piece::Text((*word).to_owned())],
                    parts => parts.to_vec(),
                })
                .collect(),
        };
        assert!(launch.is_needed());
        let (shell, arguments) = launch.command();
        let run = |secret: Option<&str>| {
            let mut command = Command::new(&shell);
            command.args(&arguments).env_clear().env("PLACE", "/usr");
            secret.map(|secret| command.env("THEIRS", secret));
            command.output().unwrap()
        };
        let output = run(Some("a b;'\"$x"));
        let expected = "/usr\n<a b;'\"$x>\n--a=a b;'\"$x\n$(no) `no` \"q\" \\ $x\na \"b\" $c\n\n";
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
        let refused = run(None);
        assert!(!refused.status.success());
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(words.contains("THEIRS: set it where Codex is started"), "{words}");
    }
}
