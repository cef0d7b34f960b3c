//! `ostler sandbox-exec`: builds the walls, runs the command inside, and ends all that it leaves behind.
//!
//! The process stays above the command. Whatever the command starts and loses, even with a session of its own, becomes its
//! child, so nothing gets away. Its standard input is the line to who wants the command: when that closes, because the
//! command took too long or because that process died, everything below ends.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use landlock::RulesetError;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use super::placeholders::Placeholders;
use super::walls::Walls;
use super::{bubblewrap, descendants, landlock_walls, means, network};

/// Enough to remove a lock file; a person who stops a turn does not want to wait longer.
const GRACE: Duration = Duration::from_secs(2);

/// A process that is killed is gone within milliseconds, unless it waits for a device; nobody waits for that one.
const KILL_DEADLINE: Duration = Duration::from_secs(5);

const KILL_PAUSE: Duration = Duration::from_millis(5);

/// The command was not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("no command was given")]
    NoCommand,
    #[error("files cannot be confined: {0}")]
    Landlock(#[from] RulesetError),
    #[error("files cannot be confined: the kernel took the rules and does not apply them")]
    NotEnforced,
    #[error("{} cannot be made writable: {source}", path.display())]
    Path { path: PathBuf, source: std::io::Error },
    #[error("{} decides what programs do later and cannot be held: {source}; move it away, or ask for the command to run outside of the sandbox", path.display())]
    Guard { path: PathBuf, source: std::io::Error },
    #[error("the network cannot be shut off: {0}")]
    Network(String),
    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: std::io::Error },
    #[error("{program:?} cannot be started: {source}")]
    Start { program: OsString, source: std::io::Error },
}

/// Runs the command inside these walls and gives its exit code; 128 and the number of the signal if one ended it.
///
/// `own` are the words by which this very function is reached again inside of bubblewrap. The folders in `thrown_away` are removed when
/// all that ran has ended: nobody is left then who could make them again.
pub fn sandbox_exec(
    walls: &Walls,
    command: &[OsString],
    own: &[OsString],
    thrown_away: &[PathBuf],
) -> Result<i32, SandboxError> {
    if let Walls::InsideBubblewrap { writable, network } = walls {
        return inside_bubblewrap(writable, *network, command);
    }
    // A session of its own has no terminal that a command could type into.
    system("begin a session", rustix::process::setsid().map(drop))?;
    let this = Some(rustix::process::getpid());
    system("adopt processes", rustix::process::set_child_subreaper(this))?;
    let guarded = match walls {
        Walls::Bubblewrap { read_only, .. } => read_only.as_slice(),
        Walls::None | Walls::Landlock { .. } | Walls::InsideBubblewrap { .. } => &[],
    };
    let places = Placeholders::hold(guarded)?;
    let ended = run(walls, &words(walls, command, own, places.there()));
    places.give_up();
    for folder in thrown_away {
        // Whoever made it looks for what is left the next time.
        std::fs::remove_dir_all(folder).ok();
    }
    ended
}

fn run(walls: &Walls, words: &[OsString]) -> Result<i32, SandboxError> {
    let child = start(walls, words)?;
    std::thread::spawn(move || end_with_the_line(child));
    let code = reap_until(child)?;
    end_the_rest();
    Ok(code)
}

fn inside_bubblewrap(
    writable: &[PathBuf],
    network: bool,
    command: &[OsString],
) -> Result<i32, SandboxError> {
    if means::landlock().is_ok() {
        landlock_walls::enter(writable)?;
    }
    if !network {
        network::refuse()?;
    }
    let (program, arguments) = command.split_first().ok_or(SandboxError::NoCommand)?;
    let source = Command::new(program).args(arguments).exec();
    Err(SandboxError::Start { program: program.clone(), source })
}

fn words(
    walls: &Walls,
    command: &[OsString],
    own: &[OsString],
    read_only: &[PathBuf],
) -> Vec<OsString> {
    let Walls::Bubblewrap { program, writable, network, .. } = walls else {
        return command.to_vec();
    };
    let inside = Walls::InsideBubblewrap { writable: writable.clone(), network: *network };
    let inside = serde_json::to_string(&inside).unwrap_or_default();
    let mut words = bubblewrap::words(program, writable, read_only, *network);
    words.extend(own.iter().cloned());
    words.extend(["--walls".into(), inside.into(), "--".into()]);
    words.extend(command.iter().cloned());
    words
}

/// Starts it inside the walls. This process itself stays outside, so the command cannot signal it.
fn start(walls: &Walls, words: &[OsString]) -> Result<Pid, SandboxError> {
    let (program, arguments) = words.split_first().ok_or(SandboxError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    let Walls::Landlock { writable, network } = walls else {
        // Bubblewrap ends with the thread that started it, so that one must stay: `--die-with-parent` means threads.
        return spawn(command);
    };
    // These walls hold a thread and all that it starts.
    let (writable, network) = (writable.clone(), *network);
    let held = std::thread::spawn(move || {
        landlock_walls::enter(&writable)?;
        if !network {
            network::refuse()?;
        }
        spawn(command)
    });
    held.join().unwrap_or(Err(SandboxError::NotEnforced))
}

fn spawn(mut command: Command) -> Result<Pid, SandboxError> {
    match command.spawn() {
        Ok(child) => Ok(Pid::from_child(&child)),
        Err(source) => Err(SandboxError::Start { program: command.get_program().into(), source }),
    }
}

/// Waits for the command itself, and takes in what it has lost on the way.
fn reap_until(child: Pid) -> Result<i32, SandboxError> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return Ok(code(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return system("wait for the command", Err(error)),
        }
    }
}

fn code(status: WaitStatus) -> i32 {
    let signal = || 128 + status.terminating_signal().unwrap_or_default();
    status.exit_status().unwrap_or_else(signal)
}

/// Politely first, because the command may have something to put in order.
fn end_with_the_line(child: Pid) {
    let mut line = std::io::stdin().lock();
    let mut nothing = [0; 64];
    while !matches!(line.read(&mut nothing), Ok(0) | Err(_)) {}
    // It may be over already; then the process is about to end.
    rustix::process::kill_process_group(child, Signal::TERM).ok();
    descendants::signal_all(Signal::TERM);
    std::thread::sleep(GRACE);
    // The command's own end lets the main thread see to the rest.
    loop {
        descendants::signal_all(Signal::KILL);
        std::thread::sleep(KILL_PAUSE);
    }
}

/// The command is over, and so is all that it started.
fn end_the_rest() {
    let begun = Instant::now();
    while begun.elapsed() < KILL_DEADLINE {
        descendants::signal_all(Signal::KILL);
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Err(Errno::CHILD) => return,
                Ok(None) | Err(_) => break,
            }
        }
        std::thread::sleep(KILL_PAUSE);
    }
}

fn system<T>(action: &'static str, result: rustix::io::Result<T>) -> Result<T, SandboxError> {
    result.map_err(|error| SandboxError::System { action, source: error.into() })
}
