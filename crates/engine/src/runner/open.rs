//! Opening the thread of a task: a new one, or the one that it had, with all that we know of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_codex::driver::{Messages, ThreadOptions, WireLines};
use ostler_codex::folder_trust::{self, Ignored, Look, Trust};
use ostler_codex::start_fault::StartFault;
use ostler_codex::thread::open::OpenError;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{Notice, Recalled, Thread, ThreadUpdates};
use ostler_model::task::machine::Signal;
use ostler_model::task::{ForkedFrom, Intent, IntentState, Wish};
use ostler_model::thread::Update;
use ostler_model::{AskKind, Event, Failure, FailureClass, GoalChange, Interrupter, ItemId, Task};

use ostler_store::StoreError;

use super::missing::{check_folder, check_writable, no_thread};
use super::model_choice;
use super::recall::recall;
use super::{Runner, Stage, Work};
use crate::pool::{AtWork, Seat, class_of};
use crate::shared::{Shared, now};
use crate::translate;

/// The loop always reads; only a disk that is full for long could hold it up.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// An app-server that dies while a thread is opened in it is replaced, so often.
const TRIES: u32 = 3;

/// Before the second try; doubled each time. After the last the task itself waits, and says so.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Opened {
    seat: Seat,
    thread: Thread,
    updates: ThreadUpdates,
    /// Folders whose own settings the thread does not use.
    ignored: Vec<Ignored>,
    /// Folders that were trusted before the opening of the thread, and not, or with other content, after it.
    changed: Vec<PathBuf>,
    /// What git runs because only the repository names it: settings and command lines.
    git_programs: Vec<(String, String)>,
}

impl Runner {
    pub(super) fn open(&mut self) {
        let shared = self.shared.clone();
        let task = self.machine.task().clone();
        let mut inputs: Vec<Intent> = self.intents.values().cloned().collect();
        inputs.retain(|intent| matches!(intent.state, IntentState::Sent { .. }));
        inputs.sort_by(|one, other| (one.at, one.id.as_str()).cmp(&(other.at, other.id.as_str())));
        let interrupted_by = self.intents.values().find(|intent| intent.wish == Wish::Interrupt);
        let interrupted_by =
            interrupted_by.map(|intent| Interrupter::Caller { name: intent.by.clone() });
        self.is_opening = true;
        self.works.spawn(async move {
            let opened = open_somewhere(&shared, &task, &inputs, interrupted_by).await;
            Work::Opened(Box::new(opened))
        });
    }

    pub(super) fn opened(&mut self, opened: Result<Opened, Failure>) {
        self.is_opening = false;
        match opened {
            Ok(Opened { seat, thread, updates, ignored, changed, git_programs }) => {
                let keeper = seat.keeper();
                let task = self.machine.task_mut();
                let is_new = task.thread.is_none();
                task.thread = Some(thread.id().clone());
                model_choice::note_usual(task, thread.opened());
                task.keeper.clone_from(&keeper);
                task.codex_version = Some(seat.version());
                let placed = Event::Placed {
                    keeper: keeper.unwrap_or_default(),
                    codex_version: seat.version(),
                    thread: thread.id().clone(),
                };
                self.log.event(now(), placed);
                for ignored in ignored.iter().filter(|_| is_new) {
                    self.hear_notice(None, &not_trusted(ignored));
                }
                for folder in &changed {
                    self.hear_notice(None, &has_changed(folder));
                }
                for (setting, program) in git_programs.iter().filter(|_| is_new) {
                    self.hear_notice(None, &run_by_git(setting, program));
                }
                self.note_task();
                self.stage = Some(Stage { thread, updates, seat });
                self.step(Signal::Opened);
            }
            Err(failure) => self.step(Signal::OpenFailed { failure }),
        }
    }
}

async fn open_somewhere(
    shared: &Shared,
    task: &Task,
    inputs: &[Intent],
    interrupted_by: Option<Interrupter>,
) -> Result<Opened, Failure> {
    check_folder(task)?;
    check_writable(&shared.live().allowed.homes, task)?;
    let mut tries = 1;
    loop {
        let at_work = match task.turn.is_some() || !inputs.is_empty() {
            true => AtWork::Yes,
            false => AtWork::No,
        };
        let before = task.keeper.as_deref();
        let seat = shared.pool.seat(&task.id, &task.settings, before, at_work).await;
        let opened = match seat {
            Ok(mut seat) => {
                let writable = shared.live().allowed.homes.all_writable(&task.settings);
                seat.belongs_to(task.id.clone(), writable);
                open_in(shared, seat, task, inputs, interrupted_by.clone()).await
            }
            Err(failure) => Err(failure),
        };
        match opened {
            Err(failure) if failure.class == FailureClass::ServerGone && tries < TRIES => {
                tracing::warn!(task = %task.id, reason = %failure.message, tries, "a thread is opened again");
                tokio::time::sleep(FIRST_PAUSE * (1 << (tries - 1))).await;
                tries += 1;
            }
            opened => return opened,
        }
    }
}

