//! `ostler man`: the manual pages, made from what the commands say of themselves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Arguments;
use crate::failure::{Exit, Failure};
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write one page per command into this folder; without it the main page goes to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ManArguments, output: Output) -> Result<ExitCode, Failure> {
    let mut command = Arguments::command();
    command.build();
    match &arguments.out {
        None => {
            let page = page(command).map_err(|error| failed(Path::new("the page"), &error))?;
            output.write(&String::from_utf8_lossy(&page));
        }
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
            let mut written = Vec::new();
            write_all(&command, folder, &mut written)?;
            output.say(&format!("{} pages in {}", written.len(), folder.display()));
            output.emit(&serde_json::json!({ "pages": written }));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of a command and those of all below it: `ostler-codex-install.1`.
fn write_all(command: &Command, folder: &Path, written: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    let page = page(command.clone()).map_err(|error| failed(&path, &error))?;
    fs::write(&path, page).map_err(|error| failed(&path, &error))?;
    written.push(path);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        if below.get_name() != "help" {
            write_all(below, folder, written)?;
        }
    }
    Ok(())
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot write {}: {error}", path.display()))
}
