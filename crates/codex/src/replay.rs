//! Plays a recording of a connection through the code that drives threads, without a Codex.
//!
//! What Codex said goes through the same translation, machine and projection as it did then; what we said takes the
//! place of the effects. So a recorded incident gives the same messages again, and becomes a test.

mod ours;

use std::collections::BTreeMap;
use std::io::BufRead;

use bytes::Bytes;
use jiff::Zoned;
use jiff::tz::TimeZone;
use ostler_model::thread::{Echo, Effect, Limits, Machine, Said, Signal, Update, What};
use ostler_model::{AskId, Message, Moment, ThreadId, TurnId, TurnResult};
use serde::Serialize;

use crate::driver::hear::{Context, ask_id, said};
use crate::driver::messages::TurnMessages;
use crate::protocol::{CodexVersion, ask, parse_notification, parse_server_request};
use crate::wire::{self, Call, RequestId};
use crate::wire_log::{Entry, ReadError, Recording, Said as Recorded, Side};
use ours::Request;

/// What a recording holds.
#[derive(Debug, Default, Serialize)]
pub struct Replayed {
    /// In the order in which they began, those of sub-agents among them.
    pub turns: Vec<ReplayedTurn>,
    /// Everything that was told, in order.
    #[serde(skip)]
    pub updates: Vec<(ThreadId, Update)>,
    /// Asks that nobody had answered when the recording ended.
    pub open_asks: Vec<AskId>,
}

#[derive(Debug, Serialize)]
pub struct ReplayedTurn {
    pub thread: ThreadId,
    pub turn: TurnId,
    /// None if the recording ends before the turn does.
    pub result: Option<TurnResult>,
    pub messages: Vec<Message>,
}

/// Plays a recording to its end.
pub fn replay<R: BufRead>(recording: Recording<R>) -> Result<Replayed, ReadError> {
    let version = recording.header().and_then(|header| header.codex_version.clone());
    let version = version.and_then(|version| CodexVersion::parse(&version));
    let mut player = Player { version, ..Player::default() };
    for entry in recording {
        player.play(entry?);
    }
    Ok(player.finish())
}

/// Everything that is known at one line of a recording.
#[derive(Default)]
struct Player {
    version: Option<CodexVersion>,
    threads: BTreeMap<ThreadId, Played>,
    /// Requests of ours that wait for their answer.
    requests: BTreeMap<RequestId, Request>,
    /// Codex's requests that wait for ours.
    asked: BTreeMap<RequestId, (ThreadId, Call)>,
    replayed: Replayed,
}

struct Played {
    machine: Machine,
    messages: TurnMessages,
    /// Where the turn stands that runs.
    turn: Option<usize>,
}

impl Player {
    fn play(&mut self, entry: Entry) {
        let now = Moment::from_ms(entry.at_ms);
        self.tick_until(now);
        // What is no JSON was left alone then, too.
        let Recorded::Json(line) = entry.said else { return };
        let line = Bytes::copy_from_slice(line.get().as_bytes());
        let Ok(message) = wire::read_message(&line) else { return };
        match (entry.from, message) {
            (Side::Codex, wire::Message::Notification(call)) => {
                let notification = parse_notification(&call.method, call.params_json());
                // The time of the recording is not known, so times in messages are not read.
                let unknown = || Zoned::new(jiff::Timestamp::UNIX_EPOCH, TimeZone::UTC);
                let context = Context { epoch: 1, limits: None, now: &unknown, home: None };
                if let Some((thread, said)) = said(&notification, &context) {
                    self.step(now, &thread, Signal::Codex(said));
                }
            }
            (Side::Codex, wire::Message::Request { id, call }) => self.asked(now, id, call),
            (Side::Codex, wire::Message::Reply(reply)) => {
                if let Some(request) = self.requests.remove(&reply.id) {
                    self.answered(now, request, reply);
                }
            }
            (Side::Us, wire::Message::Request { id, call }) => self.requested(now, id, &call),
            (Side::Us, wire::Message::Reply(reply)) => self.decided(now, reply),
            (Side::Us, wire::Message::Notification(_)) => {}
        }
    }

    fn asked(&mut self, now: Moment, id: RequestId, call: Call) {
        let content = ask::ask(&parse_server_request(&call.method, call.params_json()));
        let Some(thread) = content.thread.clone() else { return };
        let turn = content.turn.clone();
        let what = What::Asked { ask: ask_id(1, &id), content: Box::new(content) };
        self.asked.insert(id, (thread.clone(), call));
        self.step(now, &thread, Signal::Codex(Said { turn, what }));
    }

    fn step(&mut self, now: Moment, thread: &ThreadId, signal: Signal) {
        let echo = self.echo();
        let played = self.threads.entry(thread.clone()).or_insert_with(|| Played {
            machine: Machine::new(Limits::default(), echo),
            messages: TurnMessages::default(),
            turn: None,
        });
        if let Signal::Send { input, kind, .. } = &signal {
            played.messages.sent(input.clone(), ours::text(kind));
        }
        for effect in played.machine.step(now, signal) {
            if let Effect::Tell(update) = effect {
                played.tell(thread, &update, &mut self.replayed.turns);
                self.replayed.updates.push((thread.clone(), update));
            }
        }
    }

    /// Lets time pass as it did then.
    fn tick_until(&mut self, now: Moment) {
        let threads: Vec<ThreadId> = self.threads.keys().cloned().collect();
        for thread in threads {
            let due = |player: &Self| player.threads.get(&thread)?.machine.wake_at();
            while let Some(at) = due(self).filter(|at| *at <= now) {
                self.step(at, &thread, Signal::Tick);
                if due(self) == Some(at) {
                    break;
                }
            }
        }
    }

    /// A version that is not known may be one that echoes no ids.
    fn echo(&self) -> Echo {
        self.version.as_ref().map_or(Echo::TextOnly, crate::driver::echo)
    }

    fn finish(mut self) -> Replayed {
        // A turn that has ended and only waits for the ends of its commands is over.
        let threads: Vec<ThreadId> = self.threads.keys().cloned().collect();
        for thread in threads {
            let machine = self.threads.get(&thread).map(|played| &played.machine);
            let ending = machine.filter(|machine| machine.is_settling());
            if let Some(at) = ending.and_then(Machine::wake_at) {
                self.step(at, &thread, Signal::Tick);
            }
        }
        for mut played in self.threads.into_values() {
            self.replayed.open_asks.extend(played.machine.open_asks().cloned());
            if let Some(turn) = played.turn.and_then(|at| self.replayed.turns.get_mut(at)) {
                turn.messages = played.messages.take();
            }
        }
        self.replayed
    }
}

impl Played {
    fn tell(&mut self, thread: &ThreadId, update: &Update, turns: &mut Vec<ReplayedTurn>) {
        let messages = self.messages.note(update);
        match update {
            Update::TurnBegan { turn } => {
                self.turn = Some(turns.len());
                let (thread, turn) = (thread.clone(), turn.clone());
                turns.push(ReplayedTurn { thread, turn, result: None, messages: Vec::new() });
            }
            Update::TurnEnded { result } => {
                if let Some(turn) = self.turn.take().and_then(|at| turns.get_mut(at)) {
                    turn.messages = messages.unwrap_or_default();
                    turn.result = Some((**result).clone());
                }
            }
            _ => {}
        }
    }
}