async fn open_in(
    shared: &Shared,
    seat: Seat,
    task: &Task,
    inputs: &[Intent],
    interrupted_by: Option<Interrupter>,
) -> Result<Opened, Failure> {
    let bad = |message: String| Failure::new(FailureClass::BadRequest, message);
    let live = shared.live();
    let cwd = Path::new(&task.settings.cwd);
    let trust = trust_now(shared, task).await?;
    let look = Look { cwd, trust: trust.as_ref(), codex_home: Some(seat.home()) };
    let ignored = look.ignored();
    let as_judged = look.trusted();
    let git_programs = shared.on_disk.programs_in(look.cwd).await;
    let settings =
        translate::thread_settings(&task.settings).map_err(|error| bad(error.to_string()))?;
    let mut settings = ThreadSettings { trust: trust.clone(), ..settings };
    settings.hide_variables(shared.pool.hidden_variables(&seat));
    live.allowed.homes.narrow(&mut settings.sandbox);
    let mut options = ThreadOptions {
        limits: translate::limits(&task.settings),
        patience: PATIENCE,
        // They are made from what is stored, and would only fill memory in a long turn.
        messages: Messages::Left,
        lines: WireLines::Overheard(shared.hub.lines(&task.id)),
        handlers: shared.tool_calls.handlers(&task.id, &task.settings.tools, HashSet::new()),
    };
    let driver = seat.driver();
    let opening = match (&task.thread, &task.forked_from) {
        (None, None) => driver.start_thread(settings, options).await,
        (None, Some(ForkedFrom { thread, turn: None, .. })) => {
            driver.fork_thread(thread, settings, options).await
        }
        (None, Some(ForkedFrom { thread, turn: Some(turn), .. })) => {
            driver.fork_thread_at(thread, turn.clone(), settings, options).await
        }
        (Some(thread), _) => {
            if task.tally.goal_stops {
                // Codex starts a turn as soon as it has the thread again.
                let paused = driver.change_goal(thread, &GoalChange::Pause).await;
                if let Err(failure) = paused {
                    if failure.class == FailureClass::ServerGone {
                        return Err(failure);
                    }
                    tracing::warn!(task = %task.id, reason = %failure.message, "the goal of a task that was over is not paused");
                }
            }
            let recalled = recall(&shared.store, task, inputs, interrupted_by).await;
            let recalled = recalled.map_err(|error| unread(&error))?;
            let begun = calls_in(&recalled);
            options.handlers = shared.tool_calls.handlers(&task.id, &task.settings.tools, begun);
            driver.rejoin_thread(thread, settings, options, recalled).await
        }
    };
    let (thread, updates) = opening.map_err(|error| match (&error, &task.thread) {
        (OpenError::NotFound { thread }, Some(_)) => no_thread(task, thread),
        _ => failure(&error),
    })?;
    // Codex has read the settings of the folders somewhere in between, and another task may have begun.
    let trust = trust_now(shared, task).await?;
    let as_read = Look { cwd, trust: trust.as_ref(), codex_home: Some(seat.home()) }.trusted();
    let changed =
        as_judged.into_iter().filter(|(folder, as_judged)| as_read.get(folder) != Some(as_judged));
    let changed = changed.map(|(folder, _)| folder).collect();
    Ok(Opened { seat, thread, updates, ignored, changed, git_programs })
}

/// What is trusted while other tasks are at work as they are.
async fn trust_now(shared: &Shared, task: &Task) -> Result<Option<Trust>, Failure> {
    let live = shared.live();
    let Some(file) = live.trust.clone() else { return Ok(None) };
    let mut others = shared.pool.writable_by_others(&task.id);
    let at_work = shared.store.at_work().await.map_err(|error| unread(&error))?;
    let strangers = at_work.iter().filter(|other| other.id != task.id);
    others.extend(strangers.flat_map(|other| live.allowed.homes.all_writable(&other.settings)));
    others.sort();
    others.dedup();
    Ok(Some(Trust { file, others }))
}

fn has_changed(folder: &Path) -> Notice {
    let text = format!(
        "{} changed, or another task that may change it began, while Codex opened the thread: Codex may have started programs \
         that nobody trusted; look at it with `ostler trust {}`",
        folder.join(folder_trust::PROJECT_FOLDER).display(),
        folder.display()
    );
    Notice::Warning { text }
}

fn not_trusted(ignored: &Ignored) -> Notice {
    let Ignored { folder, has_changed, .. } = ignored;
    if let Some(by) = &ignored.written_by_others {
        let text = format!(
            "another task may write in {}, and so could put programs into {} while Codex opens this thread: its settings and its \
             AGENTS.md are not used; start the task again when the other one is over, or let them work in one and the same \
             folder",
            by.display(),
            folder.join(folder_trust::PROJECT_FOLDER).display()
        );
        return Notice::Warning { text };
    }
    let why = if *has_changed { "has changed since it was trusted" } else { "is not trusted" };
    let (own, folder) = (folder.join(folder_trust::PROJECT_FOLDER), folder.display());
    let text = format!(
        "{} {why}: its settings are not used and its programs are not started; `ostler trust {folder}` shows them and trusts \
         the folder",
        own.display()
    );
    Notice::Warning { text }
}

fn run_by_git(setting: &str, program: &str) -> Notice {
    let text = format!(
        "the repository's own configuration has git run `{program}` ({setting}), and Codex calls `git status` here at every turn, outside of its \
         sandbox; if this is not from you, end the task and remove the setting"
    );
    Notice::Warning { text }
}

/// Calls of tools that were begun before: whoever took one may have run it.
fn calls_in(recalled: &Recalled) -> HashSet<ItemId> {
    let agents = recalled.agents.iter().map(|agent| &agent.turn);
    let told = recalled.turn.iter().chain(agents).flat_map(|turn| &turn.told);
    let call = |update: &Update| match update {
        Update::AskOpened { content, .. } => match &content.kind {
            AskKind::ToolCall(call) => Some(call.call.clone()),
            _ => None,
        },
        _ => None,
    };
    told.filter_map(call).collect()
}

/// What cannot be read now may be readable in a moment; its turn may run all the while.
fn unread(error: &StoreError) -> Failure {
    let class = match error.is_passing() {
        true => FailureClass::ServerGone,
        false => FailureClass::BadRequest,
    };
    Failure::new(class, format!("what is known of the thread cannot be read: {error}"))
}

fn failure(error: &OpenError) -> Failure {
    Failure::new(class_of(StartFault::of_open(error)), error.to_string())
}
