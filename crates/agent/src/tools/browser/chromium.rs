//! One Chromium: started in a folder of its own, below our own supervisor, and never left behind.
//!
//! `ostler sandbox-exec` stands above it and holds a pipe from this process. When the pipe closes, because the browser is no longer
//! wanted or because this process was killed, everything below ends and the folder goes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::sandbox::{Means, Walls};

/// How a browser is started.
#[derive(Debug, Clone)]
pub struct BrowserSettings {
    /// None if there is none on this machine.
    pub program: Option<PathBuf>,
    /// The words that lead to our own `sandbox-exec`.
    pub launcher: Vec<OsString>,
    /// `PATH` and the language.
    pub environment: BTreeMap<OsString, OsString>,
    /// Holds a folder for each browser while it runs.
    pub profiles: PathBuf,
    /// Whether Chromium's own sandbox is wanted. Root has none in any case.
    pub sandbox: bool,
    /// For a page to load, and for each answer of it.
    pub timeout: Duration,
}

/// Why there is no browser.
#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    #[error(
        "there is no Chromium on this machine. Tell the user to install one (Debian and Ubuntu: apt-get install chromium; \
        Fedora: dnf install chromium), or to name it as program in [browser] of Ostler's config.toml"
    )]
    Missing,
    #[error("{} cannot be made: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the browser cannot be started: {0}")]
    Start(io::Error),
    #[error("the browser did not come up{}", .0)]
    Silent(String),
}

/// Chromium takes its line as files 3 and 4; it comes as standard output.
const SCRIPT: &str = r#"exec "$@" 3<&1 4>&1 >/dev/null"#;

/// Nothing that Chromium does for its own sake, nothing that goes around the gate, nothing that waits for a person.
const FLAGS: [&str; 29] = [
    "--headless",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,Translate",
    "--disable-gpu",
    "--disable-popup-blocking",
    "--disable-quic",
    "--disable-search-engine-choice-screen",
    // Frames of other sites are read together with the page that they stand in.
    "--disable-site-isolation-trials",
    "--disable-sync",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-service-autorun",
    "--password-store=basic",
    "--window-size=1280,900",
    // Also what is on this machine goes through the gate, where it is judged.
    "--proxy-bypass-list=<-loopback>",
];

/// The daemon knows by it that what runs below is an agent's; see the terminal's own mark.
const MARK: (&str, &str) = ("CODEX_SANDBOX", "ostler");

/// A socket's address has room for 107 bytes, and Chromium makes one of some 46 in its folder for temporary files.
const LONGEST_TEMPORARY: usize = 60;

/// Where that folder is made when the other path is too long.
const TEMPORARY: &str = "/tmp";

/// What is kept of what Chromium complains about.
const COMPLAINT: usize = 4096;

/// What has ended has said it by then.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Of names that nobody has.
const ATTEMPTS: usize = 8;

pub(super) struct Chromium {
    /// The supervisor's line; it closes when this is dropped.
    _line: Option<ChildStdin>,
    /// The supervisor has ended. Somebody may have killed it, and then Chromium itself may still run.
    pub(super) ended: CancellationToken,
    _waiting: AbortOnDropHandle<()>,
    complaints: Complaints,
    /// Held for as long as the folder is used.
    _profile: File,
}

struct Complaints {
    text: Arc<Mutex<Vec<u8>>>,
    /// Ends when nobody is left who could complain.
    reading: AbortOnDropHandle<()>,
}

impl Chromium {
    /// Gives the line to it, too. That it is up is known when it answers there.
    pub(super) fn start(
        settings: &BrowserSettings,
        gate_port: u16,
    ) -> Result<(Self, UnixStream), LaunchError> {
        let program = settings.program.as_ref().ok_or(LaunchError::Missing)?;
        let (profile, held) = profile(&settings.profiles)?;
        let temporary = temporary(&profile)?;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(LaunchError::Start)?;
        ours.set_nonblocking(true).map_err(LaunchError::Start)?;
        let (launcher, arguments) = settings
            .launcher
            .split_first()
            .ok_or_else(|| LaunchError::Start(io::Error::other("the way to it is not known")))?;
        let is_bare = !settings.sandbox || rustix::process::geteuid().is_root();
        let walls = walls(is_bare, &[&profile, &temporary]);
        let walls = serde_json::to_string(&walls).unwrap_or_default();
        let mut command = Command::new(launcher);
        command
            .args(arguments)
            .args(["--walls", &walls, "--throw-away"])
            .arg(&profile)
            .arg("--throw-away")
            .arg(&temporary)
            .args(["--", "sh", "-c", SCRIPT, "sh"])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--proxy-server=socks5://127.0.0.1:{gate_port}"))
            .arg("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
            .args(user_data(&profile))
            .args(is_bare.then_some("--no-sandbox"))
            .arg("about:blank")
            .env_clear()
            .envs(&settings.environment)
            .env("HOME", &profile)
            .env("TMPDIR", &temporary)
            .env(MARK.0, MARK.1)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(LaunchError::Start)?;
        // It holds the other end, and a line with two ends here never closes.
        drop(command);
        let complaints = Complaints::of(child.stderr.take());
        let stream = UnixStream::from_std(ours).map_err(LaunchError::Start)?;
        let (line, ended) = (child.stdin.take(), CancellationToken::new());
        let waiting = tokio::spawn(wait(child, ended.clone()));
        let waiting = AbortOnDropHandle::new(waiting);
        let started = Self { _line: line, ended, _waiting: waiting, complaints, _profile: held };
        Ok((started, stream))
    }

    /// That it did not come up, with its own words for why.
    pub(super) async fn silent(&mut self) -> LaunchError {
        // One that hangs may never have said all.
        tokio::time::timeout(LAST_WORDS, &mut self.complaints.reading).await.ok();
        let text = self.complaints.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&text).into_owned();
        let advice = match text.contains("sandbox") {
            true => {
                "\nIf this machine has no sandbox for it, the user can set sandbox = false in [browser] of Ostler's config.toml"
            }
            false => "",
        };
        let text = text.trim();
        LaunchError::Silent(if text.is_empty() {
            String::new()
        } else {
            format!(":\n{text}{advice}")
        })
    }
}

