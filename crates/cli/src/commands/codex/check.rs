//! `ostler codex check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use ostler_codex::binary::{
    CheckFinding, Installed, VersionRequest, verify_binary, verify_installed,
};
use ostler_codex::protocol::CodexVersion;
use ostler_codex::schema::{self, Bundle, Drift, generate};
use serde::Serialize;

use crate::bench::Bench;
use crate::failure::{Exit, Failure};
use crate::terminal::safe;

#[derive(Serialize)]
struct Report {
    version: String,
    path: PathBuf,
    ok: bool,
    findings: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    ok: bool,
    text: String,
}

pub(super) async fn run(
    bench: &Bench,
    request: Option<&VersionRequest>,
) -> Result<ExitCode, Failure> {
    let (version, path, findings, is_ours) = match request {
        Some(request) => check_installed(bench, bench.installed(request)?).await,
        None => {
            let resolution = bench.resolve().await?;
            let ours = bench.cache.installed(&resolution.version).ok().flatten();
            match ours.filter(|installed| installed.binary == resolution.path) {
                Some(installed) => check_installed(bench, installed).await,
                None => {
                    let findings = verify_binary(&resolution.path, &bench.environment).await;
                    let version = resolution.version.to_string();
                    (version, resolution.path, findings, false)
                }
            }
        }
    };
    let mut findings = findings;
    findings.extend(protocol(bench, &version, &path).await);
    let ok = !findings.iter().any(CheckFinding::is_problem);
    let heading = format!("Codex {version}, {}", bench.short(&path));
    bench.output.say(&heading);
    let lines: Vec<Line> = findings.into_iter().map(line).collect();
    for line in &lines {
        let (colour, word) =
            if line.ok { (AnsiColor::Green, "ok:") } else { (AnsiColor::Red, "problem:") };
        let style = Style::new().fg_color(Some(colour.into()));
        bench.output.say_styled(&format!("{style}{word}{style:#} {}", safe(&line.text)));
    }
    if !ok && is_ours {
        bench.output.say(&format!(
            "run `ostler codex remove {version}` and `ostler codex install {version}` to replace it"
        ));
    }
    bench.output.emit(&Report { version, path, ok, findings: lines });
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(Exit::Failed as u8) })
}

async fn check_installed(
    bench: &Bench,
    installed: Installed,
) -> (String, PathBuf, Vec<CheckFinding>, bool) {
    let findings = verify_installed(&installed, &bench.environment).await;
    let version = installed.version.to_string();
    (version, installed.binary, findings, true)
}

/// Whether this Codex speaks as we expect: it writes its own schema, and we look for every field we rely on.
async fn protocol(bench: &Bench, version: &str, codex: &Path) -> Vec<CheckFinding> {
    let Some(version) = CodexVersion::parse(version) else {
        return vec![CheckFinding::Problem(format!("{version} is no version of Codex"))];
    };
    let folder = bench.places.cache.join(format!("schema-{}", std::process::id()));
    let drifts = drifts(codex, &version, &folder).await;
    // Only the check needed it; what stays behind after a failure is named in no finding and harms nobody.
    drop(std::fs::remove_dir_all(&folder));
    match drifts {
        Ok(drifts) if drifts.is_empty() => {
            vec![CheckFinding::Sound("speaks the protocol as we know it".to_owned())]
        }
        Ok(drifts) => drifts.iter().map(|drift| CheckFinding::Problem(drift.to_string())).collect(),
        Err(reason) => vec![CheckFinding::Problem(reason)],
    }
}

/// Where the schema that it writes of itself, into this folder, is not what we rely on.
pub(crate) async fn drifts(
    codex: &Path,
    version: &CodexVersion,
    folder: &Path,
) -> Result<Vec<Drift>, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    generate(codex, folder).await.map_err(|error| error.to_string())?;
    let bundle = Bundle::read(folder).map_err(|error| error.to_string())?;
    Ok(schema::check(&bundle, version))
}

fn line(finding: CheckFinding) -> Line {
    let ok = !finding.is_problem();
    let (CheckFinding::Sound(text) | CheckFinding::Problem(text)) = finding;
    Line { ok, text }
}
