//! From text to settings.

use std::ops::Range;

use toml::de::DeTable;

use crate::checks;
use crate::config::Config;
use crate::origin::{Origin, Origins};
use crate::problem::Problem;
use crate::source::{Source, value_spans};
use crate::surroundings::Surroundings;
use crate::value::LogFilter;

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub config: Config,
    pub(crate) origins: Origins,
}

/// Reads the file. All that is wrong with it comes at once, in the order of the file.
pub fn parse(text: &str, surroundings: &Surroundings) -> Result<Reading, Vec<Problem>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let (root, nothing) = (root.get_ref(), DeTable::new());
    let mut source = Source::new(text, surroundings, root, &nothing);
    let mut config = Config::read(&mut source);
    checks::check(&config, &mut source);

    let offsets = errors.iter().map(|error| error.span().map_or(0, |span| span.start));
    let not_toml = offsets
        .zip(&errors)
        .map(|(offset, error)| (offset, not_toml(text, offset, error.message())));
    let problems = only_causes(text, not_toml.collect(), source.problems, root);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut origins = source.origins;
    apply_environment(&mut config, &mut origins, surroundings);
    Ok(Reading { config, origins })
}

/// What is no TOML, in the words of its reader. They do not help somebody who has forgotten the quotes.
fn not_toml(text: &str, offset: usize, message: &str) -> Problem {
    let problem = Problem::at(text, offset, message);
    let unquoted = ["invalid float", "invalid integer", "invalid boolean", "invalid date"];
    if unquoted.iter().any(|start| message.starts_with(start)) {
        return problem.advise("a text needs quotes");
    }
    problem
}

/// Two variables have a say. The file's `codex.home` is the operator's will for all tasks and beats whatever `CODEX_HOME`
/// the shell has that happens to start the daemon; `OSTLER_LOG` is set by somebody who looks for a fault right now.
fn apply_environment(config: &mut Config, origins: &mut Origins, surroundings: &Surroundings) {
    if config.codex.home.is_none()
        && let Some(home) = &surroundings.codex_home
    {
        config.codex.home = Some(home.clone());
        origins.insert("codex.home".to_owned(), Origin::Environment { variable: "CODEX_HOME" });
    }
    if let Some(log) = &surroundings.log {
        config.daemon.log = LogFilter::trusted(log);
        origins.insert("daemon.log".to_owned(), Origin::Environment { variable: "OSTLER_LOG" });
    }
}

/// One mistake in the TOML shows as several further on in the same line or value, and makes what was read there worthless.
fn only_causes(
    text: &str,
    mut not_toml: Vec<(usize, Problem)>,
    mut wrong: Vec<(usize, Problem)>,
    root: &DeTable<'_>,
) -> Vec<Problem> {
    let spans = value_spans(root);
    let is_same = |one: &(usize, Problem), other: &(usize, Problem)| {
        let inside =
            |offset| move |span: &&Range<usize>| span.start <= offset && offset <= span.end;
        let same_value = || spans.iter().filter(inside(one.0)).any(|span| inside(other.0)(&span));
        one.1.line == other.1.line || same_value()
    };
    let mut causes: Vec<(usize, Problem)> = Vec::new();
    not_toml.sort_by_key(|(offset, _)| *offset);
    for problem in not_toml {
        if !causes.iter().any(|cause| is_same(cause, &problem)) {
            causes.push(problem);
        }
    }
    // Keys below a header that cannot be read seem to belong elsewhere.
    let homeless: Vec<_> =
        causes.iter().filter_map(|(offset, _)| below_header(text, *offset)).collect();
    wrong.retain(|problem| {
        let is_homeless = homeless.iter().any(|keys| keys.contains(&problem.0));
        !is_homeless && !causes.iter().any(|cause| is_same(cause, problem))
    });
    causes.append(&mut wrong);
    causes.sort_by_key(|(offset, _)| *offset);
    causes.into_iter().map(|(_, problem)| problem).collect()
}

/// From a place in a header to the next header.
fn below_header(text: &str, offset: usize) -> Option<Range<usize>> {
    let is_header = |line: &str| line.trim_start().starts_with('[');
    let start = text.get(..offset)?.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = text.get(start..)?.split_inclusive('\n');
    let header = lines.next().filter(|line| is_header(line))?;
    let below: usize = lines.take_while(|line| !is_header(line)).map(str::len).sum();
    Some(start..start + header.len() + below)
}
