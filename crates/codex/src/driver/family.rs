//! Sub-agents: threads that Codex starts by itself. Their events and asks reach whoever opened the thread above them.
//!
//! Nothing in a sub-agent's events says whose it is, and its first ones may come before the item of the parent that
//! names it. So Codex is asked (`thread/read` says it on 0.130.0, 0.142.5 and 0.166.0), and what it said is kept until then.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use ostler_model::thread::Signal;
use ostler_model::{Ask, ThreadId};
use tokio::sync::oneshot;

use super::WireLines;
use super::actor::{Actor, Done};
use super::entry::{Entry, PendingAsk, Role, Root};
use crate::peer::Event;
use crate::protocol::request::thread_history::ThreadRead;
use crate::protocol::thread::Thread as ThreadView;
use crate::thread::{Agent, Notice, ThreadUpdate, Told, WireLine};
use crate::wire::Call;

/// Codex answers within 40 ms, and within 230 ms while it streams at full speed.
const READ_DEADLINE: Duration = Duration::from_secs(10);

/// Deeper than any nesting that Codex allows; a cycle must not hang us.
const DEEPEST: usize = 32;

/// Some seconds in all, and most of the tries at once.
fn asking_again() -> ExponentialBuilder {
    let first = ExponentialBuilder::default().with_min_delay(Duration::from_millis(20));
    first.with_max_delay(Duration::from_secs(2)).with_max_times(10)
}

impl Actor {
    /// An event of a thread that nobody opened here.
    pub(super) fn hear_unknown(&mut self, thread: ThreadId, event: Event) {
        let is_ask = matches!(event, Event::Request { .. });
        if self.disowned.contains(&thread) && !is_ask && !self.is_opening() {
            return;
        }
        self.keep_early(thread.clone(), event);
        if self.asked_about.insert(thread.clone()) {
            self.read_parent(thread);
        }
    }

    fn read_parent(&mut self, thread: ThreadId) {
        let Some(server) = self.server().cloned() else { return };
        self.spawn(async move {
            let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
            let ask = || server.call_within(&read, READ_DEADLINE);
            // A sub-agent may speak before Codex would tell of it (0.130.0).
            let answer = ask.retry(asking_again()).await;
            Done::Child(thread, answer.ok().map(|answer| Box::new(answer.thread)))
        });
    }

    pub(super) fn child_known(&mut self, thread: &ThreadId, view: Option<ThreadView>) {
        if self.threads.contains_key(thread) {
            return self.hear_early(thread);
        }
        let Some(parent) = view.as_ref().and_then(ThreadView::parent) else {
            if view.is_some() {
                self.disown(thread);
            }
            return;
        };
        let Some(root) = self.root_of(&parent) else { return };
        let Some(version) = self.server().map(|server| server.version().clone()) else { return };
        let (name, role) =
            view.map(|view| (view.agent_nickname, view.agent_role)).unwrap_or_default();
        let agent = Agent { thread: thread.clone(), name, role };
        let above = self.threads.get(&root).and_then(Entry::as_root);
        let limits = above.map(|above| above.limits.clone()).unwrap_or_default();
        self.threads.insert(thread.clone(), Entry::child(agent, parent, &limits, &version));
        let deciders = self.threads.get(&root).map(|entry| entry.machine.deciders());
        if let Some(deciders) = deciders {
            self.step(thread, Signal::Deciders(deciders));
        }
        self.hear_early(thread);
        self.ask_again_below(thread);
    }

    /// Whether somebody is about to open a thread, which may be one that we do not know.
    fn is_opening(&self) -> bool {
        Arc::strong_count(&self.opening) > 1
    }

    /// A thread that is nobody's here, left behind by an opening that was given up, perhaps because our process ends. What
    /// it asks is not for us to refuse: to Codex that is the answer, and the next one who opens the thread is never asked.
    fn disown(&mut self, thread: &ThreadId) {
        if self.is_opening() {
            // It may be the one that is being opened; its next event brings us here again.
            self.asked_about.remove(thread);
            return;
        }
        self.disowned.insert(thread.clone());
        for event in self.take_early(thread) {
            if let Event::Request { call, .. } = &event {
                let text = format!(
                    "a thread that nobody opened here asked for {}; the question waits until it is opened",
                    call.method
                );
                self.tell_all(&Told::Notice(Notice::Odd { text }));
                self.keep_early(thread.clone(), event);
            }
        }
    }

    /// A sub-agent of this sub-agent may have been asked about before we knew its parent.
    fn ask_again_below(&mut self, thread: &ThreadId) {
        let unknown = self.early.iter().map(|(speaker, _)| speaker);
        let unknown: HashSet<ThreadId> = unknown.filter(|it| *it != thread).cloned().collect();
        for speaker in unknown {
            self.read_parent(speaker);
        }
    }

