//! Folders that bring programs along, as a person hears of them before Codex works in one.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ostler_codex::folder_trust::{
    self, Answer, Brought, ContentsError, Ignored, Look, Record, RecordError, Trust, TrustFile,
    brought, digest,
};

use crate::daemon::refuse_agents;
use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::terminal::{Output, ask, safe, tell};

/// Lines that are shown of a folder; `ostler trust` shows all.
const MOST_LINES: usize = 20;

/// What people said of folders; daemon and commands read it each time that they open a thread.
pub(crate) fn file(places: &Places) -> TrustFile {
    TrustFile::at(places.trusted_folders())
}

/// Tells what a thread in this folder will not use, and asks a person at a terminal about what they were not asked about yet.
pub(crate) fn look(
    places: &Places,
    codex_home: Option<&Path>,
    cwd: &Path,
    output: Output,
) -> Result<(), Failure> {
    let trust = Trust::of(file(places));
    for ignored in (Look { cwd, trust: Some(&trust), codex_home }).ignored() {
        let Ignored { folder, has_changed, is_declined, .. } = ignored;
        // Before it is shown: what changes meanwhile is not what is decided about.
        let as_shown = digest(&folder);
        let lines = programs(&folder);
        let why = if has_changed { "has changed since it was trusted" } else { "is not trusted" };
        if lines.is_empty() || is_declined || !is_attended(places, output) {
            output.note(&notice(&folder, why, lines.len()));
            continue;
        }
        tell(&safe(&format!(
            "{} brings programs along, which Codex would start as you, outside of its sandbox:",
            folder.display()
        )));
        for line in lines.iter().take(MOST_LINES) {
            tell(&safe(&format!("  {line}")));
        }
        if let Some(more @ 1..) = lines.len().checked_sub(MOST_LINES) {
            tell(&format!("  and {more} more; `ostler trust` shows all"));
        }
        if is_yes("trust this folder as it is now? [y/N] ") {
            record(places, &folder, as_shown?, Answer::Trusted)?;
            continue;
        }
        let answered = as_shown.map_err(Failure::from);
        let answered = answered.and_then(|it| record(places, &folder, it, Answer::Declined));
        if let Err(failure) = answered {
            // They are asked again; nothing is trusted meanwhile.
            tracing::warn!(reason = %failure.message, "the answer was not written down");
        }
        output.note(&notice(&folder, "is not trusted", lines.len()));
    }
    Ok(())
}

/// Writes down what a person said of a folder with this content.
pub(crate) fn record(
    places: &Places,
    folder: &Path,
    digest: String,
    answer: Answer,
) -> Result<(), Failure> {
    let at = Timestamp::now().as_millisecond();
    places::private_folder(&places.state)?;
    Ok(file(places).put(Record { folder: folder.to_owned(), digest, answer, at })?)
}

/// One line of what a folder brings.
pub(crate) fn line(brought: &Brought) -> String {
    format!("{}: {}", brought.file.display(), brought.what)
}

/// Anything but a yes is a no, also the end of input. Read without a thread that would take what is typed later.
pub(crate) fn is_yes(question: &str) -> bool {
    let mut answer = String::new();
    ask(question);
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Whether there is a person who can be asked.
pub(crate) fn is_attended(places: &Places, output: Output) -> bool {
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    is_terminal && !output.is_json() && refuse_agents(places, "trust a folder").is_ok()
}

/// What would run; what cannot be looked at might.
fn programs(folder: &Path) -> Vec<String> {
    match brought(folder) {
        Ok(all) => all.iter().filter(|it| it.is_program).map(line).collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn notice(folder: &Path, why: &str, programs: usize) -> String {
    let what = match programs {
        0 => "its settings are not used",
        _ => "its settings are not used and its programs are not started",
    };
    let own: PathBuf = folder.join(folder_trust::PROJECT_FOLDER);
    format!(
        "{} {why}: {what}; `ostler trust {}` shows them and trusts the folder",
        own.display(),
        folder.display()
    )
}

impl From<ContentsError> for Failure {
    fn from(error: ContentsError) -> Self {
        let exit = match &error {
            ContentsError::Nothing { .. } => Exit::NotFound,
            ContentsError::TooLarge { .. } | ContentsError::Unreadable { .. } => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::new(Exit::Failed, error.to_string())
    }
}
