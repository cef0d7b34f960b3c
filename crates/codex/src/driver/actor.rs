//! The one loop: select, step, effects.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ostler_model::thread::{GiveFailure, Said, ServerWanted, Signal, What};
use ostler_model::{AskId, Failure, FailureClass, InputId, Moment, ThreadId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::command::{Adopt, Adopted, Arrival, Command, Connected};
use super::connector::{ConnectError, Connection, Connector};
use super::entry::Entry;
use super::open_again::Reopened;
use super::outbox::{Delivery, Outbox};
use super::piece::Piece;
use super::sandboxing::HeardAsk;
use super::{DriverSettings, WireLines};
use crate::account::TokenSource;
use crate::app_server::AppServer;
use crate::peer::{Event, Events, Heard};
use crate::protocol::limits::RateLimits;
use crate::protocol::thread::Thread as ThreadView;
use crate::secrets::Filter;
use crate::thread::{Decided, Notice, Told};

/// Events of threads that nobody has adopted yet: a thread may speak before the answer to its opening is looked at, and
/// a sub-agent before we know whose it is. Both take milliseconds, in which Codex sends some hundred events at most.
const EARLY_EVENTS: usize = 8192;

/// Events that are heard before anything else is looked at. Like the peer's frames they come in bursts.
const HEARD_AT_ONCE: usize = 256;

pub(super) struct Actor {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) tokens: Option<Arc<dyn TokenSource>>,
    pub(super) time_zone: TimeZone,
    commands: mpsc::Receiver<Command>,
    pub(super) link: Link,
    /// Counts connections, because request ids begin anew on each.
    pub(super) epoch: u64,
    pub(super) threads: HashMap<ThreadId, Entry>,
    /// Which thread an ask came from.
    pub(super) ask_owners: HashMap<AskId, ThreadId>,
    /// Questions for commands of which is looked up where these would run, and their threads.
    pub(super) looked_up: HashMap<AskId, ThreadId>,
    pub(super) outbox: Outbox,
    /// Everything that runs beside the loop; each ends with something to do.
    pub(super) running: JoinSet<Done>,
    /// Threads that wait for a connection to be opened again in.
    pub(super) reopening: Vec<(ThreadId, ServerWanted)>,
    /// Callers that wait for a connection.
    pub(super) callers: Vec<oneshot::Sender<Result<Connected, ConnectError>>>,
    /// Inputs that could not be written because the connection is gone, while its end is still to be told.
    pub(super) unsent: Vec<(ThreadId, InputId)>,
    /// Held by everybody who is about to open a thread.
    pub(super) opening: Arc<()>,
    /// The last limits of the account that said something.
    pub(super) limits: Option<RateLimits>,
    pub(super) early: VecDeque<(ThreadId, Event)>,
    /// Text that more may be added to before its thread's machine hears of it. None between two looks at everything else.
    pub(super) piece: Option<Piece>,
    /// Threads whose work goes on under another id.
    pub(super) renamed: HashMap<ThreadId, ThreadId>,
    /// Threads of which Codex has been asked whose they are.
    pub(super) asked_about: HashSet<ThreadId>,
    /// Threads that Codex tells us of and nobody here wants to hear of.
    pub(super) disowned: HashSet<ThreadId>,
    /// Takes secrets out of all that is told.
    pub(super) filter: Filter,
    started: Instant,
}

/// The connection.
#[expect(clippy::large_enum_variant, reason = "there is one per driver")]
pub(super) enum Link {
    Up { server: AppServer, events: Events },
    Connecting,
    Down,
}

/// Something that ran beside the loop has ended.
#[derive(Debug)]
pub(super) enum Done {
    Signal(ThreadId, Signal),
    /// Codex has what goes before this input, on this connection; then what became of the input itself.
    Given(ThreadId, u64, InputId, Box<Signal>),
    Connected(ServerWanted, Box<Result<Connection, ConnectError>>),
    /// With the connection it was opened on.
    Reopened(ThreadId, u64, Box<Result<Reopened, Failure>>),
    Decided(ThreadId, AskId, Result<Decided, String>),
    LookedUp(Box<HeardAsk>),
    /// Something to warn everybody of.
    Notice(Option<String>),
    /// What Codex says of a thread that it started by itself.
    Child(ThreadId, Option<Box<ThreadView>>),
    Nothing,
}

/// Everything that can wake the loop.
enum Input {
    Command(Option<Command>),
    Event(Option<Heard>),
    Done(Done),
    Delivered(Delivery),
    Tick,
}

