//! `ostler codex install`.

use std::process::ExitCode;

use ostler_codex::binary::{Origin, VersionRequest};
use serde::Serialize;

use crate::bench::Bench;
use crate::failure::Failure;
use crate::terminal::Output;

#[derive(Serialize)]
struct Report<'a> {
    version: String,
    path: &'a std::path::Path,
    size_bytes: u64,
    sha256: &'a str,
    /// `fetched`, `already_there` or `newest_unknown`.
    origin: &'static str,
}

pub(super) async fn run(bench: &Bench, request: &VersionRequest) -> Result<ExitCode, Failure> {
    let outcome = bench.install(request).await?;
    let installed = &outcome.installed;
    let version = &installed.version;
    let size = indicatif::DecimalBytes(installed.manifest.total_bytes());
    let place = bench.short(&installed.folder);
    let origin = match &outcome.origin {
        Origin::Fetched => {
            tell(bench.output, &format!("installed Codex {version} ({size}) in {place}"));
            "fetched"
        }
        Origin::AlreadyThere => {
            tell(bench.output, &format!("Codex {version} is already installed in {place}"));
            "already_there"
        }
        Origin::NewestUnknown { because } => {
            bench.output.note(&format!("cannot learn which Codex is newest: {because}"));
            let text = format!("the newest installed is Codex {version} in {place}");
            tell(bench.output, &text);
            "newest_unknown"
        }
    };
    bench.output.emit(&Report {
        version: version.to_string(),
        path: &installed.binary,
        size_bytes: installed.manifest.total_bytes(),
        sha256: &installed.manifest.sha256,
        origin,
    });
    Ok(ExitCode::SUCCESS)
}

/// With `--json` the object says it all.
fn tell(output: Output, text: &str) {
    if !output.is_json() {
        output.say(text);
    }
}
