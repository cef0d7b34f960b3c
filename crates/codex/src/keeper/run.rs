//! The keeper itself: one thread, one loop, one codex.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, setsid, wait,
};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::MARK;
use super::codex_log::CodexLog;
use super::error::KeeperError;
use super::folder::{KeeperFolder, usable};
use super::group::{self, ControlGroup};
use super::log::{KEEPER_LOG, RotatingLog};
use super::open_files;
use super::process::{ProcessIdentity, ProcessTable};
use super::record::{Ended, Exit, HowEnded, Record, State};
use super::tree::{END_DEADLINE, LOOK_AGAIN};

mod hide;
mod phase;
mod restore;
mod signals;
mod watch;

use hide::{Door, hide};
use phase::{Effect, Phase, Request};
use restore::{Kept, Looked};
use signals::Signals;

/// From "end now" to SIGKILL. Codex needs well under 0.1 s for it (spec: exit, second SIGTERM); the rest is for a busy machine.
pub(super) const END_NOW_GRACE: Duration = Duration::from_secs(10);

/// Two signals of one kind that arrive together count as one, so "end now" repeats SIGTERM at this distance.
const REPEAT_TERMINATE: Duration = Duration::from_millis(250);

/// Between two looks whether codex listens, for as long as it does not. It needs about 100 ms.
const LOOK_FOR_SOCKET: Duration = Duration::from_millis(5);

/// As much as a pipe usually holds, so one read empties it.
const OUTPUT_BYTES: usize = 64 * 1024;

/// Becomes the keeper of `folder` and returns when codex and everything below it has ended.
///
/// This is the whole life of a process: it takes the session, the signals and the children of the process it runs in.
pub fn run(folder: &KeeperFolder) -> Result<Exit, KeeperError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(KeeperError::system("start the runtime"))?;
    runtime.block_on(keep(folder))
}

async fn keep(folder: &KeeperFolder) -> Result<Exit, KeeperError> {
    let mut kept = Kept::take(folder)?;
    let mut keeper = Keeper::prepare(folder)?;
    if let Some(reason) = kept.blind() {
        keeper.say(&format!("a deleted folder would not be noticed: {reason}"));
    }
    // Before codex exists, so that no signal can end the keeper and leave codex alone.
    let mut signals = Signals::listen().map_err(KeeperError::system("listen to signals"))?;
    let (codex, output) = match keeper.spawn_codex() {
        Ok(spawned) => spawned,
        Err(error) => {
            keeper.never_started(&error);
            return Ok(Exit::Unknown);
        }
    };
    let exit = keeper.serve(codex, output, &mut signals, &mut kept).await;
    keeper.finish(&mut signals).await;
    Ok(exit)
}

struct Keeper<'a> {
    folder: &'a KeeperFolder,
    record: Record,
    phase: Phase,
    words: RotatingLog,
    codex_log: CodexLog,
    group: Option<ControlGroup>,
}

impl<'a> Keeper<'a> {
    fn prepare(folder: &'a KeeperFolder) -> Result<Self, KeeperError> {
        let mut record = Record::read(folder)?;
        if record.keeper.is_some() {
            let path = folder.path().to_owned();
            return Err(KeeperError::AlreadyKept { path });
        }
        if folder.is_asked_to_end() {
            return Err(KeeperError::stopped_while_starting());
        }
        record.keeper = ProcessIdentity::of(own_pid());
        let mut keeper = Self {
            folder,
            phase: Phase::Serving,
            words: RotatingLog::new(folder.keeper_log(), KEEPER_LOG),
            codex_log: CodexLog::new(folder, &record),
            group: None,
            record,
        };
        if let Err(error) = setsid() {
            // Only when somebody runs us by hand as the first process of a job; we are then alone in our group already.
            keeper.say(&format!("no session of our own: {error}"));
        }
        set_child_subreaper(Some(getpid()))
            .map_err(|error| KeeperError::system("become subreaper")(error.into()))?;
        let root = Path::new("/");
        std::env::set_current_dir(root).map_err(KeeperError::file("enter", root))?;
        keeper.save()?;
        Ok(keeper)
    }

