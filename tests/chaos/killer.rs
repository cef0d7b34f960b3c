//! Brings the faults of a storm about, in the order that its seed draws, and counts only those that have hit.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ostler_codex::keeper::ProcessIdentity;
use ostler_model::task::{Awaited, Cause};
use ostler_scripted_model::Outcome;
use ostler_testkit::Stage;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};

use crate::codex::CodexPackage;
use crate::daemon::Daemon;
use crate::fault::Fault;
use crate::random::Random;

/// Tasks under way ask the model every few hundred milliseconds.
const REFUSED_WITHIN: Duration = Duration::from_secs(5);

/// Until Codex has told that it cannot reach the model.
const MISSED_WITHIN: Duration = Duration::from_secs(10);

/// Codex gives up after a second or two; without any connection newer ones than 0.142.5 wait by themselves.
const OUTAGE_MS: u64 = 5_000;

pub(crate) struct Killer<'a> {
    daemon: &'a Daemon,
    stage: &'a Stage,
    codex: CodexPackage,
    random: Random,
    faults: Vec<Fault>,
    wanted: u64,
    hits: BTreeMap<Fault, u64>,
    /// Being brought about.
    under_way: Option<Fault>,
    /// How far that is.
    step: &'static str,
    logins: u64,
}

impl<'a> Killer<'a> {
    pub(crate) fn new(
        daemon: &'a Daemon,
        stage: &'a Stage,
        codex: CodexPackage,
        random: Random,
        faults: Vec<Fault>,
        wanted: u64,
    ) -> Self {
        let hits = BTreeMap::new();
        let (under_way, step) = (None, "");
        Self { daemon, stage, codex, random, faults, wanted, hits, under_way, step, logins: 0 }
    }

    /// Goes on until as many faults have hit as are wanted.
    pub(crate) async fn work(&mut self) {
        while self.hits() < self.wanted {
            sleep(Duration::from_millis(100 + self.random.below(900))).await;
            let drawn = self.random.below(self.faults.len() as u64) as usize;
            let fault = self.faults[drawn];
            (self.under_way, self.step) = (Some(fault), "");
            if self.bring_about(fault).await {
                self.count(fault);
            }
            self.under_way = None;
            if self.codex.probe_was_killed() {
                self.count(Fault::KillProbe);
            }
        }
    }

    fn count(&mut self, fault: Fault) {
        *self.hits.entry(fault).or_default() += 1;
        self.daemon.progress.send_modify(|(hits, _)| *hits += 1);
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
            Fault::UpgradeCodex => {
                self.codex.upgrade(self.hits(), self.wanted);
                true
            }
            Fault::KillProbe => {
                // It hits when somebody looks.
                self.codex.arm_probe();
                false
            }
            // Nobody asks the model when all tasks are over.
            Fault::ChangeLogin | Fault::ModelOutage if self.is_idle().await => false,
            Fault::ChangeLogin => self.change_login().await,
            Fault::ModelOutage => self.model_outage().await,
        }
    }

    async fn is_idle(&self) -> bool {
        let tasks = self.daemon.tasks().await.unwrap_or_default();
        tasks.iter().all(|task| task.state.is_over())
    }

    fn hits(&self) -> u64 {
        self.hits.values().sum()
    }

    /// Somebody is refused before there is another login.
    async fn change_login(&mut self) -> bool {
        self.logins += 1;
        let key = format!("sk-{}", self.logins);
        let before = self.stage.model().requests_seen();
        self.stage.model().demand_key(&key);
        let has_hit = self.is_refused(before, 401).await;
        log_in(self.stage, &key);
        has_hit
    }

    async fn model_outage(&mut self) -> bool {
        const STATUSES: [u16; 4] = [500, 502, 503, 529];
        let drawn = self.random.below(STATUSES.len() as u64 + 1) as usize;
        let model = self.stage.model();
        let Some(status) = STATUSES.get(drawn) else {
            // The model does not see those that find no connection.
            self.step = "who cannot reach the model";
            let before = self.cannot_reach_model().await;
            self.step = "refusing connections";
            model.refuse_connections().await.unwrap();
            self.step = "until a task misses the model";
            let has_hit = timeout(MISSED_WITHIN, self.until_another_misses(&before)).await.is_ok();
            self.step = "the outage";
            sleep(Duration::from_millis(self.random.below(OUTAGE_MS))).await;
            self.step = "accepting connections";
            model.accept_connections().await.unwrap();
            return has_hit;
        };
        let before = model.requests_seen();
        model.begin_outage(*status);
        let has_hit = self.is_refused(before, *status).await;
        sleep(Duration::from_millis(self.random.below(OUTAGE_MS))).await;
        self.stage.model().end_outage();
        has_hit
    }

    /// Whether a request that came after this one got this status.
    async fn is_refused(&self, before: u64, status: u16) -> bool {
        let refused = self.stage.model().wait_until(REFUSED_WITHIN, |records| {
            let mut new = records.iter().rev().take_while(|record| record.number > before);
            new.any(|record| record.outcome == Outcome::Refused(status))
        });
        refused.await.is_ok()
    }

    async fn until_another_misses(&self, before: &BTreeSet<String>) {
        while self.cannot_reach_model().await.is_subset(before) {
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Which tasks cannot reach the model, and by which try: Codex goes on trying, or has given up.
    async fn cannot_reach_model(&self) -> BTreeSet<String> {
        let tasks = self.daemon.tasks().await.unwrap_or_default();
        let tries = tasks.iter().filter_map(|task| {
            let running = task.tally.running.as_ref();
            match (&task.cause, running.and_then(|running| running.retrying.as_ref())) {
                (Cause::Waiting { on: Awaited::Model, until, .. }, _) => {
                    Some(format!("{} {until:?}", task.id))
                }
                (_, Some(retrying)) => Some(format!("{} {}", task.id, retrying.since)),
                _ => None,
            }
        });
        tries.collect()
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

    /// For whoever looks at a failure.
    pub(crate) fn describe(&self) -> String {
        let Self { hits, wanted, under_way, step, .. } = self;
        format!("{hits:?} of {wanted} faults; under way: {under_way:?} {step}")
    }

    /// The versions that Codex has had.
    pub(crate) fn versions(&self) -> &[String] {
        self.codex.had()
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

/// The login of this key, from one moment to the next.
pub(crate) fn log_in(stage: &Stage, key: &str) {
    let login = format!(r#"{{"auth_mode":"apikey","OPENAI_API_KEY":"{key}"}}"#);
    let file = stage.codex_home().join("auth.json");
    let new = file.with_extension("new");
    std::fs::write(&new, login).unwrap();
    std::fs::rename(&new, &file).unwrap();
}

/// Whether the process was there to get the signal.
fn send(process: ProcessIdentity, signal: Signal) -> bool {
    let pid = Pid::from_raw(process.pid).filter(|_| process.is_alive());
    pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
}
