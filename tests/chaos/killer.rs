//! Kills whom it meets.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::daemon::Daemon;
use crate::random::Random;

pub(crate) struct Killer<'a> {
    daemon: &'a Daemon,
    random: Random,
    kills: u64,
    killed: [u64; 3],
}

impl<'a> Killer<'a> {
    pub(crate) fn new(daemon: &'a Daemon, random: Random, kills: u64) -> Self {
        Self { daemon, random, kills, killed: [0; 3] }
    }

    pub(crate) async fn work(&mut self) {
        while self.killed.iter().sum::<u64>() < self.kills {
            sleep(Duration::from_millis(100 + self.random.below(900))).await;
            let before = self.killed;
            match self.random.below(3) {
                0 => self.kill_daemon().await,
                1 => self.kill_below(1),
                _ => self.kill_below(2),
            }
            self.daemon.progress.send_if_modified(|(killed, _)| {
                *killed += usize::from(before != self.killed);
                before != self.killed
            });
        }
    }

    async fn kill_daemon(&mut self) {
        self.daemon.kill();
        self.daemon.gone().await;
        self.killed[0] += 1;
        sleep(Duration::from_millis(self.random.below(500))).await;
        self.daemon.start().await;
    }

    /// A keeper, or the Codex below one. If there is none, nobody is killed.
    fn kill_below(&mut self, which: usize) {
        let keepers = self.daemon.keepers();
        let records = keepers.iter().filter_map(|found| found.record.as_ref());
        let pids: Vec<i32> = records
            .filter(|record| record.ended.is_none())
            .filter_map(
                |record| if which == 1 { record.keeper.as_ref() } else { record.codex.as_ref() },
            )
            // A keeper that was killed wrote no end, and its numbers may be another's by now.
            .filter(|process| process.is_alive())
            .map(|process| process.pid)
            .collect();
        if pids.is_empty() {
            return;
        }
        let chosen = pids[self.random.below(pids.len() as u64) as usize];
        if let Some(pid) = Pid::from_raw(chosen)
            && kill_process(pid, Signal::KILL).is_ok()
        {
            self.killed[which] += 1;
        }
    }

    pub(crate) fn summary(&self) -> String {
        format!(
            "{} daemons, {} keepers, {} app-servers",
            self.killed[0], self.killed[1], self.killed[2]
        )
    }
}
