//! A program on a real pseudo terminal, as a person would run it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The usual size of a terminal.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// The longest that a program may take until it says what a test waits for; an install from npm is the slowest.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at the screen.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    /// Ends with the terminal.
    reading: JoinHandle<()>,
}

impl Terminal {
    /// Starts the program with the terminal as its stdin, stdout and stderr. It is not the program's controlling
    /// terminal: for Ctrl-C, put `setsid --ctty` before it.
    pub fn run(mut command: Command) -> Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags).context("no pseudo terminal")?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let name = ptsname(&controller, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let user = open(name.as_c_str(), flags, Mode::empty())?;
        tcsetwinsize(&user, SIZE)?;
        command.stdin(user.try_clone()?).stdout(user.try_clone()?).stderr(user);
        let child = command.spawn()?;
        // The terminal ends when the last process that has it open ends; that must not be us.
        drop(command);
        let keyboard = File::from(controller);
        let screen: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (mut output, shown) = (keyboard.try_clone()?, Arc::clone(&screen));
        let reading = thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            let mut chunk = vec![0; 4096];
            while let Ok(count @ 1..) = output.read(&mut chunk) {
                let read = chunk.iter().take(count);
                shown.lock().unwrap_or_else(PoisonError::into_inner).extend(read);
            }
        })?;
        Ok(Self { child, keyboard, screen, reading })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything that was written so far, with all escapes.
    pub fn shown(&self) -> String {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&screen).into_owned()
    }

    pub fn type_in(&mut self, text: &str) -> Result<()> {
        self.keyboard.write_all(text.as_bytes()).context("the terminal is gone")
    }

    /// Waits until the text was shown so many times.
    pub fn wait_for(&mut self, text: &str, times: usize) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // In this order: what an ended program has written is then on the screen.
            let ended = self.child.try_wait()?;
            if self.shown().matches(text).count() >= times {
                return Ok(());
            }
            if let Some(status) = ended {
                bail!("ended with {status} before {text:?} was shown: {}", self.shown());
            }
            if Instant::now() >= deadline {
                bail!("{text:?} was not shown {times} times: {}", self.shown());
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Waits for the program's end, until all that it wrote is shown, and gives its exit code.
    pub fn exit_code(&mut self) -> Result<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()?
                && self.reading.is_finished()
            {
                return status.code().with_context(|| format!("{status}: {}", self.shown()));
            }
            if Instant::now() >= deadline {
                bail!("it, or what it left behind, still runs: {}", self.shown());
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and need not be.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
