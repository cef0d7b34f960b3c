//! `ostler codex list`.

use std::path::PathBuf;
use std::process::ExitCode;

use ostler_codex::binary::{
    Facts, Finding, Listed, Passed, Probe, Resolution, Source, Step, Unfit, decide, look,
};
use serde::Serialize;

use super::{Bench, table};
use crate::failure::Failure;
use crate::terminal;

#[derive(Serialize)]
struct Report<'a> {
    in_use: Option<InUse>,
    codex: &'a [Row],
    passed_over: Vec<PassedOver>,
}

#[derive(Serialize)]
struct InUse {
    version: String,
    path: PathBuf,
    source: &'static str,
}

#[derive(Serialize)]
struct PassedOver {
    source: &'static str,
    why: String,
}

#[derive(Serialize)]
struct Row {
    version: Option<String>,
    /// `installed`, `on_path` or `configured_path`.
    source: &'static str,
    path: PathBuf,
    /// What a person is shown: the version's folder, or the name that leads to the binary.
    #[serde(skip)]
    shown: PathBuf,
    size_bytes: Option<u64>,
    installed_at: Option<String>,
    in_use: bool,
    problem: Option<String>,
}

pub(super) async fn run(bench: &Bench) -> Result<ExitCode, Failure> {
    let settings = bench.settings();
    let mut facts = Facts::default();
    let mut rows = Vec::new();
    for source in Source::ALL {
        let finding = look(source, &settings, &bench.cache, &bench.environment).await;
        let known_as = match source {
            Source::ConfiguredPath => settings.path.clone(),
            Source::OnPath => bench.environment.find_executable("codex"),
            Source::ConfiguredVersion | Source::NewestInstalled => None,
        };
        if let Some(shown) = known_as {
            rows.extend(found(source, &finding, shown));
        }
        facts.add(source, finding);
    }
    rows.extend(bench.cache.list()?.into_iter().map(installed));
    let (resolution, passed) = match decide(&facts) {
        Step::Use(resolution) => (Some(resolution.clone()), resolution.passed),
        Step::GiveUp(nothing) => (None, nothing.passed),
        // Every rung was looked at above.
        Step::Look(_) => (None, Vec::new()),
    };
    if let Some(resolution) = &resolution
        && let Some(row) = rows.iter_mut().find(|row| is_the_one(row, resolution))
    {
        row.in_use = true;
    }
    if !bench.output.is_json() {
        print(bench, &rows);
    }
    bench.tell_passed(&passed);
    if resolution.is_none() {
        bench.output.note("no Codex is in use; run `ostler codex install` to fetch one");
    }
    bench.output.emit(&Report {
        in_use: resolution.map(|resolution| InUse {
            version: resolution.version.to_string(),
            path: resolution.path,
            source: resolution.source.name(),
        }),
        codex: &rows,
        passed_over: passed.iter().map(passed_over).collect(),
    });
    Ok(ExitCode::SUCCESS)
}

fn is_the_one(row: &Row, resolution: &Resolution) -> bool {
    row.path == resolution.path
        && match resolution.source {
            Source::ConfiguredPath | Source::OnPath => row.source == resolution.source.name(),
            Source::ConfiguredVersion | Source::NewestInstalled => row.source == "installed",
        }
}

fn passed_over(passed: &Passed) -> PassedOver {
    PassedOver { source: passed.source.name(), why: passed.why.to_string() }
}

/// The row for a binary that somebody else brought, if there is one.
fn found(source: Source, finding: &Finding, shown: PathBuf) -> Option<Row> {
    let (path, version, problem) = match finding {
        Finding::Empty => return None,
        Finding::Fits { path, version } => (path.clone(), Some(version.clone()), None),
        Finding::Unfit(why) => {
            let (path, version) = match why {
                Unfit::Probe { path, probe } => match probe {
                    Probe::TooOld { version } => (path.clone(), Some(version.clone())),
                    _ => (path.clone(), None),
                },
                Unfit::NoNative { path, .. } => (path.clone(), None),
                Unfit::NotInstalled { .. } | Unfit::Damaged { .. } | Unfit::Platform(_) => {
                    return None;
                }
            };
            (path, version, Some(why.to_string()))
        }
    };
    Some(Row {
        version: version.map(|version| version.to_string()),
        source: source.name(),
        shown,
        size_bytes: std::fs::metadata(&path).ok().map(|metadata| metadata.len()),
        path,
        installed_at: None,
        in_use: false,
        problem,
    })
}

fn installed(listed: Listed) -> Row {
    let version = Some(listed.version.to_string());
    match listed.state {
        Ok(installed) => Row {
            version,
            source: "installed",
            path: installed.binary,
            shown: installed.folder,
            size_bytes: Some(installed.manifest.total_bytes()),
            installed_at: Some(installed.manifest.installed_at.to_string()),
            in_use: false,
            problem: None,
        },
        Err(broken) => Row {
            version,
            source: "installed",
            problem: Some(broken.to_string()),
            path: broken.folder.clone(),
            shown: broken.folder,
            size_bytes: None,
            installed_at: None,
            in_use: false,
        },
    }
}

fn print(bench: &Bench, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let heading = ["", "VERSION", "FROM", "SIZE", "WHERE"].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        let mark = match (row.in_use, &row.problem) {
            (true, _) => "*",
            (false, Some(_)) => "!",
            (false, None) => "",
        };
        let from = match row.source {
            "on_path" => "PATH",
            "configured_path" => "config",
            other => other,
        };
        [
            mark.to_owned(),
            row.version.clone().unwrap_or_else(|| "?".to_owned()),
            from.to_owned(),
            row.size_bytes
                .map(|bytes| indicatif::DecimalBytes(bytes).to_string())
                .unwrap_or_default(),
            bench.short(&row.shown),
        ]
    });
    let table: Vec<[String; 5]> = std::iter::once(heading).chain(cells).collect();
    for line in table::lay_out(&table, terminal::width()) {
        bench.output.say(&line);
    }
}
