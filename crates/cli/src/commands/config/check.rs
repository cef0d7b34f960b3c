//! `ostler config check`.

use std::path::PathBuf;
use std::process::ExitCode;

use ostler_config::{Problem, parse};
use serde::Serialize;

use super::excerpt::excerpt;
use crate::failure::{Exit, Failure};
use crate::places::Places;
use crate::settings::{failed, read};
use crate::terminal::{Output, safe};

#[derive(Serialize)]
struct Report {
    file: PathBuf,
    exists: bool,
    ok: bool,
    problems: Vec<Problem>,
}

pub(super) fn run(
    places: &Places,
    named: Option<PathBuf>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let is_named = named.is_some();
    let file = named.unwrap_or_else(|| places.config_file());
    let text = read(&file).map_err(|error| failed("read", &file, &error))?;
    if is_named && text.is_none() {
        return Err(Failure::new(Exit::NotFound, format!("{} is not there", file.display())));
    }
    let exists = text.is_some();
    let text = text.unwrap_or_default();
    let problems = parse(&text, &places.surroundings()).err().unwrap_or_default();
    let shown = file.display();
    match problems.as_slice() {
        [] if exists => output.say(&format!("{shown} is ok")),
        [] => output.say(&format!("{shown} is not there, so the defaults hold")),
        problems => {
            for problem in problems {
                output.say_styled(&format!("{}\n", excerpt(&file, &text, problem)));
            }
            let count = match problems.len() {
                1 => "1 problem".to_owned(),
                count => format!("{count} problems"),
            };
            output.say_styled(&safe(&format!("{count} in {shown}")));
        }
    }
    let ok = problems.is_empty();
    output.emit(&Report { file, exists, ok, problems });
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(Exit::Usage as u8) })
}
