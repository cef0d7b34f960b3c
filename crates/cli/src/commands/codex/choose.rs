//! `ostler codex use`.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ostler_codex::binary::{Finding, Settings, Source, VersionRequest, look};
use ostler_config::edit::{CodexChoice, choose_codex};
use serde::Serialize;

use crate::bench::Bench;
use crate::daemon;
use crate::failure::{Exit, Failure};
use crate::settings::unreadable;

#[derive(Debug, Args)]
pub(super) struct UseArguments {
    /// An installed version, or the path of a binary (with a slash in it)
    #[arg(value_name = "VERSION|PATH", required_unless_present = "clear", value_parser = parse)]
    target: Option<Target>,

    /// Settle on nothing: use what is found
    #[arg(long, conflicts_with = "target")]
    clear: bool,
}

#[derive(Debug, Clone)]
enum Target {
    Version(VersionRequest),
    Path(PathBuf),
}

#[derive(Serialize)]
struct Report<'a> {
    version: Option<String>,
    path: Option<PathBuf>,
    config_file: &'a Path,
}

fn parse(text: &str) -> Result<Target, String> {
    if text.contains('/') {
        return Ok(Target::Path(PathBuf::from(text)));
    }
    text.parse().map(Target::Version).map_err(|error: ostler_codex::binary::VersionError| {
        format!("{error}; a path needs a slash, such as ./codex")
    })
}

pub(super) async fn run(bench: &Bench, arguments: UseArguments) -> Result<ExitCode, Failure> {
    let file = &bench.config;
    let (choice, text, version, path) = match arguments.target {
        None => {
            let text = "no Codex is settled on; the first that fits is used".to_owned();
            (CodexChoice::Clear, text, None, None)
        }
        Some(Target::Version(request)) => {
            let installed = bench.installed(&request)?;
            let version = installed.version;
            let text = format!("Codex {version} is now in use");
            let name = version.to_string();
            let path = installed.binary;
            (CodexChoice::Version(version), text, Some(name), Some(path))
        }
        Some(Target::Path(path)) => {
            let (given, native, version) = look_at(bench, &path).await?;
            let text = format!("{} (Codex {version}) is now in use", bench.short(&given));
            let path = Some(native);
            (CodexChoice::Path(given), text, Some(version), path)
        }
    };
    let new =
        choose_codex(&file.text, &choice).map_err(|problem| unreadable(&file.place, &[problem]))?;
    if new != file.text {
        file.replace(&new)?;
    }
    bench.output.say(&text);
    if UnixStream::connect(daemon::socket(&bench.places)?).is_ok() {
        let text = "the daemon that runs has read its settings before: `ostler daemon restart`";
        bench.output.note(text);
    }
    bench.output.emit(&Report { version, path, config_file: &file.place });
    Ok(ExitCode::SUCCESS)
}

/// The absolute path to write down, the native binary behind it, and its version. What does not work is not written.
async fn look_at(bench: &Bench, path: &Path) -> Result<(PathBuf, PathBuf, String), Failure> {
    let given = std::path::absolute(path).map_err(|error| {
        let message = format!("cannot use {}: {error}", path.display());
        Failure::new(Exit::Usage, message)
    })?;
    let settings = Settings { path: Some(given.clone()), version: None };
    match look(Source::ConfiguredPath, &settings, &bench.cache, &bench.environment).await {
        Finding::Fits { path, version } => Ok((given, path, version.to_string())),
        Finding::Unfit(why) => Err(Failure::new(Exit::Failed, why.to_string())
            .hint("nothing was changed; `ostler codex list` shows what there is")),
        Finding::Empty => Err(Failure::new(Exit::NotFound, "there is nothing at that path")),
    }
}
