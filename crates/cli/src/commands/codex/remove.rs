//! `ostler codex remove`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ostler_codex::binary::VersionRequest;
use serde::Serialize;

use crate::bench::Bench;
use crate::failure::{Exit, Failure};

/// An install of the same version may be at work; a person who removes it would rather be told than wait for it.
const WAIT: Duration = Duration::from_secs(5);

#[derive(Serialize)]
struct Report {
    version: String,
    removed: PathBuf,
}

pub(super) async fn run(bench: &Bench, request: &VersionRequest) -> Result<ExitCode, Failure> {
    let VersionRequest::Exact(version) = request else {
        return Err(Failure::new(Exit::Usage, "name the version to remove")
            .hint("`ostler codex list` shows what there is"));
    };
    let removed = bench.cache.remove(version, WAIT).await?;
    let place = bench.short(&removed);
    bench.output.say(&format!("removed Codex {version} from {place}"));
    if bench.config.config().codex.version.as_ref() == Some(version) {
        bench.output.note(&format!(
            "the config file still names {version}; `ostler codex use` chooses another"
        ));
    }
    bench.output.emit(&Report { version: version.to_string(), removed });
    Ok(ExitCode::SUCCESS)
}
