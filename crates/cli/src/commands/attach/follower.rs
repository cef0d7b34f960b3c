//! Whoever follows a task: reads its log, shows it, and passes on what the person answers.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use ostler_model::task::AskRecord;
use ostler_model::{AskId, Event, Task};
use ostler_server::api::{AnswerRequest, Line, TaskDetail};
use ostler_server::client::{ClientError, Lines};

use crate::asking::Memory;
use crate::conversation::shown::ThreadShown;
use crate::conversation::{Extent, Line as ShownLine, Screen, Shown};
use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::running::Interruption;
use crate::tasks::log::{self, Growing};
use crate::tasks::{Desk, ending, time, words};
use crate::terminal::Output;
use crate::turn::{Answers, Asked, Heard, Sign, Signs};

/// After this long without a word a moving line shows that somebody is at work.
const QUIET: Duration = Duration::from_millis(400);

/// Where to begin, and what for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) history: History,
    pub(crate) presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    After(u64),
    LastTurn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Also answers.
    Answers,
    /// Until the task is over.
    Follows,
    /// To the end of what is there.
    Reads,
}

impl Default for Manner {
    fn default() -> Self {
        Self { history: History::LastTurn, presence: Presence::Answers }
    }
}

pub(super) async fn run(
    task: &str,
    manner: Manner,
    reach: &ReachArguments,
    output: Output,
) -> Result<ExitCode, Failure> {
    let mut interruption = Interruption::listen()?;
    let mut signs = Signs::listen()?;
    let mut desk = interruption.or(Desk::open(output, reach)).await?;
    let task = interruption.or(desk.task(task)).await?;
    let answers = match manner.presence {
        Presence::Answers if io::stdin().is_terminal() && Screen::new(output).is_seen() => {
            Answers::person(true)
        }
        _ => Answers::Nobody,
    };
    let mut follower = Follower {
        desk,
        task,
        manner,
        screen: Screen::new(output),
        asked: Asked::new(answers, Memory::Rule),
        growing: Growing::default(),
        after: match manner.history {
            History::After(seq) => seq,
            History::LastTurn => 0,
        },
        held: None,
        now: None,
    };
    if manner.history == History::LastTurn {
        follower.held = Some(Vec::new());
    }
    let end = follower.follow(&mut signs).await;
    follower.screen.end_line();
    follower.conclude(end?)
}

/// How the following came to its end.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The task is over, or the end of the log is reached.
    Over,
    Left(Sign),
    /// A question waits for them.
    Later,
}

struct Follower<'a> {
    desk: Desk<'a>,
    task: Task,
    manner: Manner,
    screen: Screen,
    asked: Asked,
    growing: Growing,
    /// The newest event that was heard.
    after: u64,
    /// Of the last turn so far, while older turns may still come before the present is reached.
    held: Option<Vec<ShownLine>>,
    /// How the task stood when the log was opened, until that point of the log is reached.
    now: Option<Box<TaskDetail>>,
}

