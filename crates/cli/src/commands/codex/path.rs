//! `ostler codex path`: only the path, for scripts.

use std::path::PathBuf;
use std::process::ExitCode;

use ostler_codex::binary::VersionRequest;
use serde::Serialize;

use crate::bench::Bench;
use crate::failure::Failure;

#[derive(Serialize)]
struct Report {
    version: String,
    path: PathBuf,
    source: &'static str,
}

pub(super) async fn run(
    bench: &Bench,
    request: Option<&VersionRequest>,
) -> Result<ExitCode, Failure> {
    let report = match request {
        Some(request) => {
            let installed = bench.installed(request)?;
            Report {
                version: installed.version.to_string(),
                path: installed.binary,
                source: "installed",
            }
        }
        None => {
            let resolution = bench.resolve().await?;
            Report {
                version: resolution.version.to_string(),
                path: resolution.path,
                source: resolution.source.name(),
            }
        }
    };
    if !bench.output.is_json() {
        bench.output.say(&report.path.display().to_string());
    }
    bench.output.emit(&report);
    Ok(ExitCode::SUCCESS)
}