    /// Codex leads its own process group: a command below it that signals its whole group must not reach the keeper.
    fn spawn_codex(&mut self) -> Result<(ProcessIdentity, pipe::Receiver), KeeperError> {
        let socket = self.folder.socket();
        let address = format!("unix://{}", usable(&socket)?);
        let (reader, writer) = io::pipe().map_err(KeeperError::system("make a pipe"))?;
        let same_writer = writer.try_clone().map_err(KeeperError::system("make a pipe"))?;
        let mut command = Command::new(&self.record.codex_path);
        command
            .arg("app-server")
            .args(&self.record.extra_arguments)
            .args(["--listen", &address])
            .env(MARK, self.folder.id().as_str())
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(same_writer)
            .process_group(0);
        self.limit_open_files();
        self.enter_group();
        let spawned = command.spawn();
        self.leave_group();
        let child = spawned.map_err(KeeperError::file("start", &self.record.codex_path))?;
        // The command holds the writing ends; only codex and its children may.
        drop(command);
        // We reap all children ourselves, so the pid stays codex's until we have seen its end.
        let pid = i32::try_from(child.id()).unwrap_or_default();
        let codex = ProcessIdentity::of_child(pid).ok_or_else(|| {
            KeeperError::system("find codex in /proc")(io::ErrorKind::NotFound.into())
        })?;
        let output = pipe::Receiver::from_owned_fd(reader.into())
            .map_err(KeeperError::system("read codex's output"))?;
        self.record.codex = Some(codex);
        self.record.state = State::Running;
        self.say(&format!("codex runs as process {pid}"));
        self.save_or_say();
        Ok((codex, output))
    }

    /// Until codex has ended, for whatever reason.
    async fn serve(
        &mut self,
        codex: ProcessIdentity,
        mut output: pipe::Receiver,
        signals: &mut Signals,
        kept: &mut Kept<'_>,
    ) -> Exit {
        let mut buffer = vec![0; OUTPUT_BYTES];
        let mut output_open = true;
        // Held until codex has ended.
        let mut door = Door::NotYet;
        loop {
            if matches!(door, Door::NotYet) {
                door = self.hide_socket(codex);
            }
            let wake_at = self.phase.wake_at();
            // All branches are cancel-safe: signals stay pending, an unfinished read has taken nothing.
            let request = tokio::select! {
                biased;
                request = signals.next() => request,
                () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => Request::Wake,
                () = sleep(LOOK_FOR_SOCKET), if matches!(door, Door::NotYet) => continue,
                () = kept.wants_look() => {
                    self.look_at_folder(kept, &door);
                    continue;
                }
                read = output.read(&mut buffer), if output_open => {
                    let length = read.unwrap_or_default();
                    output_open = length > 0;
                    self.codex_log.append(buffer.get(..length).unwrap_or_default());
                    continue;
                }
            };
            if request == Request::Reap {
                if let Some(exit) = reap(codex.pid).of_codex {
                    self.codex_ended(exit);
                    self.drain_output(&output, &mut buffer);
                    self.codex_log.finish();
                    return exit;
                }
                continue;
            }
            let (phase, effect) = self.phase.step(request, Instant::now());
            if phase.state() != self.phase.state() {
                self.record.state = phase.state();
                self.save_or_say();
            }
            self.phase = phase;
            self.say(&format!("{request:?}: {effect:?}"));
            if let Some(effect) = effect {
                let signal = match effect {
                    Effect::TerminateCodex => Signal::TERM,
                    Effect::KillCodex => Signal::KILL,
                };
                if let Err(error) = codex.signal(signal) {
                    self.say(&format!("cannot signal codex: {error}"));
                }
            }
        }
    }

    fn look_at_folder(&mut self, kept: &mut Kept<'_>, door: &Door) {
        match kept.look(&self.record, door) {
            Looked::Whole => {}
            Looked::Restored => {
                // The old ones are files without a name.
                self.words = RotatingLog::new(self.folder.keeper_log(), KEEPER_LOG);
                self.codex_log.begin_anew(self.folder);
                self.say("the folder was deleted and is there again");
            }
            Looked::Failed(reason) => {
                self.say(&format!("the folder was deleted and cannot be made again: {reason}"));
            }
        }
    }

    /// An app-server that sandboxes can reach, or that a stranger has reached, must not be used.
    fn hide_socket(&mut self, codex: ProcessIdentity) -> Door {
        hide(&self.folder.socket()).unwrap_or_else(|error| {
            let words = format!("codex's socket cannot be hidden, so codex is ended: {error}");
            self.say(&words);
            // There whoever started us looks for the reason.
            self.codex_log.append(format!("ostler keeper: {words}\n").as_bytes());
            if let Err(error) = codex.signal(Signal::KILL) {
                self.say(&format!("cannot signal codex: {error}"));
            }
            Door::Codexes { target: None }
        })
    }

    /// What is still in the pipe. Grandchildren may hold its other end open, so there is no end of file to wait for.
    fn drain_output(&mut self, output: &pipe::Receiver, buffer: &mut [u8]) {
        // A pipe holds 1 MiB at most for an ordinary user, so 64 reads see all of what codex wrote before its end.
        for _ in 0..64 {
            match output.try_read(buffer) {
                Ok(0) | Err(_) => return,
                Ok(length) => self.codex_log.append(buffer.get(..length).unwrap_or_default()),
            }
        }
    }

