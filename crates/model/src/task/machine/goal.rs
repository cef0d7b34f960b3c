//! A goal of Codex's own keeps its task at work: while it is open, Codex starts turn after turn by itself.
//!
//! Codex tells how the goal stands before the end of the turn that changed it, and once after each opening of the thread
//! (0.142.5 to 0.169.0). After a turn that was interrupted it starts none, though the goal stays open; so whoever ends a turn,
//! or the task, pauses the goal.

use super::signal::{Effect, Owed};
use super::{Machine, Phase};
use crate::failure::{Failure, FailureClass};
use crate::goal::{Goal, GoalChange, GoalStatus};
use crate::id::IntentId;
use crate::task::intent::{IntentState, NotDone, Receipt};
use crate::task::state::{Cause, TaskState};
use crate::turn::{Interrupter, TurnEnd, TurnResult};

/// Codex starts the next turn within milliseconds, and within seconds on a busy machine. Then we look what holds it up.
const PROD_AFTER_MS: i64 = 15_000;

/// Looking once, and resuming the goal twice; then it is paused, and the task is over.
const PRODS: u32 = 3;

/// App-servers in a row that are lost while a goal is resumed, before the task ends without its goal.
const MOST_LOST_RESUMES: u32 = 3;

impl Machine {
    pub(super) fn has_open_goal(&self) -> bool {
        self.task.goal.as_ref().is_some_and(Goal::is_open)
    }

    /// Whether nothing runs, and Codex will start a turn by itself.
    pub(super) fn awaits_goal(&self) -> bool {
        self.has_open_goal()
            && !self.is_busy()
            && self.queue.is_empty()
            && self.task.state.is_at_work()
    }

    /// Whether anything is left to be done that somebody wants.
    pub(super) fn has_work(&self) -> bool {
        !self.queue.is_empty()
            || !self.goal_changes.is_empty()
            || !self.changing.is_empty()
            || self.resuming
            || self.owes_goal()
    }

    pub(super) fn note_goal(&mut self, goal: Option<Goal>) {
        let known = self.task.goal.take();
        self.task.goal = goal.map(|goal| {
            let same = known.filter(|known| known.objective == goal.objective);
            let rounds = same.as_ref().map_or(0, |known| known.rounds);
            // Whoever stops a turn pauses the goal, which may have been completed just before.
            let was_complete = same.is_some_and(|known| known.status == GoalStatus::Complete);
            let status = match goal.status {
                GoalStatus::Paused if was_complete => GoalStatus::Complete,
                status => status,
            };
            Goal { rounds, status, ..goal }
        });
        self.goal_ran |= self.has_open_goal();
        // Resuming a complete goal would open it again, and one that has used its budget would use more.
        let is_over =
            |goal: &Goal| matches!(goal.status, GoalStatus::Complete | GoalStatus::BudgetLimited);
        if self.task.goal.as_ref().is_none_or(is_over) {
            self.forget_held_goal();
        }
        if !self.has_open_goal() {
            self.task.tally.goal_stops = false;
        }
    }

    /// A turn has begun; if nobody gave it anything, Codex has begun it for its goal.
    pub(super) fn goal_turn_began(&mut self, out: &mut Vec<Effect>) {
        self.goal_ran = self.has_open_goal();
        // Somebody else has resumed it.
        self.task.tally.goal_held &= !self.goal_ran;
        self.flush_goal_changes(out);
        let is_by_itself = self.given.is_empty() && self.task.goal.is_some();
        if let Some((_, by)) = self.interrupts.last().filter(|_| is_by_itself) {
            // It was on its way while somebody stopped the goal.
            let by = by.clone();
            return self.stop_turn(&by, out);
        }
        if self.goal_ran && self.given.is_empty() {
            self.watch_goal_turn(out);
        }
    }

    pub(super) fn goal_turn_ended(&mut self, result: &TurnResult) {
        if let Some(goal) = self.task.goal.as_mut().filter(|_| result.inputs.is_empty()) {
            goal.rounds = goal.rounds.saturating_add(1);
        }
        // Codex blocks the goal of a turn that fails. The next turn may have begun before the task stands still.
        if matches!(result.end, TurnEnd::Failed { .. }) {
            self.hold_goal();
        }
    }