impl Follower<'_> {
    async fn follow(&mut self, signs: &mut Signs) -> Result<End, Failure> {
        let mut lines = self.open().await?;
        let mut breaks = 0;
        loop {
            let next = tokio::select! {
                biased;
                sign = signs.next() => return Ok(End::Left(sign)),
                next = lines.next::<Line>() => next,
                line = self.asked.line() => {
                    // Whoever types no more has gone, which is no answer.
                    let Some(line) = line else { return Ok(End::Later) };
                    match self.asked.typed(Some(line), &mut self.screen) {
                        Heard::Nothing => {}
                        Heard::Later => return Ok(End::Later),
                        Heard::Decided(ask, decided) => {
                            let answer = AnswerRequest {
                                decision: decided.decision,
                                reason: decided.reason,
                                remember: None,
                                surface: Some("terminal".to_owned()),
                            };
                            self.answer(&ask, &answer).await;
                        }
                    }
                    continue;
                }
                () = tokio::time::sleep(QUIET), if self.is_at_work() => {
                    self.screen.move_on();
                    continue;
                }
            };
            match next {
                Ok(Some(line)) => {
                    breaks = 0;
                    if self.heard(line).await? {
                        return Ok(End::Over);
                    }
                }
                Ok(None) if self.manner.presence == Presence::Reads => return Ok(End::Over),
                ended => {
                    breaks += 1;
                    lines = self.open_again(ended.err(), breaks).await?;
                }
            }
        }
    }

    async fn open(&self) -> Result<Lines, Failure> {
        let follow = self.manner.presence != Presence::Reads;
        let path =
            format!("/v1/tasks/{}/events?after={}&follow={follow}", self.task.id, self.after);
        self.desk.lines(&path).await
    }

    /// The daemon has ended, or was replaced. The task goes on, and so do we.
    async fn open_again(
        &mut self,
        error: Option<ClientError>,
        breaks: u32,
    ) -> Result<Lines, Failure> {
        tracing::debug!(?error, "the daemon is gone");
        self.screen.step("the daemon has gone; looking for it".to_owned());
        self.desk.after_a_break(breaks).await?;
        self.open().await
    }

    /// Whether this was the last.
    async fn heard(&mut self, line: Line) -> Result<bool, Failure> {
        if self.is_raw() {
            self.desk.output.emit(&line);
        }
        match line {
            Line::Now(detail) => {
                self.task = detail.task.clone();
                if self.after == 0 {
                    self.introduce(&detail.task);
                }
                let is_reached = detail.task.last_seq <= self.after;
                self.now = Some(detail);
                if is_reached {
                    return self.reached_present().await;
                }
            }
            Line::Event { seq, event, .. } => {
                self.after = seq;
                self.event(&event);
                if self.now.as_ref().is_some_and(|now| seq >= now.task.last_seq) {
                    return self.reached_present().await;
                }
                if let Event::State { to, .. } = &*event {
                    self.task.state = *to;
                }
                // Its last receipt may come behind its end.
                let may_end = matches!(&*event, Event::State { .. } | Event::IntentMoved { .. });
                if may_end && self.now.is_none() && self.task.state.is_over() {
                    return self.is_over().await;
                }
            }
            Line::Grown(partial) => {
                let line = self.growing.piece(&partial);
                self.show(line);
            }
            Line::Partials { partials } => self.partials(&partials),
            Line::Gap { to, .. } => self.after = to,
            // Not asked for.
            Line::Viewers { .. } | Line::Wire { .. } | Line::WireLost { .. } => {}
        }
        Ok(false)
    }

    fn event(&mut self, event: &Event) {
        let is_past = self.now.is_some();
        if let Event::AskDecided { ask, .. } | Event::AskClosed { ask, .. } = event {
            self.asked.closed(ask, &mut self.screen);
        }
        if let Some(line) = log::line(event) {
            // The last turn begins with what was sent last.
            if matches!(line.shown, Shown::Prompt { .. })
                && let Some(held) = &mut self.held
            {
                held.clear();
            }
            self.show(line);
        }
        match event {
            Event::AskOpened { ask, content, .. } if !is_past => {
                // Nobody here decides without a person.
                drop(self.asked.opened(ask, content, &mut self.screen));
            }
            Event::AskDecided { .. } | Event::AskClosed { .. } if !is_past => {
                self.asked.put_next(&mut self.screen);
            }
            _ => {}
        }
    }

    /// What comes from here on happens now.
    async fn reached_present(&mut self) -> Result<bool, Failure> {
        for line in self.held.take().unwrap_or_default() {
            self.show(line);
        }
        let Some(now) = self.now.take() else { return Ok(false) };
        self.partials(&now.partials);
        for ask in &now.asks {
            drop(self.asked.opened(&ask.id, &ask.content, &mut self.screen));
        }
        if self.manner.presence == Presence::Reads {
            return Ok(true);
        }
        match now.task.state.is_over() && now.intents.is_empty() {
            true => self.is_over().await,
            false => Ok(false),
        }
    }

    /// A task that is over and has nothing left to do. One that was sent more goes on.
    async fn is_over(&mut self) -> Result<bool, Failure> {
        let detail = self.desk.detail(self.task.id.as_str()).await?;
        self.task = detail.task;
        Ok(self.task.state.is_over() && detail.intents.is_empty())
    }

    fn partials(&mut self, partials: &[ostler_model::task::Partial]) {
        for partial in partials {
            if let Some(line) = self.growing.whole(partial) {
                self.show(line);
            }
        }
    }

    fn show(&mut self, line: ShownLine) {
        if self.is_raw() {
            return;
        }
        match &mut self.held {
            Some(held) => held.push(line),
            None => {
                self.screen.show(&line);
                self.show_past_ask(&line);
            }
        }
    }

    /// A question that is over is shown as one; those that are open are put to the person in their time.
    fn show_past_ask(&mut self, line: &ShownLine) {
        let Shown::Ask(ask) = &line.shown else { return };
        let is_open = |now: &TaskDetail| now.asks.iter().any(|open| open.id.as_str() == ask.id);
        if self.now.as_ref().is_some_and(|now| !is_open(now)) {
            self.screen.put(ask, Extent::Cut);
        }
    }

    /// Programs that read a log get the log itself.
    fn is_raw(&self) -> bool {
        self.screen.is_json() && self.manner.presence != Presence::Answers
    }

    fn is_at_work(&self) -> bool {
        self.now.is_none() && self.task.state.is_at_work()
    }

    async fn answer(&mut self, ask: &AskId, answer: &AnswerRequest) {
        let path = format!("/v1/asks/{ask}/answer");
        if let Err(failure) = self.desk.post::<AskRecord>(&path, answer).await {
            self.screen.warn_person(&failure.message);
            // If it is still open it is asked again; if somebody was first, the log says so.
            self.asked.refused(ask, &mut self.screen);
        }
    }

    fn introduce(&mut self, task: &Task) {
        let settings = &task.settings;
        self.screen.stand_in(&settings.cwd);
        let codex = task.codex_version.clone().or_else(|| settings.codex.version.clone());
        let shown = Shown::Thread(ThreadShown {
            thread: task.thread.as_ref().map(ToString::to_string).unwrap_or_default(),
            codex: codex.unwrap_or_default(),
            keeper: task.keeper.clone(),
            model: settings.model.clone(),
            cwd: settings.cwd.clone(),
            sandbox: words::sandbox(&settings.sandbox),
            approval: words::approval(settings.approval).to_owned(),
            joined: task.state.is_at_work(),
        });
        if !self.is_raw() {
            self.screen.show(&shown.into());
        }
    }

    fn conclude(mut self, end: End) -> Result<ExitCode, Failure> {
        let task = self.task.id.clone();
        if self.manner.presence == Presence::Reads {
            return Ok(ExitCode::SUCCESS);
        }
        let mut result = ending::result(&self.task, time::now());
        let again = format!("come back: ostler attach {task}");
        let exit = match end {
            End::Over => result.exit,
            End::Left(sign) => {
                "left; the task goes on without you".clone_into(&mut result.text);
                "detached".clone_into(&mut result.status);
                let exit = if sign == Sign::CtrlC { Exit::CtrlC } else { Exit::Interrupted };
                exit as u8
            }
            End::Later => {
                "left; the question waits for you".clone_into(&mut result.text);
                "detached".clone_into(&mut result.status);
                Exit::WaitingOnPerson as u8
            }
        };
        result.exit = exit;
        result.ok = exit == 0;
        if self.is_raw() {
            return Ok(ExitCode::from(exit));
        }
        self.screen.show(&Shown::Result(Box::new(result)).into());
        match end {
            End::Over => self.screen.afterword(format!("go on: ostler send {task} \"…\"")),
            _ => self.screen.afterword(again),
        }
        Ok(ExitCode::from(exit))
    }
}
