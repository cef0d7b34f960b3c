//! Commands as the model called them, and what Codex told the model of their end.

use serde::Deserialize;

use crate::protocol::Json;
use crate::protocol::lenient;

/// What a command line of the model's is run with, if neither it nor the file says.
const SHELL: &str = "bash";

/// The arguments of the tools that run commands, of all versions.
#[derive(Default, Deserialize)]
pub(super) struct Arguments {
    #[serde(default, deserialize_with = "lenient::option")]
    cmd: Option<String>,
    /// A command line, or the words of one.
    #[serde(default, deserialize_with = "lenient::option")]
    command: Option<Json>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub(super) workdir: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    shell: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    login: Option<bool>,
}

impl Arguments {
    /// The whole command line, with the shell around it as Codex puts it.
    pub(super) fn command_line(&self) -> String {
        let words = |json: &Json| serde_json::from_str::<Vec<String>>(json.text()).ok();
        let line = |json: &Json| serde_json::from_str::<String>(json.text()).ok();
        if let Some(words) = self.command.as_ref().and_then(words) {
            return join(&words);
        }
        let script = self.cmd.clone().or_else(|| self.command.as_ref().and_then(line));
        let shell = self.shell.clone().unwrap_or_else(|| SHELL.to_owned());
        let flag = if self.login == Some(false) { "-c" } else { "-lc" };
        join(&[shell, flag.to_owned(), script.unwrap_or_default()])
    }
}

/// How a command stands after one of its outputs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) state: State,
    pub(super) output: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    Exited(i64),
    /// It goes on in the background; later calls name it by this.
    Running(String),
    Declined,
    Interrupted,
    /// It could not be run, or Codex did not say how it ended.
    Failed,
}

/// Reads what Codex told the model. Three forms: a head of `Name: value` lines up to `Output:`, JSON (`shell`, until
/// 0.130), or a sentence if nothing was run.
pub(super) fn report(text: &str) -> Report {
    if let Ok(json) = serde_json::from_str::<ShellOutput>(text)
        && let Some(output) = json.output
    {
        let state = json.metadata.exit_code.map_or(State::Failed, State::Exited);
        return Report { state, output };
    }
    if let Some((head, output)) = headed(text) {
        let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let code = value("Process exited with code ").or_else(|| value("Exit code: "));
        let session = value("Process running with session ID ");
        let state = match (code.and_then(|code| code.parse().ok()), session) {
            (Some(code), _) => State::Exited(code),
            (None, Some(session)) => State::Running(session.to_owned()),
            (None, None) => State::Failed,
        };
        return Report { state, output: output.to_owned() };
    }
    match refusal(text) {
        Some(state) => Report { state, output: String::new() },
        None => Report { state: State::Failed, output: text.to_owned() },
    }
}

/// The state that a sentence in place of an output means, if it means one.
pub(super) fn refusal(text: &str) -> Option<State> {
    if text.contains("rejected by user") {
        Some(State::Declined)
    } else if text.lines().take(2).any(|line| line.starts_with("aborted")) {
        // 0.166 puts the time before it, in a line of its own.
        Some(State::Interrupted)
    } else {
        None
    }
}

/// The head of an output and what follows it, if it has a head.
pub(super) fn headed(text: &str) -> Option<(&str, &str)> {
    let known = ["Chunk ID: ", "Wall time: ", "Exit code: ", "Process "];
    if !known.iter().any(|known| text.starts_with(known)) {
        return None;
    }
    // The output itself may hold the same line again; the first one ends the head.
    text.split_once("\nOutput:\n").or_else(|| Some((text.strip_suffix("\nOutput:")?, "")))
}

/// The words of a command as one line that a shell would split into them again.
pub(super) fn join(words: &[String]) -> String {
    let quote = |word: &String| {
        let plain =
            |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[derive(Deserialize)]
struct ShellOutput {
    #[serde(default, deserialize_with = "lenient::option")]
    output: Option<String>,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    metadata: ShellMetadata,
}

#[derive(Default, Deserialize)]
struct ShellMetadata {
    #[serde(default, deserialize_with = "lenient::option")]
    exit_code: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Report, State, report};

    #[test]
    fn every_form_of_a_report_is_read() {
        let rows = [
            (
                "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nOutput:\nx\n",
                State::Exited(3),
                "Output:\nx\n",
            ),
            (
                "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess running with session ID 7\nOutput:\n",
                State::Running("7".to_owned()),
                "",
            ),
            ("Exit code: 0\nWall time: 0 seconds\nOutput:\nhi\n", State::Exited(0), "hi\n"),
            (
                r#"{"output":"hi\n","metadata":{"exit_code":1,"duration_seconds":0.0}}"#,
                State::Exited(1),
                "hi\n",
            ),
            (
                r#"exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }"#,
                State::Declined,
                "",
            ),
            ("aborted by user after 0.8s", State::Interrupted, ""),
            ("Wall time: 0.7 seconds\naborted by user", State::Interrupted, ""),
            (
                "exec_command failed: no such shell",
                State::Failed,
                "exec_command failed: no such shell",
            ),
        ];
        for (text, state, output) in rows {
            assert_eq!(report(text), Report { state, output: output.to_owned() }, "{text}");
        }
    }

    #[test]
    fn every_form_of_a_command_becomes_one_line() {
        let line = |json: &str| serde_json::from_str::<Arguments>(json).unwrap().command_line();

        assert_eq!(line(r#"{"cmd":"echo 'a'"}"#), r"bash -lc 'echo '\''a'\'''");
        assert_eq!(line(r#"{"command":["bash","-lc","a b"]}"#), "bash -lc 'a b'");
        assert_eq!(line(r#"{"command":"a","shell":"/bin/zsh","login":false}"#), "/bin/zsh -c a");
    }
}
