//! `ostler open`: the page in a browser, logged in by a link that counts once.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Args;
use ostler_server::guard::LoginCode;
use serde_json::json;

use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::places;
use crate::running::block_on;
use crate::tasks::Desk;
use crate::terminal::Output;

/// With one of these set there is a screen to open a browser on.
const SCREENS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// How the pages are called that lead to links.
const PAGE: &str = "open-";

/// As the daemon has it.
const LINK_LIVES: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    /// Print the link and open nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &OpenArguments, output: Output) -> Result<ExitCode, Failure> {
    let login: LoginCode = block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        desk.post("/v1/login-codes", &json!({})).await
    })?;
    let Some(url) = &login.url else {
        let message = "the daemon has no door for browsers";
        return Err(Failure::new(Exit::Usage, message).hint(
            "write `listen = \"127.0.0.1:8137\"` under [server] in the configuration \
             (`ostler config path`), then `ostler daemon restart`",
        ));
    };
    output.say(url);
    output.emit(&login);
    output.note("the link counts once, within five minutes");
    let has_screen = SCREENS.iter().any(|name| places::variable(name).is_some());
    if !arguments.print && !output.is_json() && has_screen {
        let places = places::Places::find()?;
        if let Err(error) = show(url, &places.runtime) {
            output.note(&format!("no browser could be opened ({error}); open the link yourself"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The desktop's own way to open a page; it returns at once and the browser lives on. Every program of this machine can read the
/// arguments of every other, so they name a file of ours that leads on, and not the link.
fn show(url: &str, runtime: &Path) -> io::Result<()> {
    let page = leading_to(url, runtime)?;
    let mut opener = Command::new("xdg-open");
    let opener = opener.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    opener.spawn().map(drop)
}

/// A page that goes on to the link, which nobody else can read. Its link is worth nothing after the first use, nor after some
/// minutes; the next `ostler open` removes it.
fn leading_to(url: &str, runtime: &Path) -> io::Result<PathBuf> {
    for entry in fs::read_dir(runtime)?.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| {
            name.starts_with(PAGE) && Path::new(name).extension().is_some_and(|end| end == "html")
        });
        let is_old = || entry.metadata()?.modified()?.elapsed().map_err(io::Error::other);
        if is_ours && is_old().is_ok_and(|age| age > LINK_LIVES) {
            fs::remove_file(entry.path())?;
        }
    }
    let path = runtime.join(format!("{PAGE}{}.html", std::process::id()));
    drop(fs::remove_file(&path));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    writeln!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>Ostler</title>\
         <a href=\"{url}\">To the page</a>"
    )?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn the_page_that_leads_on_is_for_us_alone_and_goes_with_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("open-1.html");
        let kept = [folder.path().join("open-2.html"), folder.path().join("daemon.sock")];
        for path in kept.iter().chain([&old]) {
            fs::write(path, "").unwrap();
        }
        let long_ago = SystemTime::now() - 2 * LINK_LIVES;
        for path in [&old, &kept[1]] {
            OpenOptions::new().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
        let url = "http://127.0.0.1:8137/login#0123";
        let page = leading_to(url, folder.path()).unwrap();
        assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&page).unwrap().contains(&format!("content=\"0;url={url}\"")));
        assert!(!old.exists() && kept.iter().all(|path| path.exists()));
        assert_eq!(leading_to(url, folder.path()).unwrap(), page);
    }
}
