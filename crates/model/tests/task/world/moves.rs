//! What can happen next.

use ostler_model::task::machine::{AskedOf, MayContinue, Signal};
use ostler_model::task::{IntentState, TaskState};
use ostler_model::thread::{IfBusy, Update};
use ostler_model::{AskId, Failure, FailureClass, Interrupter, TurnEnd};

use super::{Kill, Place, Wish, World};

impl World {
    pub(super) fn random_move(&mut self, choice: u8) {
        let more = self.choices.next().unwrap_or(0);
        match choice % 32 {
            0..=1 => self.send(IfBusy::Queue),
            2 if more.is_multiple_of(2) => self.send(IfBusy::SteerOnly),
            2 => self.send(IfBusy::Steer),
            3 => self.send(IfBusy::Interrupt),
            4 => self.send(IfBusy::Fail),
            5 => self.interrupt(),
            6..=7 => self.serve_line(),
            8..=9 => self.open(),
            10 => self.fail_to_open(more),
            11 => self.lose_thread(more),
            12..=14 => self.begin(more),
            15 => self.thread.take_steer(),
            16 if more.is_multiple_of(3) => self.give_back_all(more),
            16 if more.is_multiple_of(2) => self.thread.refuse(FailureClass::Overload),
            16 => self.thread.refuse(FailureClass::BadRequest),
            17 => self.thread.work(u64::from(more)),
            18 => self.thread.end(TurnEnd::Completed, 1),
            19 => {
                let by = Interrupter::Codex;
                self.thread.end(TurnEnd::Interrupted { by }, 0);
            }
            20 if more.is_multiple_of(3) => self.thread.die_and_forget(),
            20 => self.thread.fail(FailureClass::ServerGone, u32::from(more % 2)),
            21 => self.reach_limit(more),
            22 if more.is_multiple_of(3) => {
                self.thread.fail(FailureClass::Network, u32::from(more % 2));
            }
            22 if more.is_multiple_of(4) => self.step(Signal::LoginChanged),
            22 => self.thread.fail(FailureClass::Auth, 0),
            23..=26 if more.is_multiple_of(3) => self.look(more),
            23..=26 => self.tell(),
            27 => self.ask_or_answer(more),
            28 => self.answer_continue(more),
            29 => self.pass_time(i64::from(more) * 100),
            30 => self.kill(more),
            _ => self.unload(),
        }
    }

    /// What happens if nothing goes wrong any more and people are there. False if there is nothing left to happen.
    pub(super) fn orderly_move(&mut self) -> bool {
        if self.is_opening {
            self.open();
        } else if self.place == Place::InLine {
            self.serve_line();
        } else if self.looked_for.is_some() {
            self.look(1);
        } else if self.thread.has_untold() && self.thread.is_open() {
            self.tell();
        } else if self.thread.is_open() && self.thread.turn().is_some() {
            self.thread.end_in_order();
        } else if self.thread.is_open() && self.thread.has_inputs() {
            self.thread.begin();
        } else if self.stored.continue_ask {
            self.answer_continue(0);
        } else if let Some(at) = self.machine.wake_at() {
            self.now = self.now.max(at);
            self.step(Signal::Tick);
        } else {
            return false;
        }
        true
    }

    fn send(&mut self, if_busy: IfBusy) {
        let intent = self.add(Wish::Send(if_busy));
        self.step(Signal::Submit { intent, if_busy });
    }

    fn interrupt(&mut self) {
        let intent = self.add(Wish::Interrupt);
        self.step(Signal::Interrupt { intent, by: "ana".to_owned() });
    }

    fn serve_line(&mut self) {
        if self.place == Place::InLine {
            self.place = Place::Running;
            let want = self.machine.wants();
            self.step(Signal::Placed { want });
        }
    }

    fn open(&mut self) {
        if !self.is_opening {
            return;
        }
        self.is_opening = false;
        let sent = self.stored.intents.iter().filter(|record| {
            matches!(record.state, IntentState::Sent { .. }) && record.wish != Wish::Interrupt
        });
        let sent = sent.map(|record| record.id.clone()).collect();
        self.thread.open(sent);
        self.step(Signal::Opened);
    }

    fn fail_to_open(&mut self, more: u8) {
        let passing = [FailureClass::ServerGone, FailureClass::NoCodex, FailureClass::Busy];
        if self.is_opening
            && let Some(class) = passing.get(usize::from(more % 8))
        {
            self.is_opening = false;
            let failure = Failure::new(class.clone(), "not now");
            return self.step(Signal::OpenFailed { failure });
        }
        // The thread of this world is not there any more after that, so it must be written.
        if !self.is_opening || more % 8 != 4 || self.kill == Kill::BeforeWriting {
            return;
        }
        self.is_opening = false;
        self.thread.lose_all();
        let failure = Failure::new(FailureClass::BadRequest, "no");
        self.step(Signal::OpenFailed { failure });
    }

