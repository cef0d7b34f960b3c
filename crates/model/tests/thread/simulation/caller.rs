//! People, other clients, and the course of things.

use ostler_model::thread::{Deciders, IfBusy, InputKind, Signal};
use ostler_model::{Decision, InputId};

use super::codex::Version;
use super::driver::{Sent, World};

/// More than any story needs; one that takes longer goes in circles.
const PATIENCE: u32 = 2_000;

impl World {
    /// Plays the whole story, then lets everything come to rest.
    pub(crate) fn play(&mut self) {
        while !self.choices.are_used_up() {
            let ms = [1, 1, 20, 700, 9_000, 16_000, 130_000];
            match self.choices.pick(25) {
                0..=8 => drop(self.carry()),
                9..=12 => self.work(),
                13..=16 => self.send(),
                17 => self.feed(Signal::Interrupt { by: "person".into() }),
                18 => self.decide(),
                19 => self.change_deciders(),
                20 => self.others(),
                21 => self.break_connection(),
                22 => self.restart(),
                _ => {
                    let at = usize::from(self.choices.pick(7));
                    self.wait(ms.get(at).copied().unwrap_or(1));
                }
            }
            self.wait(1);
        }
        self.rest();
    }

    fn rest(&mut self) {
        self.feed(Signal::Deciders(Deciders::Present));
        for _ in 0..PATIENCE {
            if let Some(running) = &mut self.codex.running {
                running.hangs = false;
            }
            if self.carry() {
                continue;
            }
            if !self.put.is_empty() {
                self.decide();
                continue;
            }
            if self.codex.running.is_some() {
                self.resolve_forgotten();
                self.work();
                continue;
            }
            let Some(at) = self.machine.wake_at() else { break };
            self.wait(at.as_ms().saturating_sub(self.now));
        }
        assert!(self.is_quiet(), "goes in circles");
        assert!(!self.machine.is_busy(), "waits for ever");
        assert_eq!(self.machine.wake_at(), None, "wants to be woken for nothing");
        self.log.at_rest(&self.codex.truth);
    }

    fn work(&mut self) {
        self.codex.work(&mut self.choices);
        self.listen();
    }

    /// Asks that nobody of ours holds any more are answered by another client.
    fn resolve_forgotten(&mut self) {
        let open: Vec<_> = self.machine.open_asks().cloned().collect();
        let asks = self.codex.running.iter().flat_map(|running| running.asks.keys().cloned());
        let asks: Vec<_> = asks.filter(|ask| !open.contains(ask)).collect();
        for ask in asks {
            self.codex.resolve(&ask, false);
        }
        self.listen();
    }

    fn send(&mut self) {
        let input = InputId::new(self.codex.name("input"));
        // Where Codex keeps no ids of ours, the same words twice cannot be told apart by anybody.
        let text = match self.codex.version {
            Version::V130 => format!("text of {input}"),
            _ => "go on".into(),
        };
        let is_message = !self.choices.one_in(10);
        let kind = if is_message { InputKind::Message { text } } else { InputKind::Order };
        let if_busy = match self.choices.pick(4) {
            1 => IfBusy::Steer,
            2 => IfBusy::Interrupt,
            3 => IfBusy::Fail,
            _ => IfBusy::Queue,
        };
        self.inputs.insert(input.clone(), kind.clone());
        self.sent.push(Sent { input: input.clone(), if_busy, at: self.told.len() });
        self.log.sent(&input, is_message);
        self.feed(Signal::Send { input, kind, if_busy });
    }

    fn decide(&mut self) {
        let Some(ask) = self.put.pop() else { return };
        let by = "person".to_owned();
        let signal = match self.choices.pick(6) {
            1 => Signal::Decide { ask, decision: Decision::Deny, by },
            2 => Signal::Decide { ask, decision: Decision::Cancel, by },
            3 => Signal::DeciderFailed { ask, reason: "went away".into() },
            4 => {
                // Not offered: the ask stays where it is.
                let decision = Decision::Session;
                self.put.push(ask.clone());
                Signal::Decide { ask, decision, by }
            }
            _ => Signal::Decide { ask, decision: Decision::Once, by },
        };
        // A decision that is not taken leaves the ask with whoever has it.
        if let Signal::Decide { ask, .. } | Signal::DeciderFailed { ask, .. } = &signal {
            let ask = ask.clone();
            self.feed(signal);
            if self.machine.open_asks().any(|open| *open == ask)
                && self.machine.waits_for_people()
                && !self.put.contains(&ask)
            {
                self.put.push(ask);
            }
        }
    }

    fn change_deciders(&mut self) {
        let deciders = match self.choices.pick(3) {
            1 => Deciders::Awaited,
            2 => Deciders::Nobody,
            _ => Deciders::Present,
        };
        self.feed(Signal::Deciders(deciders));
    }

    /// Other clients, goals, and what else Codex does by itself.
    fn others(&mut self) {
        let is_idle = self.codex.running.is_none() && self.codex.is_loaded;
        match self.choices.pick(5) {
            1 if is_idle => {
                self.codex.begin(vec![(None, "of another client".into())]);
            }
            2 if is_idle => self.codex.is_loaded = false,
            3 => self.feed(Signal::ChildSpoke { waiting: false }),
            4 => {
                let ask = self.codex.running.as_ref().and_then(|it| it.asks.keys().next().cloned());
                if let Some(ask) = ask {
                    self.codex.resolve(&ask, false);
                }
            }
            _ if is_idle => {
                self.codex.begin(Vec::new());
            }
            _ => {}
        }
        self.listen();
    }
}
