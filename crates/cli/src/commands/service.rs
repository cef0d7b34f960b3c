//! `ostler service`: the daemon as a service of the user's systemd.

mod units;

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, Subcommand};
use ostler_server::lock::{self, Held};
use serde_json::json;

use crate::daemon::refuse_agents;
use crate::failure::{Exit, Failure};
use crate::places::{self, Places};
use crate::running::own_program;
use crate::settings::ConfigFile;
use crate::terminal::Output;
use units::{MARK, SERVICE, SOCKET, Unit, units};

/// Variables that say where our files are; the service must find the same ones. The manager sets `XDG_RUNTIME_DIR` itself.
/// Codex's commands need the tools that the user has.
const CARRIED: [&str; 5] =
    ["OSTLER_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PATH"];

#[derive(Debug, Args)]
pub(crate) struct ServiceArguments {
    #[command(subcommand)]
    command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
enum ServiceCommand {
    /// Write the units, and let the manager listen and start the daemon
    Install(InstallArguments),
    /// End the service and remove its units; running turns go on
    Uninstall(UninstallArguments),
}

#[derive(Debug, Args)]
struct InstallArguments {
    /// Only show the units
    #[arg(long)]
    print: bool,
}

#[derive(Debug, Args)]
struct UninstallArguments {
    /// Only show what would be removed
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(arguments: &ServiceArguments, output: Output) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    let folder = places::user_units()?;
    match &arguments.command {
        ServiceCommand::Install(arguments) => {
            let carried = CARRIED.iter().filter_map(|name| Some((*name, places::variable(name)?)));
            let config = ConfigFile::load(&places)?;
            let units = units(&own_program()?, &config.config().daemon, carried)?;
            if arguments.print {
                show(&folder, &units, output);
            } else {
                let socket = &config.config().daemon.socket;
                places::private_folder(socket.parent().unwrap_or(&places.runtime))?;
                install(&places, &folder, &units, output)?;
            }
        }
        ServiceCommand::Uninstall(arguments) if arguments.print => would_remove(&folder, output)?,
        ServiceCommand::Uninstall(_) => uninstall(&places, &folder, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(folder: &Path, units: &[Unit], output: Output) {
    for unit in units {
        let place = folder.join(unit.name);
        output.say(&format!("# {}\n{}", place.display(), unit.text));
    }
    let units =
        units.iter().map(|unit| json!({ "path": folder.join(unit.name), "text": unit.text }));
    output.emit(&json!({ "units": units.collect::<Vec<_>>() }));
}

fn install(places: &Places, folder: &Path, units: &[Unit], output: Output) -> Result<(), Failure> {
    refuse_agents(places, "install the service")?;
    manager()?;
    for unit in units {
        is_ours(&folder.join(unit.name))?;
    }
    if let Held::By(holder) = lock::look(&places.daemon_lock())?
        && !holder.is_service
    {
        let message = format!("a daemon runs already (pid {}), and not as a service", holder.pid);
        return Err(Failure::new(Exit::Failed, message).hint(
            "`ostler daemon stop` ends it; running turns go on, and the service finds them",
        ));
    }
    places::private_folder(&places.runtime)?;
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))?;
    for unit in units {
        let place = folder.join(unit.name);
        fs::write(&place, &unit.text).map_err(|error| failed("write", &place, &error))?;
        output.say(&format!("wrote {}\n{}", place.display(), indented(&unit.text)));
    }
    systemctl(&["daemon-reload"])?;
    systemctl(&["enable", SOCKET, SERVICE])?;
    systemctl(&["restart", SOCKET, SERVICE])?;
    output.say(&format!("{SERVICE} runs; `journalctl --user -u ostler` shows what it says"));
    let lingers = lingers();
    if !lingers {
        output.note("it ends when you log out; `loginctl enable-linger` lets it run on");
    }
    let written: Vec<_> = units.iter().map(|unit| folder.join(unit.name)).collect();
    output.emit(&json!({ "wrote": written, "lingers": lingers }));
    Ok(())
}

fn uninstall(places: &Places, folder: &Path, output: Output) -> Result<(), Failure> {
    refuse_agents(places, "remove the service")?;
    let present = present(folder)?;
    if present.is_empty() {
        output.say("the service is not installed");
    } else if manager().is_ok() {
        // Without a manager nothing runs and only the files are left.
        let names: Vec<&str> = present.iter().map(|(name, _)| *name).collect();
        systemctl(&[&["disable", "--now"], names.as_slice()].concat())?;
    }
    for (_, place) in &present {
        fs::remove_file(place).map_err(|error| failed("remove", place, &error))?;
        output.say(&format!("removed {}", place.display()));
    }
    if !present.is_empty() && manager().is_ok() {
        systemctl(&["daemon-reload"])?;
    }
    let removed: Vec<_> = present.iter().map(|(_, place)| place).collect();
    output.emit(&json!({ "removed": removed }));
    Ok(())
}

fn would_remove(folder: &Path, output: Output) -> Result<(), Failure> {
    let present: Vec<_> = present(folder)?.into_iter().map(|(_, place)| place).collect();
    for place in &present {
        output.say(&format!("would remove {}", place.display()));
    }
    output.emit(&json!({ "would_remove": present }));
    Ok(())
}

/// Our units that are there. The socket last: it would start the service again.
fn present(folder: &Path) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let places = [SERVICE, SOCKET].map(|name| (name, folder.join(name)));
    let mut present = Vec::new();
    for (name, place) in places {
        if is_ours(&place)? == Present::Yes {
            present.push((name, place));
        }
    }
    Ok(present)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Present {
    Yes,
    No,
}

/// Refuses a file that we did not write; a link, e.g. to `/dev/null`, is somebody's decision, too.
fn is_ours(place: &Path) -> Result<Present, Failure> {
    let foreign = || {
        let message =
            format!("{} is not ours: `ostler service install` did not write it", place.display());
        Failure::new(Exit::Failed, message).hint("move it away if it is not needed")
    };
    match fs::symlink_metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Present::No),
        Err(error) => return Err(failed("look at", place, &error)),
        Ok(found) if !found.is_file() => return Err(foreign()),
        Ok(_) => {}
    }
    let text = fs::read_to_string(place).map_err(|error| failed("read", place, &error))?;
    if text.starts_with(MARK) { Ok(Present::Yes) } else { Err(foreign()) }
}

/// The user's service manager, if it can be reached.
fn manager() -> Result<(), Failure> {
    let runtime = places::variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let socket = runtime.and_then(|folder| fs::metadata(folder.join("systemd/private")).ok());
    if socket.is_some_and(|found| found.file_type().is_socket()) {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, "the user's service manager (systemd --user) cannot be reached").hint(
        "log in as this user (not by su), or see the units with `ostler service install --print`",
    ))
}

fn systemctl(arguments: &[&str]) -> Result<(), Failure> {
    let words = arguments.join(" ");
    let output = Command::new("systemctl").arg("--user").args(arguments).output();
    let output = output.map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot run systemctl --user {words}: {error}"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::new(Exit::Failed, format!("`systemctl --user {words}` failed: {said}"))
        .hint("`journalctl --user -u ostler` says more"))
}

/// Whether the manager outlives the user's last session.
fn lingers() -> bool {
    let user = places::variable("USER").or_else(|| places::variable("LOGNAME"));
    user.is_some_and(|user| Path::new("/var/lib/systemd/linger").join(user).exists())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn failed(action: &str, place: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot {action} {}: {error}", place.display()))
}
