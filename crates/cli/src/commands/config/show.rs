//! `ostler config show`. What it prints for people is TOML: it can be put into a file and means the same.

use std::path::Path;
use std::process::ExitCode;

use anstyle::Style;
use ostler_config::{Origin, Setting, Surroundings, guide, nearest};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Exit, Failure};
use crate::places::Places;
use crate::settings::ConfigFile;
use crate::terminal::{Output, safe};

/// Beyond this a value pushes its own comment to the right and not those of all others.
const VALUE_COLUMNS: usize = 48;

#[derive(Serialize)]
struct Row {
    key: String,
    value: Value,
    /// `default`, `file` or `environment`.
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<&'static str>,
}

#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    settings: Vec<Row>,
}

pub(super) fn run(
    places: &Places,
    wanted: Option<&str>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let file = ConfigFile::load(places)?;
    let mut settings = file.reading.settings();
    if let Some(wanted) = wanted {
        if let Some(setting) = settings.iter().find(|setting| setting.key == wanted) {
            show_value(setting, output);
            return Ok(ExitCode::SUCCESS);
        }
        settings.retain(|setting| is_in(setting, wanted));
        if settings.is_empty() && !is_known(wanted) {
            return Err(unknown(wanted, &file));
        }
    }
    match settings.as_slice() {
        [] => output.note(&format!("there are none in the file: {}", wanted.unwrap_or_default())),
        settings => output.say_styled(lay_out(settings).trim_end()),
    }
    let settings = settings.iter().map(row).collect();
    output.emit(&Report { file: &file.place, settings });
    Ok(ExitCode::SUCCESS)
}

/// One value as a script wants it: a text without its quotes.
fn show_value(setting: &Setting, output: Output) {
    match (setting.json(), &setting.value) {
        (Value::String(text), _) => output.say(&text),
        (_, Some(value)) => output.say(value),
        (_, None) => output.note(&format!("{} is not set", setting.key)),
    }
    output.emit(&row(setting));
}

fn lay_out(settings: &[Setting]) -> String {
    let dim = Style::new().dimmed();
    let lines: Vec<(&Setting, String)> = settings.iter().map(|it| (it, assignment(it))).collect();
    let widths = lines.iter().map(|(_, line)| line.chars().count());
    let width = widths.filter(|width| *width <= VALUE_COLUMNS).max().unwrap_or_default();
    let mut text = String::new();
    let mut block = "";
    for (setting, line) in &lines {
        let of = setting.key.rsplit_once('.').map_or("", |(of, _)| of);
        if of != block {
            let gap = if block.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", setting.header));
            block = of;
        }
        let (line, comment) = (safe(line), comment(&setting.origin));
        text.push_str(&match setting.value {
            Some(_) => format!("{line:width$}  {dim}# {comment}{dim:#}\n"),
            None => format!("{dim}{line}{dim:#}\n"),
        });
    }
    text
}

fn assignment(setting: &Setting) -> String {
    match &setting.value {
        Some(value) => format!("{} = {value}", setting.name),
        // Nothing that could be written stands for it, and the whole shall stay TOML.
        None => format!("# {} is not set", setting.name),
    }
}

fn comment(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::File { line } => format!("line {line}"),
        Origin::Environment { variable } => format!("from {variable}"),
    }
}

fn row(setting: &Setting) -> Row {
    let (origin, line, variable) = match setting.origin {
        Origin::Default => ("default", None, None),
        Origin::File { line } => ("file", Some(line), None),
        Origin::Environment { variable } => ("environment", None, Some(variable)),
    };
    Row { key: setting.key.clone(), value: setting.json(), origin, line, variable }
}

/// `tasks` has all its keys, `policy` all rules, `policy[2]` one of them.
fn is_in(setting: &Setting, wanted: &str) -> bool {
    let rest = setting.key.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Whether there could be such settings, although there are none: rules, providers and targets.
fn is_known(wanted: &str) -> bool {
    ["policy", "providers", "notify"].contains(&wanted)
}

fn unknown(wanted: &str, file: &ConfigFile) -> Failure {
    let failure = Failure::new(Exit::NotFound, format!("there is no setting {wanted}"));
    let settings = file.reading.settings();
    let keys = settings.iter().map(|setting| setting.key.as_str());
    let sections = guide(&Surroundings::usual());
    let sections: Vec<&str> =
        sections.iter().map(|section| section.header.trim_matches(['[', ']'])).collect();
    let same_name = || {
        let mut keys = settings.iter().filter(|setting| setting.name == wanted);
        keys.next().map(|setting| setting.key.as_str())
    };
    match nearest(wanted, keys.chain(sections)).or_else(same_name) {
        Some(meant) => failure.hint(format!("did you mean {meant}?")),
        None => failure.hint("`ostler config show` shows all there are"),
    }
}
