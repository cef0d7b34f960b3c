//! How much a task has used, and where it stops to ask.

use super::Machine;
use super::signal::Effect;
use crate::task::{Budget, Edge};
use crate::turn::Interrupter;

/// Who ends a turn at an edge.
const BUDGET: &str = "the budget";

/// A turn that is silent for long has its time noted so often, in milliseconds: as much may be missing after a crash of ours.
const NOTE_TIME: u64 = 60_000;

impl Machine {
    /// Each part whose edge is reached grows by what it was at the start.
    pub(super) fn extend_budget(&mut self) {
        let (first, spent) = (self.task.settings.budget, self.task.spent);
        let budget = &mut self.task.budget;
        if let (Some(most), Some(step)) = (&mut budget.tokens, first.tokens)
            && spent.tokens >= *most
        {
            *most = spent.tokens.saturating_add(step);
        }
        if let (Some(most), Some(step)) = (&mut budget.work_ms, first.work_ms)
            && spent.work_ms >= *most
        {
            *most = spent.work_ms.saturating_add(step);
        }
        if let (Some(most), Some(step)) = (&mut budget.turns, first.turns)
            && spent.turns >= *most
        {
            *most = spent.turns.saturating_add(step);
        }
    }

    /// The running turn is stopped at the edge, and somebody is asked.
    pub(super) fn watch_budget(&mut self, out: &mut Vec<Effect>) {
        if self.edge.is_some() || self.task.turn.is_none() {
            return;
        }
        let used = self
            .task
            .spent
            .tokens
            .saturating_add(self.turn_tokens)
            .saturating_add(self.agents_tokens());
        let used_ms = self.task.spent.work_ms.saturating_add(self.running_for());
        let Budget { tokens, work_ms, .. } = self.task.budget;
        let edge = match (tokens, work_ms) {
            (Some(most), _) if used >= most => Edge::Tokens { used, most },
            (_, Some(most_ms)) if used_ms >= most_ms => Edge::WorkTime { used_ms, most_ms },
            _ => return,
        };
        self.edge = Some(edge);
        self.stop_turn(BUDGET, out);
    }

    /// Codex starts the turns of a goal without asking; one that is beyond the budget is stopped at its beginning.
    pub(super) fn watch_goal_turn(&mut self, out: &mut Vec<Effect>) {
        if let Some(edge) = self.edge_before_turn() {
            self.edge = Some(edge);
            self.stop_turn(BUDGET, out);
        }
    }

    /// Who ends the turn for an edge that it has reached.
    pub(super) fn stops_for(&self) -> Option<String> {
        self.edge.map(|_| BUDGET.to_owned())
    }

    /// Of an interrupt before our process ended Codex only says that it was one.
    pub(super) fn is_for_the_budget(&self, by: &Interrupter) -> bool {
        match by {
            Interrupter::Caller { name } => name == BUDGET,
            Interrupter::Codex => true,
            Interrupter::Decision { .. } | Interrupter::Stall => false,
        }
    }

    /// Unix milliseconds at which the turn that works reaches the edge of its time, or its time is noted.
    pub(super) fn edge_at(&self) -> Option<i64> {
        let most = self.task.budget.work_ms?;
        let since = self.working_since?;
        let left = most.saturating_sub(self.task.spent.work_ms).min(NOTE_TIME);
        self.edge.is_none().then(|| since.saturating_add(i64::try_from(left).unwrap_or(i64::MAX)))
    }

    /// What is used up before the next turn begins.
    pub(super) fn edge_before_turn(&self) -> Option<Edge> {
        let (spent, budget) = (self.task.spent, self.task.budget);
        let tokens = budget.tokens.filter(|most| spent.tokens >= *most);
        let time = budget.work_ms.filter(|most| spent.work_ms >= *most);
        let turns = budget.turns.filter(|most| spent.turns >= *most);
        tokens
            .map(|most| Edge::Tokens { used: spent.tokens, most })
            .or(time.map(|most_ms| Edge::WorkTime { used_ms: spent.work_ms, most_ms }))
            .or(turns.map(|most| Edge::Turns { used: spent.turns, most }))
    }

    /// The clock runs while a turn works and nobody is waited for. What it shows is noted each time, so that it is in the
    /// task's row and no process takes it along.
    pub(super) fn keep_time(&mut self) {
        self.stop_clock();
        if self.task.turn.is_some() && self.asks.is_empty() {
            self.working_since = Some(self.now);
        }
    }

    /// The tokens of this turn's sub-agents.
    pub(super) fn agents_tokens(&self) -> u64 {
        self.task.tally.agents.values().copied().fold(0, u64::saturating_add)
    }

    pub(super) fn forget_tokens(&mut self) {
        self.turn_tokens = 0;
        self.task.tally.agents.clear();
    }

    pub(super) fn stop_clock(&mut self) {
        let worked = self.running_for();
        self.working_since = None;
        self.task.spent.work_ms = self.task.spent.work_ms.saturating_add(worked);
    }

    pub(super) fn running_for(&self) -> u64 {
        self.working_since
            .map_or(0, |since| u64::try_from(self.now.saturating_sub(since)).unwrap_or(0))
    }
}