    /// The task stands still for a while, and its goal with it.
    pub(super) fn hold_goal(&mut self) {
        self.task.tally.goal_held |= self.goal_ran;
    }

    fn forget_held_goal(&mut self) {
        self.goal_ran = false;
        self.task.tally.goal_held = false;
    }

    /// Whether the goal that stood still with the task is to go on now.
    pub(super) fn owes_goal(&self) -> bool {
        let state = self.task.state;
        self.task.tally.goal_held
            && !self.resuming
            && self.task.turn.is_none()
            && !state.is_over()
            && state != TaskState::Parked
    }

    /// Has Codex go on with the goal. Only while no turn runs: in a turn the model may complete the goal, and a resume that
    /// comes after that would open it again, without an end.
    pub(super) fn resume_goal(&mut self, out: &mut Vec<Effect>) {
        if self.owes_goal() {
            self.resuming = true;
            out.push(Effect::ChangeGoal { intent: None, change: GoalChange::Resume });
        }
    }

    /// Handles the answer to the resume. Returns true if that was all; otherwise the task goes on as after any change of its goal.
    fn resumed(&mut self, failure: Option<&Failure>, out: &mut Vec<Effect>) -> bool {
        // The app-server is gone, or refuses everything because it is about to end.
        let is_lost = failure.is_some_and(|it| {
            matches!(it.class, FailureClass::ServerGone | FailureClass::Overload)
        });
        if is_lost && self.lost_resumes < MOST_LOST_RESUMES {
            self.lost_resumes = self.lost_resumes.saturating_add(1);
            self.thread_lost(out);
            return true;
        }
        self.lost_resumes = 0;
        self.task.tally.goal_held = false;
        let is_open = self.has_open_goal();
        if is_open && (self.task.state.is_over() || !self.interrupts.is_empty()) {
            // Somebody stopped it meanwhile.
            self.task.tally.goal_stops = true;
            out.push(Effect::ChangeGoal { intent: None, change: GoalChange::Pause });
            return true;
        }
        let last = self.task.last_result.as_ref();
        let was_cut_off = last.is_some_and(|last| last.end != TurnEnd::Completed);
        if !is_open && was_cut_off && self.is_between_turns() {
            // Codex does not go on by itself.
            out.push(Effect::Owe(Owed::AfterPause));
            return true;
        }
        false
    }

    /// The task is over: Codex must not go on with the goal.
    pub(super) fn stop_goal(&mut self, out: &mut Vec<Effect>) {
        self.task.tally.goal_held = false;
        self.task.tally.goal_stops = self.has_open_goal();
        if self.has_open_goal() && self.phase == Phase::Open {
            out.push(Effect::ChangeGoal { intent: None, change: GoalChange::Pause });
        }
    }

    pub(super) fn change_goal(
        &mut self,
        intent: IntentId,
        change: GoalChange,
        out: &mut Vec<Effect>,
    ) {
        let is_at_work = self.task.state.is_at_work();
        if !change.opens() && self.task.thread.is_none() {
            let to = IntentState::Done { receipt: Receipt::Nothing };
            return out.push(Effect::Settle { intent, to });
        }
        let is_now = match change.opens() {
            true => is_at_work && self.phase == Phase::Open,
            false => self.phase != Phase::Opening,
        };
        if is_now {
            self.changing.push(intent.clone());
            return out.push(Effect::ChangeGoal { intent: Some(intent), change });
        }
        self.goal_changes.push_back((intent.clone(), change));
        if self.task.state.is_over() {
            self.shift(TaskState::Queued, Cause::Submitted { intent }, out);
        }
        self.go_on(out);
    }

    pub(super) fn flush_goal_changes(&mut self, out: &mut Vec<Effect>) {
        if self.phase != Phase::Open {
            return;
        }
        for (intent, change) in std::mem::take(&mut self.goal_changes) {
            self.changing.push(intent.clone());
            out.push(Effect::ChangeGoal { intent: Some(intent), change });
        }
    }

