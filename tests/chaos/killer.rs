//! Brings the faults of a storm about, in the order that its seed draws, and counts only those that have hit.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_codex::keeper::ProcessIdentity;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::daemon::Daemon;
use crate::fault::Fault;
use crate::random::Random;

pub(crate) struct Killer<'a> {
    daemon: &'a Daemon,
    random: Random,
    faults: Vec<Fault>,
    wanted: u64,
    hits: BTreeMap<Fault, u64>,
}

impl<'a> Killer<'a> {
    pub(crate) fn new(daemon: &'a Daemon, random: Random, faults: Vec<Fault>, wanted: u64) -> Self {
        Self { daemon, random, faults, wanted, hits: BTreeMap::new() }
    }

    /// Goes on until as many faults have hit as are wanted.
    pub(crate) async fn work(&mut self) {
        while self.hits.values().sum::<u64>() < self.wanted {
            sleep(Duration::from_millis(100 + self.random.below(900))).await;
            let drawn = self.random.below(self.faults.len() as u64) as usize;
            let fault = self.faults[drawn];
            if !self.bring_about(fault).await {
                continue;
            }
            *self.hits.entry(fault).or_default() += 1;
            self.daemon.progress.send_modify(|(hits, _)| *hits += 1);
        }
    }

    /// Whether it has hit: a process that was not there, or was gone before the signal, does not count.
    async fn bring_about(&mut self, fault: Fault) -> bool {
        match fault {
            Fault::KillDaemon => self.end_daemon(Signal::KILL).await,
            Fault::StopDaemon => self.end_daemon(Signal::TERM).await,
            Fault::KillKeeper | Fault::KillAppServer => {
                let Some(process) = self.draw(fault) else { return false };
                send(process, Signal::KILL)
            }
            Fault::FreezeKeeper | Fault::FreezeAppServer => {
                let Some(process) = self.draw(fault) else { return false };
                let has_hit = send(process, Signal::STOP);
                sleep(Duration::from_millis(self.random.below(4_000))).await;
                send(process, Signal::CONT);
                has_hit
            }
            Fault::RemoveRuntimeFolder => {
                let has_hit = std::fs::remove_dir_all(self.daemon.home().join("run")).is_ok();
                self.daemon.reachable().await;
                has_hit
            }
        }
    }

    async fn end_daemon(&mut self, signal: Signal) -> bool {
        let has_hit = self.daemon.send(signal);
        self.daemon.gone().await;
        sleep(Duration::from_millis(self.random.below(500))).await;
        self.daemon.start().await;
        has_hit
    }

    /// A keeper that lives, or a Codex below one.
    fn draw(&mut self, fault: Fault) -> Option<ProcessIdentity> {
        let keepers = self.daemon.keepers();
        let records = keepers.iter().filter_map(|found| found.record.as_ref());
        let processes: Vec<ProcessIdentity> = records
            .filter(|record| record.ended.is_none())
            .filter_map(|record| match fault {
                Fault::KillKeeper | Fault::FreezeKeeper => record.keeper,
                _ => record.codex,
            })
            // A keeper that was killed wrote no end, and its numbers may be another's by now.
            .filter(|process| process.is_alive())
            .collect();
        if processes.is_empty() {
            return None;
        }
        let drawn = self.random.below(processes.len() as u64) as usize;
        processes.into_iter().nth(drawn)
    }

    /// How often each fault has hit. Every one that was wanted has.
    pub(crate) fn summary(&self) -> String {
        for fault in &self.faults {
            assert!(self.hits.contains_key(fault), "{fault} has never hit: {:?}", self.hits);
        }
        let hits = self.hits.iter().map(|(fault, times)| format!("{times} × {fault}"));
        hits.collect::<Vec<_>>().join(", ")
    }
}

/// Whether the process was there to get the signal.
fn send(process: ProcessIdentity, signal: Signal) -> bool {
    let pid = Pid::from_raw(process.pid).filter(|_| process.is_alive());
    pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
}
