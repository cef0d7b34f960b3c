//! What goes into the turn: the prompt, what was piped in, images, a schema.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::thread::TurnInput;
use rustix::fs::FileType;
use serde_json::Value;
use tokio::time::{Duration, timeout};

use super::arguments::RunArguments;
use crate::failure::{Exit, Failure};
use crate::terminal::Output;

/// Codex takes 1 Mi characters of at most four bytes; what is longer need not be read to be refused.
const MOST_BYTES: u64 = 4 * 1024 * 1024 + 1;

/// Whoever pipes something in has it at hand; after this long the person is told what is waited for.
const STDIN_PATIENCE: Duration = Duration::from_secs(2);

/// The prompt as it is shown, and the input of the turn. None if there is none, which is enough to join a turn.
pub(super) async fn read(
    arguments: &RunArguments,
    output: Output,
) -> Result<Option<(String, TurnInput)>, Failure> {
    let piped = match arguments.prompt.as_deref() {
        Some("-") => Some(stdin(output).await?),
        _ if is_piped() => Some(stdin(output).await?),
        _ => None,
    };
    let piped = piped.filter(|text| !text.trim().is_empty());
    let given = arguments.prompt.as_deref().filter(|prompt| *prompt != "-");
    let (shown, text) = match (given, piped) {
        (Some(prompt), None) => (prompt.to_owned(), prompt.to_owned()),
        (None, Some(piped)) => (piped.clone(), piped),
        (Some(prompt), Some(piped)) => {
            let lines = piped.lines().count();
            let shown = format!("{prompt}\n(and {lines} lines from stdin)");
            (shown, format!("{prompt}\n\n<stdin>\n{}\n</stdin>", piped.trim_end()))
        }
        (None, None) if arguments.image.is_empty() => return Ok(None),
        (None, None) => {
            return Err(Failure::new(Exit::Usage, "an image needs a prompt that says what to do"));
        }
    };
    let mut parts = vec![UserInput::Text(text)];
    for image in &arguments.image {
        let path = existing(image, "the image")?.display().to_string();
        parts.push(UserInput::LocalImage { path });
    }
    let output_schema = arguments.output_schema.as_deref().map(schema).transpose()?;
    let input = TurnInput { output_schema, ..TurnInput::message(parts) };
    input.check()?;
    Ok(Some((shown, input)))
}

/// A pipe or a file. `/dev/null`, and whatever a service gets as stdin, holds no prompt.
fn is_piped() -> bool {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    let kind = rustix::fs::fstat(&stdin).map(|found| FileType::from_raw_mode(found.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

/// On a thread of its own: a read cannot be called off, and Ctrl-C must work meanwhile.
async fn stdin(output: Output) -> Result<String, Failure> {
    let mut reading = tokio::task::spawn_blocking(|| {
        let mut text = String::new();
        io::stdin().lock().take(MOST_BYTES).read_to_string(&mut text).map(|_| text)
    });
    let read = match timeout(STDIN_PATIENCE, &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            output.note("reading from stdin until it ends; `< /dev/null` gives nothing");
            reading.await
        }
    };
    match read {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => {
            Err(Failure::new(Exit::Usage, format!("what stdin holds is no text: {error}")))
        }
        Err(error) => Err(Failure::new(Exit::Failed, format!("cannot read stdin: {error}"))),
    }
}

fn schema(path: &Path) -> Result<Value, Failure> {
    let path = existing(path, "the output schema")?;
    let text = fs::read_to_string(&path).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot read {}: {error}", path.display()))
    })?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} is no JSON schema: {error}", path.display());
        Failure::new(Exit::Usage, message)
    })
}

/// The whole path of something that must be there: Codex runs elsewhere.
pub(super) fn existing(path: &Path, what: &str) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| {
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failed,
        };
        Failure::new(exit, format!("cannot use {what} {}: {error}", path.display()))
    })
}