    /// The thread is looked through, or cannot be.
    fn look(&mut self, more: u8) {
        let Some(inputs) = self.looked_for.take() else { return };
        if more.is_multiple_of(9) {
            self.thread.disconnect();
            let failure = Failure::new(FailureClass::ServerGone, "it died");
            self.step(Signal::LookFailed { failure });
            if !self.is_opening {
                self.step(Signal::ThreadLost);
            }
            return;
        }
        let missing = inputs.into_iter().filter(|intent| !self.thread.holds(intent)).collect();
        self.step(Signal::Looked { missing });
    }

    fn lose_thread(&mut self, more: u8) {
        if self.thread.is_open() && more.is_multiple_of(2) {
            self.thread.disconnect();
            self.looked_for = None;
            self.step(Signal::ThreadLost);
        }
    }

    /// The thread gives back what is not proven.
    fn give_back_all(&mut self, more: u8) {
        if self.thread.is_open() {
            self.thread.give_back_all(more.is_multiple_of(2));
        }
    }

    /// Codex seldom begins by itself.
    fn begin(&mut self, more: u8) {
        if self.thread.has_inputs() || more.is_multiple_of(16) {
            self.thread.begin();
        }
    }

    fn reach_limit(&mut self, more: u8) {
        let class = match more % 3 {
            0 => FailureClass::UsageLimit { resets_at: Some(self.now / 1000 + i64::from(more)) },
            1 => FailureClass::RateLimit { retry_after_ms: Some(u64::from(more)) },
            _ => FailureClass::RateLimit { retry_after_ms: None },
        };
        self.thread.fail(class, u32::from(more / 128));
    }

    fn tell(&mut self) {
        let Some(update) = self.thread.tell() else { return };
        let has_ended = matches!(update, Update::TurnEnded { .. });
        let was_parked = self.stored.task.state == TaskState::Parked;
        match update {
            Update::InputRefused { may_have_run: true, .. } => self.hear_given_back(update),
            _ => self.step(Signal::Told(Box::new(update))),
        }
        let is_waiting = self.stored.task.wake_at.is_some();
        self.stored.limits += u32::from(!was_parked && is_waiting);
        if has_ended {
            for ask in std::mem::take(&mut self.stored.asks).into_keys() {
                self.step(Signal::AskGone { ask });
            }
        }
    }

    /// The thread is of no use any more.
    fn hear_given_back(&mut self, update: Update) {
        if self.kill == Kill::BeforeWriting {
            return self.restart();
        }
        self.thread.disconnect();
        self.looked_for = None;
        self.step(Signal::Told(Box::new(update)));
        if !self.is_opening && !self.thread.is_open() {
            self.looked_for = None;
            self.step(Signal::ThreadLost);
        }
    }

    fn ask_or_answer(&mut self, more: u8) {
        let open = self.stored.asks.keys().next().cloned();
        match open {
            Some(ask) if more.is_multiple_of(2) => {
                self.stored.asks.remove(&ask);
                self.step(Signal::AskGone { ask });
            }
            _ if self.machine.task().turn.is_some() => {
                let ask = AskId::new(format!("q{more}"));
                let of =
                    if more.is_multiple_of(3) { AskedOf::UserInput } else { AskedOf::Approval };
                self.stored.asks.insert(ask.clone(), of);
                self.step(Signal::Asked { ask, of });
            }
            _ => {}
        }
    }

    fn answer_continue(&mut self, more: u8) {
        if !self.stored.continue_ask {
            return;
        }
        let answer = if more % 4 == 3 { MayContinue::No } else { MayContinue::Yes };
        self.step(Signal::MayContinue { answer, by: "ana".to_owned() });
    }

    fn pass_time(&mut self, ms: i64) {
        self.now += ms;
        self.step(Signal::Tick);
    }

    fn kill(&mut self, more: u8) {
        match more % 3 {
            0 => self.restart(),
            1 => self.kill = Kill::BeforeWriting,
            _ => self.kill = Kill::BeforeDoing,
        }
    }

    /// A task that is at rest need not be loaded.
    fn unload(&mut self) {
        if self.machine.is_at_rest() && !self.thread.has_untold() {
            self.looked_for = None;
            self.thread.disconnect();
            self.machine.unloaded();
        }
    }
}
