//! One thread, opened for one turn.

use std::time::Duration;

use ostler_codex::app_server::AppServer;
use ostler_codex::driver::{Driver, ThreadOptions};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{SendTicket, Thread, ThreadUpdates, TurnInput};
use ostler_model::ThreadId;
use ostler_model::thread::{IfBusy, Limits};

use super::arguments::RunArguments;
use super::login;
use super::memory::{Memory, Remembered};
use super::rights::Present;
use super::settings::{describe_approval, describe_sandbox, remember_sandbox};
use crate::conversation::shown::ThreadShown;
use crate::conversation::{Screen, Shown};
use crate::failure::{Exit, Failure};
use crate::kept::Kept;
use crate::turn::{Answers, Signs, Watch, Watched};

/// Somebody may read what we write in `less`, and nobody else waits for this driver.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// What was asked for, checked.
pub(super) struct Order {
    source: Source,
    settings: ThreadSettings,
    limits: Limits,
    if_busy: IfBusy,
    pub(super) remembered: Option<Remembered>,
    present: Present,
    /// The prompt as it is shown, and what goes to Codex.
    input: Option<(String, TurnInput)>,
}

enum Source {
    New,
    Resumed(ThreadId),
    Forked(ThreadId),
}

pub(super) struct Session {
    /// Keeps the connection.
    _driver: Driver,
    thread: Thread,
    updates: ThreadUpdates,
    ticket: Option<SendTicket>,
    answers: Answers,
}

impl Order {
    pub(super) fn new(
        arguments: &RunArguments,
        settings: ThreadSettings,
        remembered: Option<Remembered>,
        present: Present,
        input: Option<(String, TurnInput)>,
    ) -> Result<Self, Failure> {
        let id = |typed: &str| {
            let known = remembered.as_ref().map(|remembered| remembered.thread.as_str());
            ThreadId::new(known.unwrap_or(typed))
        };
        let source = match (&arguments.resume, &arguments.fork) {
            (Some(typed), _) => Source::Resumed(id(typed)),
            (None, Some(typed)) => Source::Forked(id(typed)),
            (None, None) => Source::New,
        };
        let limits = Limits {
            budget: arguments.timeout,
            on_stall: arguments.on_stall.into(),
            ..Limits::default()
        };
        let if_busy = arguments.if_busy.into();
        Ok(Self { source, settings, limits, if_busy, remembered, present, input })
    }

    /// Commands of the model find these variables empty.
    pub(super) fn hide_variables(&mut self, names: Vec<String>) {
        self.settings.hide_variables(names);
    }

    pub(super) fn is_resumed(&self) -> bool {
        matches!(self.source, Source::Resumed(_))
    }
}

impl Session {
    /// Connects, opens the thread, remembers it, and hands the prompt over.
    pub(super) async fn open(
        kept: &mut Kept,
        order: Order,
        joined: bool,
        memory: &Memory,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let driver = kept.driver().await?;
        let server = driver.server().await?;
        if !joined && order.settings.model_provider.is_none() {
            login::check(&server).await?;
        }
        let options =
            ThreadOptions { limits: order.limits, patience: PATIENCE, ..ThreadOptions::default() };
        let settings = order.settings;
        let opening = match &order.source {
            Source::New => driver.start_thread(settings.clone(), options).await,
            Source::Resumed(id) => driver.resume_thread(id, settings.clone(), options).await,
            Source::Forked(id) => driver.fork_thread(id, settings.clone(), options).await,
        };
        let (thread, updates) = opening?;
        let is_running = thread.opened().active_turn.is_some();
        if order.input.is_none() && !is_running {
            return Err(Failure::new(
                Exit::Usage,
                "no turn of the thread runs, and there is no prompt",
            )
            .hint(format!("go on with `ostler run --resume {} \"…\"`", thread.id())));
        }
        if !settings.ephemeral {
            memory.keep(&remember(
                &thread,
                &settings,
                kept,
                server.greeting().codex_home.as_deref(),
            ))?;
        }
        screen.stand_in(&settings.cwd);
        screen.show(&Shown::Thread(describe(&server, &thread, &settings, kept)).into());
        if is_running {
            screen.step("a turn runs; what it did so far is not shown".to_owned());
        }
        let answers = match order.present {
            Present::Person => Answers::person(!settings.ephemeral),
            Present::Nobody(why) => {
                if settings.approval_policy != ApprovalPolicy::Never {
                    screen.step(why.to_owned());
                }
                thread.decide_with_nobody().await;
                Answers::Nobody
            }
        };
        let ticket = match order.input {
            Some((shown, input)) => {
                screen.show(&Shown::Prompt { text: shown }.into());
                Some(thread.send(input, order.if_busy).await?)
            }
            None => None,
        };
        Ok(Self { _driver: driver, thread, updates, ticket, answers })
    }

    pub(super) fn thread_id(&self) -> ThreadId {
        self.thread.id().clone()
    }

    pub(super) async fn watch(mut self, screen: &mut Screen, signs: &mut Signs) -> Watched {
        let watch = Watch::new(&self.thread, self.ticket.as_ref(), self.answers, screen);
        watch.run(&mut self.updates, signs).await
    }
}

fn remember(
    thread: &Thread,
    settings: &ThreadSettings,
    kept: &Kept,
    codex_home: Option<&str>,
) -> Remembered {
    Remembered {
        thread: thread.id().to_string(),
        keeper: kept.keeper(),
        codex_home: codex_home.map(Into::into),
        cwd: settings.cwd.clone(),
        sandbox: remember_sandbox(&settings.sandbox),
        approval: describe_approval(&settings.approval_policy),
        model: settings.model.clone(),
        effort: settings.effort.clone(),
    }
}

fn describe(
    server: &AppServer,
    thread: &Thread,
    settings: &ThreadSettings,
    kept: &Kept,
) -> ThreadShown {
    ThreadShown {
        thread: thread.id().to_string(),
        codex: server.version().to_string(),
        keeper: kept.keeper().map(|keeper| keeper.to_string()),
        model: thread.opened().model.clone(),
        cwd: settings.cwd.clone(),
        sandbox: describe_sandbox(&settings.sandbox),
        approval: describe_approval(&settings.approval_policy),
        joined: thread.opened().active_turn.is_some(),
    }
}