impl Actor {
    pub(super) fn new(
        connector: Arc<dyn Connector>,
        connection: Connection,
        settings: DriverSettings,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        let Connection { server, events } = connection;
        let filter = Filter::new(connector.secrets());
        Self {
            connector,
            tokens: settings.tokens,
            time_zone: settings.time_zone,
            commands,
            link: Link::Up { server, events },
            epoch: 1,
            threads: HashMap::new(),
            ask_owners: HashMap::new(),
            looked_up: HashMap::new(),
            outbox: Outbox::default(),
            running: JoinSet::new(),
            reopening: Vec::new(),
            callers: Vec::new(),
            unsent: Vec::new(),
            opening: Arc::new(()),
            limits: None,
            early: VecDeque::new(),
            piece: None,
            renamed: HashMap::new(),
            asked_about: HashSet::new(),
            disowned: HashSet::new(),
            filter,
            started: Instant::now(),
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            match self.next().await {
                Input::Command(None) => break,
                Input::Command(Some(command)) => self.command(command),
                Input::Event(Some(event)) => self.hear_burst(event),
                Input::Event(None) => self.lose_link("the connection ended"),
                Input::Done(done) => self.done(done),
                Input::Delivered(delivery) => self.delivered(delivery),
                Input::Tick => self.tick(),
            }
        }
        if let Link::Up { events, .. } = self.link {
            events.close().await;
        }
        self.running.shutdown().await;
    }

    /// Hears an event, and those that came with it, until a watcher is behind.
    fn hear_burst(&mut self, first: Heard) {
        self.hear_next(first);
        for _ in 1..HEARD_AT_ONCE {
            let next = match &mut self.link {
                Link::Up { events, .. } if self.outbox.is_empty() => events.try_next_heard(),
                _ => None,
            };
            match next {
                Some(heard) => self.hear_next(heard),
                None => break,
            }
        }
        self.hear_piece();
    }

    async fn next(&mut self) -> Input {
        let wake_at = self.wake_at();
        let holds_back = !self.outbox.is_empty();
        let events = async {
            match &mut self.link {
                Link::Up { events, .. } if !holds_back => events.next_heard().await,
                _ => std::future::pending().await,
            }
        };
        let wake = async {
            match wake_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            command = self.commands.recv() => Input::Command(command),
            Some(done) = self.running.join_next() => Input::Done(done.unwrap_or_else(|error| {
                // What is cancelled is no longer needed. Nothing else of ours panics, and no caller's work can.
                if !error.is_cancelled() {
                    tracing::error!(%error, "work beside the driver failed");
                }
                Done::Nothing
            })),
            delivery = self.outbox.deliver(), if holds_back => Input::Delivered(delivery),
            () = wake => Input::Tick,
            event = events => Input::Event(event),
        }
    }

    pub(super) fn server(&self) -> Option<&AppServer> {
        match &self.link {
            Link::Up { server, .. } => Some(server),
            Link::Connecting | Link::Down => None,
        }
    }

    /// Runs something beside the loop.
    pub(super) fn spawn(
        &mut self,
        work: impl Future<Output = Done> + Send + 'static,
    ) -> AbortHandle {
        self.running.spawn(work)
    }

    /// Takes one step of a thread's machine and performs what it wants.
    pub(super) fn step(&mut self, thread: &ThreadId, signal: Signal) {
        let now = self.now();
        let Some(entry) = self.threads.get_mut(thread) else { return };
        let effects = entry.machine.step(now, signal);
        for effect in effects {
            self.perform(thread, effect);
        }
        if let Some(entry) = self.threads.get_mut(thread)
            && !entry.machine.is_busy()
            && let Some(root) = entry.as_root_mut()
        {
            root.note_end();
        }
    }

    fn command(&mut self, mut command: Command) {
        if let Some(thread) = command.thread_mut()
            && let Some(now) = self.renamed.get(thread)
        {
            *thread = now.clone();
        }
        match command {
            Command::Connect { connected } => self.connect_caller(connected),
            Command::Adopt(adopt) => self.adopt(*adopt),
            Command::Send { thread, input, content, if_busy, outcome } => {
                let Some(root) = self.root_mut(&thread) else {
                    let message = "the thread is no longer driven";
                    let failure = Failure::new(FailureClass::ServerGone, message);
                    return drop(outcome.send(Err(failure)));
                };
                let kind = content.kind();
                root.send(input.clone(), *content);
                root.waiters.insert(input.clone(), outcome);
                self.step(&thread, Signal::Send { input, kind, if_busy });
            }
            Command::Interrupt { thread, by, idle } => {
                if let Some(root) = self.root_mut(&thread) {
                    root.idle_waiters.push(idle);
                }
                self.step(&thread, Signal::Interrupt { by });
            }
            Command::Decide { thread, ask, decided } => self.decide(&thread, ask, decided),
            Command::Deciders { thread, deciders, decider } => {
                if let Some(root) = self.root_mut(&thread) {
                    root.decider = decider;
                }
                for member in self.family_of(&thread) {
                    self.dismiss_decider(&member);
                    self.step(&member, Signal::Deciders(deciders));
                }
            }
            Command::ChangeSettings { thread, settings } => {
                if let Some(root) = self.root_mut(&thread) {
                    root.settings = *settings;
                }
            }
            Command::Forget { thread, done } => self.forget(&thread, done),
        }
    }

