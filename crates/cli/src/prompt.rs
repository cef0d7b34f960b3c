//! What a person wants done: the prompt that was typed, and what was piped in.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FileType;
use tokio::time::timeout;

use crate::failure::{Exit, Failure};
use crate::terminal::Output;

/// Codex takes 1 Mi characters of at most four bytes; what is longer need not be read to be refused.
const MOST_BYTES: u64 = 4 * 1024 * 1024 + 1;

/// Whoever pipes something in has it at hand; after this long the person is told what is waited for.
const STDIN_PATIENCE: Duration = Duration::from_secs(2);

/// A prompt as it is shown, and as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) shown: String,
    pub(crate) text: String,
}

/// The prompt: `-` reads it from stdin, and piped stdin beside a prompt is added to it. None if there is none.
pub(crate) async fn read(typed: Option<&str>, output: Output) -> Result<Option<Prompt>, Failure> {
    let piped = match typed {
        Some("-") => Some(stdin(output).await?),
        _ if is_piped() => Some(stdin(output).await?),
        _ => None,
    };
    let piped = piped.filter(|text| !text.trim().is_empty());
    let given = typed.filter(|prompt| *prompt != "-");
    Ok(match (given, piped) {
        (Some(prompt), None) => Some(Prompt { shown: prompt.to_owned(), text: prompt.to_owned() }),
        (None, Some(piped)) => Some(Prompt { shown: piped.clone(), text: piped }),
        (Some(prompt), Some(piped)) => {
            let lines = piped.lines().count();
            Some(Prompt {
                shown: format!("{prompt}\n(and {lines} lines from stdin)"),
                text: format!("{prompt}\n\n<stdin>\n{}\n</stdin>", piped.trim_end()),
            })
        }
        (None, None) => None,
    })
}

/// The text of a file that must be there.
pub(crate) fn file(path: &Path, what: &str) -> Result<String, Failure> {
    let path = existing(path, what)?;
    fs::read_to_string(&path).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot read {}: {error}", path.display()))
    })
}

/// The whole path of something that must be there: Codex runs elsewhere.
pub(crate) fn existing(path: &Path, what: &str) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| {
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failed,
        };
        Failure::new(exit, format!("cannot use {what} {}: {error}", path.display()))
    })
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