    pub(super) fn goal_changed(
        &mut self,
        intent: Option<IntentId>,
        outcome: Result<Option<Goal>, Failure>,
        out: &mut Vec<Effect>,
    ) {
        let failure = outcome.as_ref().err().cloned();
        if let Ok(goal) = outcome {
            self.note_goal(goal);
        }
        let was_resuming = intent.is_none() && std::mem::take(&mut self.resuming);
        if was_resuming && self.resumed(failure.as_ref(), out) {
            return;
        }
        if let Some(intent) = intent {
            if failure.is_none() && !self.has_open_goal() {
                // A person has paused or cleared it: it must not go on with the task.
                self.forget_held_goal();
            }
            self.changing.retain(|known| *known != intent);
            let to = match &failure {
                None => IntentState::Done { receipt: Receipt::GoalChanged },
                // It may have arrived before the connection broke.
                Some(failure) if failure.class == FailureClass::ServerGone => {
                    IntentState::Unknown { why: failure.message.clone() }
                }
                Some(failure) => {
                    IntentState::NotDone { why: NotDone::Refused { failure: failure.clone() } }
                }
            };
            out.push(Effect::Settle { intent, to });
        }
        self.go_on_with_goal(failure, out);
    }

    /// Whether the task is open and at work, and nothing runs or waits to.
    fn is_between_turns(&self) -> bool {
        self.phase == Phase::Open
            && self.task.state.is_at_work()
            && !self.is_busy()
            && !self.has_work()
    }

    /// What follows from how the goal stands now, if nothing runs.
    pub(super) fn go_on_with_goal(&mut self, failure: Option<Failure>, out: &mut Vec<Effect>) {
        if !self.is_between_turns() || self.has_open_goal() {
            return;
        }
        if let Some((_, by)) = self.interrupts.last() {
            let by = Interrupter::Caller { name: by.clone() };
            for (intent, _) in std::mem::take(&mut self.interrupts) {
                let to = IntentState::Done { receipt: Receipt::Nothing };
                out.push(Effect::Settle { intent, to });
            }
            return self.end(TaskState::Cancelled, Cause::Interrupted { by }, out);
        }
        let last = self.task.last_result.as_ref().map(|last| (last.turn.clone(), last.end.clone()));
        match (last, failure) {
            (Some((turn, TurnEnd::Completed)), _) => {
                self.task.tally.crashes = 0;
                self.end(TaskState::Completed, Cause::TurnCompleted { turn }, out);
            }
            (_, Some(failure)) => self.end(TaskState::Failed, Cause::StartFailed { failure }, out),
            (Some((_, TurnEnd::Interrupted { by })), None) => {
                self.end(TaskState::Cancelled, Cause::Interrupted { by }, out);
            }
            (Some((_, TurnEnd::Failed { failure })), None) => {
                self.end(TaskState::Failed, Cause::TurnFailed { failure }, out);
            }
            (None, None) => self.end(TaskState::Cancelled, Cause::Rejoined, out),
        }
    }

    /// Notes since when the next turn of the goal is awaited.
    pub(super) fn keep_waiting(&mut self) {
        if !self.awaits_goal() || self.phase != Phase::Open {
            self.awaits_since = None;
            self.prods = 0;
        } else if self.awaits_since.is_none() {
            self.awaits_since = Some(self.now);
        }
    }

    pub(super) fn prods_at(&self) -> Option<i64> {
        self.awaits_since.map(|since| since.saturating_add(PROD_AFTER_MS))
    }

    /// Codex was to start a turn, and has not.
    pub(super) fn prod_goal(&mut self, out: &mut Vec<Effect>) {
        if self.prods_at().is_none_or(|at| at > self.now) {
            return;
        }
        self.awaits_since = Some(self.now);
        if std::mem::take(&mut self.is_cut) {
            return self.thread_lost(out);
        }
        self.prods = self.prods.saturating_add(1);
        out.push(match self.prods {
            1 => Effect::ReadGoal,
            prods => {
                let change = if prods <= PRODS { GoalChange::Resume } else { GoalChange::Pause };
                Effect::ChangeGoal { intent: None, change }
            }
        });
    }
}
