//! Reading and changing the goal of the task's thread.

use crate::pool::AtWork;
use ostler_model::task::IntentState;
use ostler_model::{Failure, FailureClass, Goal, GoalChange, IntentId};

use super::perform::Todo;
use super::{Runner, Work};

impl Runner {
    pub(super) fn goal_is_to_change(&mut self, intent: Option<IntentId>, change: GoalChange) {
        let known = intent.as_ref().and_then(|intent| self.intents.get(intent));
        let may_be_made =
            known.is_some_and(|intent| matches!(intent.state, IntentState::Sent { .. }));
        if let Some(intent) = &intent {
            let after = self.notes.last_turn().cloned();
            self.move_intent(intent, IntentState::Sent { after });
        }
        self.todo.push(Todo::ChangeGoal { intent, change, may_be_made });
    }

    /// On the app-server of the thread; for a thread that is not open, on any of its kind.
    pub(super) fn change_goal(
        &mut self,
        intent: Option<IntentId>,
        change: GoalChange,
        may_be_made: bool,
    ) {
        let driver = self.stage.as_ref().map(|stage| stage.seat.driver().clone());
        let (shared, task) = (self.shared.clone(), self.machine.task().clone());
        self.works.spawn(async move {
            let Some(thread) = &task.thread else {
                let failure = Failure::new(FailureClass::BadRequest, "the task has not begun");
                return Work::Goal { intent, outcome: Box::new(Err(failure)) };
            };
            let mut seat = None;
            let driver = match driver {
                Some(driver) => driver,
                None => {
                    let keeper = task.keeper.as_deref();
                    match shared.pool.seat(&task.id, &task.settings, keeper, AtWork::Yes).await {
                        Ok(taken) => seat.insert(taken).driver().clone(),
                        Err(failure) => {
                            return Work::Goal { intent, outcome: Box::new(Err(failure)) };
                        }
                    }
                }
            };
            if may_be_made
                && let Ok(goal) = driver.goal(thread).await
                && change.is_in(goal.as_ref())
            {
                return Work::Goal { intent, outcome: Box::new(Ok(goal)) };
            }
            let outcome = driver.change_goal(thread, &change).await;
            Work::Goal { intent, outcome: Box::new(outcome) }
        });
    }

    pub(super) fn read_goal(&mut self) {
        let Some(stage) = &self.stage else { return };
        let (driver, thread) = (stage.seat.driver().clone(), stage.thread.id().clone());
        self.works.spawn(async move {
            let outcome = driver.goal(&thread).await;
            Work::Goal { intent: None, outcome: Box::new(outcome) }
        });
    }

    /// Whether more is told of the goal than how much of it is used: Codex says that after each step.
    pub(super) fn is_news_of_goal(&self, goal: Option<&Goal>) -> bool {
        let known = self.machine.task().goal.as_ref();
        match (known, goal) {
            (Some(known), Some(goal)) => {
                known.objective != goal.objective
                    || known.status != goal.status
                    || known.token_budget != goal.token_budget
            }
            (known, goal) => known.is_some() != goal.is_some(),
        }
    }
}