    fn adopt(&mut self, adopt: Adopt) {
        let (thread, turn) = (adopt.known_as().clone(), adopt.opened.active_turn.clone());
        let (epoch, version) = (adopt.on.epoch, adopt.on.server.version().clone());
        let is_current = epoch == self.epoch && matches!(self.link, Link::Up { .. });
        if let WireLines::Overheard(lines) = &adopt.options.lines {
            lines.know(self.filter.secrets());
        }
        // From now on its stderr is that of another conversation, too.
        self.threads.values_mut().for_each(|entry| entry.stderr.is_shared = true);
        let (entry, arrival, adopted) = Entry::root(adopt);
        if self.threads.contains_key(&thread) {
            // Two handles of one thread would each believe to be alone; the one that is there stays.
            return drop(adopted.send(Adopted::Twice));
        }
        self.threads.insert(thread.clone(), entry);
        self.disowned.remove(&thread);
        drop(adopted.send(Adopted::Now));
        if let Arrival::Rejoined(rejoined) = arrival {
            return self.rejoined(epoch, &version, *rejoined);
        }
        if !is_current {
            let reason = "the connection ended while the thread was opened".to_owned();
            return self.step(&thread, Signal::Closed { reason });
        }
        if turn.is_some() {
            self.step(&thread, Signal::Codex(Said { turn, what: What::TurnStarted }));
        }
        self.hear_early(&thread);
    }

    /// The id under which the work of a thread goes on.
    pub(super) fn now_called(&self, thread: ThreadId) -> ThreadId {
        self.renamed.get(&thread).cloned().unwrap_or(thread)
    }

    /// Hears what a thread said before we knew it.
    pub(super) fn hear_early(&mut self, thread: &ThreadId) {
        for event in self.take_early(thread) {
            self.hear(event);
        }
        self.hear_piece();
    }

    pub(super) fn take_early(&mut self, thread: &ThreadId) -> Vec<Event> {
        let early = std::mem::take(&mut self.early).into_iter();
        let (ours, others): (VecDeque<_>, _) = early.partition(|(speaker, _)| speaker == thread);
        self.early = others;
        ours.into_iter().map(|(_, event)| event).collect()
    }

    /// Keeps what a thread said before it was adopted.
    pub(super) fn keep_early(&mut self, thread: ThreadId, event: Event) {
        if self.early.len() == EARLY_EVENTS {
            tracing::warn!(%thread, "too many events of threads that nobody opened; the oldest is dropped");
            self.early.pop_front();
        }
        self.early.push_back((thread, event));
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Signal(thread, Signal::GiveFailed { input, why: GiveFailure::NotSent }) => {
                self.not_sent(thread, input);
            }
            Done::Signal(thread, signal) => {
                let thread = self.now_called(thread);
                self.step(&thread, signal);
            }
            Done::Given(thread, epoch, input, signal) => {
                let root = self.root_mut(&thread);
                if let Some(root) = root.filter(|root| root.inputs.contains_key(&input)) {
                    root.confirmed.add(thread.clone(), epoch, input);
                }
                self.done(Done::Signal(thread, *signal));
            }
            Done::Connected(wanted, connected) => self.connected(wanted, *connected),
            Done::Reopened(thread, epoch, reopened) => {
                self.thread_reopened(&thread, epoch, *reopened);
            }
            Done::Child(thread, view) => self.child_known(&thread, view.map(|view| *view)),
            Done::Decided(thread, ask, decided) => self.decider_decided(&thread, ask, decided),
            Done::LookedUp(heard) => self.ask_looked_up(*heard),
            Done::Notice(Some(text)) => self.tell_all(&Told::Notice(Notice::Warning { text })),
            Done::Notice(None) | Done::Nothing => {}
        }
    }

    fn delivered(&mut self, delivery: Delivery) {
        if let Delivery::Overdue(thread) = delivery {
            tracing::warn!(%thread, "nobody reads the updates; the thread goes on unwatched");
            self.outbox.forget(&thread);
            if let Some(root) = self.root_mut(&thread) {
                root.watcher.let_go(&thread);
            }
        }
        if self.outbox.is_empty() {
            // We did not listen meanwhile, so the silence of the threads means nothing.
            let threads: Vec<ThreadId> = self.threads.keys().cloned().collect();
            for thread in threads {
                self.step(&thread, Signal::Listening);
            }
        }
    }

    fn tick(&mut self) {
        let now = self.now();
        let due = self
            .threads
            .iter()
            .filter(|(_, entry)| self.wake_of(entry).is_some_and(|at| at <= now));
        let due: Vec<ThreadId> = due.map(|(thread, _)| thread.clone()).collect();
        for thread in due {
            self.step(&thread, Signal::Tick);
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let at = self.threads.values().filter_map(|entry| self.wake_of(entry)).min()?;
        Some(self.started + Duration::from_millis(at.as_ms()))
    }

    /// While we do not listen to Codex, only turns that shall end are looked after.
    fn wake_of(&self, entry: &Entry) -> Option<Moment> {
        let listens = self.outbox.is_empty() || entry.machine.is_stopping();
        entry.machine.wake_at().filter(|_| listens)
    }

    pub(super) fn now(&self) -> Moment {
        let ms = self.started.elapsed().as_millis();
        Moment::from_ms(u64::try_from(ms).unwrap_or(u64::MAX))
    }
}