async fn wait(mut child: Child, ended: CancellationToken) {
    // How it ended is of no use to anybody.
    child.wait().await.ok();
    ended.cancel();
}

impl Complaints {
    fn of(stderr: Option<ChildStderr>) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = text.clone();
        let reading = tokio::spawn(async move {
            let Some(mut stderr) = stderr else { return };
            let mut piece = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut piece).await {
                let mut text = kept.lock().unwrap_or_else(PoisonError::into_inner);
                text.extend_from_slice(piece.get(..count).unwrap_or_default());
                let over = text.len().saturating_sub(COMPLAINT);
                text.drain(..over);
            }
        });
        Self { text, reading: AbortOnDropHandle::new(reading) }
    }
}

/// The same folder, unless its path is too long for sockets.
fn temporary(profile: &Path) -> Result<PathBuf, LaunchError> {
    if profile.as_os_str().len() <= LONGEST_TEMPORARY {
        return Ok(profile.to_owned());
    }
    let name = profile.file_name().unwrap_or_default().to_string_lossy();
    let path = Path::new(TEMPORARY).join(format!("ostler-browser-{name}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(LaunchError::Folder { path, source }),
    }
}

fn user_data(profile: &Path) -> [OsString; 1] {
    let mut flag = OsString::from("--user-data-dir=");
    flag.push(profile);
    [flag]
}

/// Chromium's own sandbox is better than ours, and does not work inside of it. Without it a page that breaks out could write wherever we
/// may; behind Landlock it can only write to what is thrown away.
fn walls(is_bare: bool, writable: &[&PathBuf]) -> Walls {
    match Means::find(None) {
        Ok(Means::Landlock) if is_bare => {
            let writable = writable.iter().map(|path| (*path).clone()).collect();
            Walls::Landlock { writable, network: true }
        }
        _ => Walls::None,
    }
}

/// A folder that nobody else has, and a lock on it. Folders of browsers whose owner was killed go first.
fn profile(profiles: &Path) -> Result<(PathBuf, File), LaunchError> {
    let failed = |source| LaunchError::Folder { path: profiles.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(profiles).map_err(failed)?;
    // Walls are built of real paths.
    let profiles = &profiles.canonicalize().map_err(failed)?;
    sweep(profiles);
    for _ in 0..ATTEMPTS {
        let mut random = [0; 4];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| failed(error.into()))?;
        let path = profiles.join(format!("{:08x}", u32::from_ne_bytes(random)));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made.map_err(failed)?,
        }
        // Whoever sweeps at this very moment has the lock, and the folder is gone after it.
        let Ok(held) = File::open(&path) else { continue };
        if held.lock().is_ok() && is_same(&held, &path) {
            return Ok((path, held));
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

fn is_same(held: &File, path: &Path) -> bool {
    match (held.metadata(), path.symlink_metadata()) {
        (Ok(held), Ok(there)) => held.ino() == there.ino() && held.dev() == there.dev(),
        _ => false,
    }
}

/// What nobody holds is of a browser whose owner was killed.
fn sweep(profiles: &Path) {
    let Ok(entries) = profiles.read_dir() else { return };
    for entry in entries.flatten() {
        let Ok(folder) = File::open(entry.path()) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && folder.try_lock().is_ok()
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::warn!(%error, "the folder of an old browser stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{profile, temporary};

    #[test]
    fn a_path_that_is_too_long_for_sockets_has_a_short_one_beside_it() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        assert_eq!(temporary(folder.path()).unwrap(), folder.path());
        let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
        let long = folder.path().join("x".repeat(60)).join(&name);
        let short = temporary(&long).unwrap();
        assert_eq!(short, Path::new("/tmp").join(format!("ostler-browser-{name}")));
        std::fs::remove_dir(short).unwrap();
    }

    #[test]
    fn a_folder_that_nobody_holds_goes_and_one_that_is_held_stays() {
        let folder = tempfile::tempdir().unwrap();
        let profiles = folder.path().join("browser");
        let (first, held) = profile(&profiles).unwrap();
        std::fs::write(first.join("Cookies"), "x").unwrap();
        let (second, _also_held) = profile(&profiles).unwrap();
        assert!(first.exists() && second.exists());
        drop(held);
        let (third, _held) = profile(&profiles).unwrap();
        assert!(!first.exists() && second.exists() && third.exists());
    }
}
