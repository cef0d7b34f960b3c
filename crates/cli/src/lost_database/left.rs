//! What is left of tasks whose database is gone: app-servers that still run, worktrees, and Codex's own files of threads.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ostler_codex::keeper::{self, Condition};
use ostler_codex::rollout::newest;
use ostler_config::Config;
use ostler_engine::noted_worktrees;

use crate::places::Places;

/// Of each kind; the rest is counted, or found where the first ones lie. The whole must fit into what a failed start shows.
const MOST: usize = 4;

pub(super) fn lines(places: &Places, config: &Config) -> Vec<String> {
    let mut homes: BTreeSet<PathBuf> = config.codex.home.iter().cloned().collect();
    homes.extend(places.default_codex_home());
    let mut lines = Vec::new();
    let found = keeper::list(&places.keepers()).unwrap_or_default();
    let lives = |found: &&keeper::Found| {
        matches!(found.condition, Condition::Running | Condition::KeeperDead | Condition::Starting)
    };
    let running: Vec<_> = found.iter().filter(lives).collect();
    homes.extend(running.iter().filter_map(|found| found.record.as_ref()?.codex_home.clone()));
    for found in running.iter().take(MOST) {
        let record = found.record.as_ref();
        let version = record.and_then(|record| record.codex_version.clone()).unwrap_or_default();
        lines.push(format!("still runs: app-server {} (Codex {version})", found.id()));
    }
    more(&mut lines, running.len(), "app-servers: `ostler keeper list`");
    if !running.is_empty() {
        lines.push("a daemon without its tasks ends them when they are idle".to_owned());
    }
    let worktrees = noted_worktrees(&config.worktree.folder);
    for (task, worktree) in worktrees.iter().take(MOST) {
        lines.push(format!("worktree of task {task}: {}", worktree.path));
    }
    let folder = format!("worktrees in {}", config.worktree.folder.display());
    more(&mut lines, worktrees.len(), &folder);
    for home in homes {
        let threads = newest(&home, MOST + 1);
        let home = home.display();
        for thread in threads.iter().take(MOST) {
            let cwd = thread.cwd.as_deref().unwrap_or("an unknown folder");
            let id = &thread.thread;
            lines.push(format!("thread in {cwd}: `CODEX_HOME={home} codex resume {id}`"));
        }
        if threads.len() > MOST {
            lines.push(format!("and older threads below {home}/sessions"));
        }
    }
    if lines.is_empty() {
        lines.push("nothing is left: no app-server, no worktree and no thread of Codex".to_owned());
    }
    lines
}

fn more(lines: &mut Vec<String>, found: usize, what: &str) {
    if let more @ 1.. = found.saturating_sub(MOST) {
        lines.push(format!("and {more} more {what}"));
    }
}