    /// The thread that a caller opened, above this one or this one itself.
    pub(super) fn root_of(&self, thread: &ThreadId) -> Option<ThreadId> {
        let mut thread = thread;
        for _ in 0..DEEPEST {
            match &self.threads.get(thread)?.role {
                Role::Root(_) => return Some(thread.clone()),
                Role::Child { parent, .. } => thread = parent,
            }
        }
        None
    }

    pub(super) fn root_mut(&mut self, thread: &ThreadId) -> Option<&mut Root> {
        self.threads.get_mut(thread)?.as_root_mut()
    }

    /// A thread and all sub-agents below it.
    pub(super) fn family_of(&self, root: &ThreadId) -> Vec<ThreadId> {
        let all = self.threads.keys();
        all.filter(|thread| self.root_of(thread).as_ref() == Some(root)).cloned().collect()
    }

    /// A sub-agent spoke: the threads above it live, and wait while it waits for a person.
    pub(super) fn tell_parents(&mut self, thread: &ThreadId) {
        let mut thread = thread.clone();
        for _ in 0..DEEPEST {
            let Some(parent) = self.parent_of(&thread) else { return };
            let waiting = self.threads.iter().any(|(member, entry)| {
                self.parent_of(member).as_ref() == Some(&parent) && entry.machine.waits_for_people()
            });
            self.step(&parent, Signal::ChildSpoke { waiting });
            thread = parent;
        }
    }

    fn parent_of(&self, thread: &ThreadId) -> Option<ThreadId> {
        match &self.threads.get(thread)?.role {
            Role::Child { parent, .. } => Some(parent.clone()),
            Role::Root(_) => None,
        }
    }

    /// Tells the watcher of the thread, or of the thread above a sub-agent.
    pub(super) fn tell(&mut self, thread: &ThreadId, mut what: Told) {
        if let Told::Notice(notice) = &mut what {
            self.filter.notice(notice);
        }
        self.tell_asked(thread, what, None);
    }

    /// The same of an update whose secrets are hidden, with the ask as it is where it had some.
    pub(super) fn tell_asked(&mut self, thread: &ThreadId, what: Told, asked: Option<Box<Ask>>) {
        let Some(root) = self.root_of(thread) else { return };
        let agent = match self.threads.get(thread).map(|entry| &entry.role) {
            Some(Role::Child { agent, .. }) => Some(agent.clone()),
            _ => None,
        };
        if let Some(entry) = self.threads.get(&root).and_then(Entry::as_root) {
            let update = ThreadUpdate { thread: root, agent, what, asked };
            self.outbox.post(&entry.watcher, update);
        }
    }

    /// Tells what Codex said of a thread as it came, if its watcher wants that.
    pub(super) fn tell_line(&mut self, speaker: &ThreadId, call: &Call) {
        let root = self.root_of(speaker);
        let root = root.and_then(|root| self.threads.get(&root)).and_then(Entry::as_root);
        match root.map(|root| &root.lines) {
            Some(WireLines::Told) => {
                self.tell(speaker, Told::Wire(WireLine::new(call.line.clone())));
            }
            Some(WireLines::Overheard(lines)) => lines.tell(&call.line),
            Some(WireLines::Untold) | None => {}
        }
    }

    pub(super) fn tell_all(&mut self, what: &Told) {
        let roots = self.threads.iter().filter(|(_, entry)| entry.as_root().is_some());
        let roots: Vec<ThreadId> = roots.map(|(thread, _)| thread.clone()).collect();
        for thread in roots {
            self.tell(&thread, what.clone());
        }
    }

    /// `done` is let go when Codex has turned away as well: until then an opening could be undone.
    ///
    /// Where something runs or waits Codex is told nothing, as if we had been killed: it keeps its questions for the next one
    /// who opens the thread.
    pub(super) fn forget(&mut self, thread: &ThreadId, done: oneshot::Sender<()>) {
        let family = self.family_of(thread);
        let is_at_work = |entry: &Entry| entry.machine.is_busy() || !entry.asks.is_empty();
        let mut entries = family.iter().filter_map(|member| self.threads.get(member));
        if entries.any(is_at_work) {
            self.disowned.extend(family.iter().cloned());
        } else {
            self.unsubscribe(thread, done);
        }
        for member in &family {
            if let Some(mut entry) = self.threads.remove(member) {
                entry.asks.values_mut().for_each(PendingAsk::dismiss);
            }
            self.ask_owners.retain(|_, owner| owner != member);
            // What it said since is not for whoever opens it again.
            self.take_early(member);
            self.asked_about.remove(member);
        }
        self.outbox.forget(thread);
    }
}