    fn codex_ended(&mut self, exit: Exit) {
        self.say(&format!("codex ended: {exit}"));
        self.record.state = State::Ending;
        self.record.ended =
            Some(Ended { at: Timestamp::now(), exit, how: self.phase.how_ended(), leftovers: 0 });
        self.save_or_say();
    }

    fn never_started(&mut self, error: &KeeperError) {
        self.say(&error.to_string());
        self.record.notes.push(error.to_string());
        self.record.state = State::Ended;
        self.record.ended = Some(Ended {
            at: Timestamp::now(),
            exit: Exit::Unknown,
            how: HowEnded::NeverStarted,
            leftovers: 0,
        });
        self.remove_group();
        self.save_or_say();
    }

    /// Ends what codex left behind. All of it has come home to us, so no child left means no descendant left.
    async fn finish(&mut self, signals: &mut Signals) {
        let deadline = Instant::now() + END_DEADLINE;
        let mut leftovers = 0;
        loop {
            let reaped = reap(0);
            leftovers += reaped.others;
            if reaped.none_left {
                break;
            }
            let left: Vec<ProcessIdentity> = ProcessTable::read()
                .map(|table| {
                    table.descendants(own_pid()).iter().map(|left| left.identity).collect()
                })
                .unwrap_or_default();
            if Instant::now() >= deadline {
                let pids: Vec<i32> = left.iter().map(|left| left.pid).collect();
                let note = format!("these processes could not be ended: {pids:?}");
                self.say(&note);
                self.record.notes.push(note);
                break;
            }
            if let Some(Err(error)) = self.group.as_ref().map(|group| group::kill(group.path())) {
                self.say(&format!("cannot end the control group: {error}"));
            }
            for process in left {
                // One that cannot be signalled is still there at the deadline and is named then.
                drop(process.signal(Signal::KILL));
            }
            // Whether a child has ended or the time has passed, the loop looks again.
            drop(timeout(LOOK_AGAIN, signals.next()).await);
        }
        self.remove_group();
        if let Err(error) = self.folder.remove_socket() {
            self.say(&format!("cannot remove the socket: {error}"));
        }
        if let Some(ended) = &mut self.record.ended {
            ended.leftovers = leftovers;
        }
        self.record.state = State::Ended;
        self.say(&format!("done, {leftovers} left-over processes ended"));
        self.save_or_say();
    }

    /// Codex inherits it from us.
    fn limit_open_files(&mut self) {
        let Some(wanted) = self.record.open_files else { return };
        match open_files::limit(wanted) {
            Ok(given) if given == wanted => {}
            Ok(given) => self
                .record
                .notes
                .push(format!("{wanted} open files were asked for, the system allows {given}")),
            Err(error) => {
                self.record.notes.push(format!("the limit of open files cannot be set: {error}"));
            }
        }
    }

    fn enter_group(&mut self) {
        match ControlGroup::enter(self.folder.id()) {
            Ok(group) => {
                self.record.control_group = Some(group.path().to_owned());
                self.group = Some(group);
            }
            Err(reason) => self.record.notes.push(format!("no control group: {reason}")),
        }
    }

    fn leave_group(&mut self) {
        if let Some(Err(error)) = self.group.as_ref().map(ControlGroup::leave) {
            // Then ending the group would end the keeper too; the sweep over its children must do.
            self.record.notes.push(format!("no control group: cannot leave it: {error}"));
            self.record.control_group = None;
            self.group = None;
        }
    }

    fn remove_group(&mut self) {
        if let Some(group) = self.group.take() {
            group::remove(group.path());
        }
    }

    fn save(&self) -> Result<(), KeeperError> {
        self.record.write(self.folder)
    }

    /// A full disk must not end codex.
    fn save_or_say(&mut self) {
        if let Err(error) = self.save() {
            self.say(&error.to_string());
        }
    }

    fn say(&mut self, words: &str) {
        let line = format!("{:.3} {words}\n", Timestamp::now());
        self.words.append(line.as_bytes());
    }
}

#[derive(Debug, Default)]
struct Reaped {
    of_codex: Option<Exit>,
    others: u32,
    none_left: bool,
}

/// Reaps every child that has ended, ours and the orphans that came to us.
fn reap(codex: i32) -> Reaped {
    let mut reaped = Reaped::default();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == codex => {
                reaped.of_codex = Some(exit_of(status));
            }
            Ok(Some(_)) => reaped.others += 1,
            Ok(None) => return reaped,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => {
                reaped.none_left = true;
                return reaped;
            }
        }
    }
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

fn own_pid() -> i32 {
    Pid::as_raw(Some(getpid()))
}
