//! A goal of Codex's own goes on after the turn that was waited for, until it is not active any more.

use ostler_model::thread::Update;
use ostler_model::{Goal, TurnEnd, TurnResult};

use super::End;

#[derive(Debug, Default)]
pub(super) struct GoalWatch {
    is_open: bool,
    a_turn_runs: bool,
    /// The turn that was waited for is complete; this is the last one since.
    last: Option<Box<TurnResult>>,
}

impl GoalWatch {
    /// The end, if it is one: what was waited for, once no goal keeps Codex at work.
    pub(super) fn hear(&mut self, update: &Update, end: Option<End>) -> Option<End> {
        match update {
            Update::Goal { goal } => self.is_open = goal.as_ref().is_some_and(Goal::is_open),
            Update::TurnBegan { .. } => self.a_turn_runs = true,
            Update::TurnEnded { result } => {
                self.a_turn_runs = false;
                if self.last.is_some() {
                    self.last = Some(result.clone());
                }
            }
            _ => {}
        }
        match end {
            Some(End::Turn(result)) => self.last = Some(result),
            Some(end) => return Some(end),
            None => {}
        }
        let goes_on = self.last.as_ref().is_some_and(|last| last.end == TurnEnd::Completed);
        if self.a_turn_runs || (self.is_open && goes_on) {
            return None;
        }
        self.last.take().map(End::Turn)
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::usage::Usage;
    use ostler_model::{GoalStatus, Interrupter};

    use super::*;

    fn result(turn: &str, end: TurnEnd) -> Box<TurnResult> {
        Box::new(TurnResult {
            turn: turn.into(),
            inputs: Vec::new(),
            unanswered: Vec::new(),
            end,
            final_answer: None,
            tool_iterations: 0,
            usage: Usage::default(),
            plan: None,
            diff: None,
            unseen_changes: false,
            compacted: false,
            retries: 0,
            retire: false,
            elapsed_ms: 0,
        })
    }

    fn goal(status: GoalStatus) -> Update {
        let goal = Goal {
            objective: "win".to_owned(),
            status,
            token_budget: None,
            tokens_used: 0,
            seconds_used: 0,
            rounds: 0,
        };
        Update::Goal { goal: Some(goal) }
    }

    fn began(turn: &str) -> Update {
        Update::TurnBegan { turn: turn.into() }
    }

    fn ended(turn: &str, end: TurnEnd) -> Update {
        Update::TurnEnded { result: result(turn, end) }
    }

    /// The first turn is the one that is waited for.
    fn outcome(story: &[Update]) -> Option<(usize, String)> {
        let mut watch = GoalWatch::default();
        story.iter().enumerate().find_map(|(at, update)| {
            let end = match update {
                Update::TurnEnded { result } if result.turn.as_str() == "1" => {
                    Some(End::Turn(result.clone()))
                }
                _ => None,
            };
            match watch.hear(update, end)? {
                End::Turn(result) => Some((at, result.turn.to_string())),
                _ => None,
            }
        })
    }

    #[test]
    fn without_a_goal_the_turn_is_the_end() {
        let story = [began("1"), ended("1", TurnEnd::Completed), began("2")];
        assert_eq!(outcome(&story), Some((1, "1".to_owned())));
    }

    #[test]
    fn a_goal_is_followed_to_its_last_turn() {
        let story = [
            began("1"),
            goal(GoalStatus::Active),
            ended("1", TurnEnd::Completed),
            began("2"),
            ended("2", TurnEnd::Completed),
            began("3"),
            goal(GoalStatus::Complete),
            ended("3", TurnEnd::Completed),
        ];
        assert_eq!(outcome(&story), Some((7, "3".to_owned())));
    }

    #[test]
    fn a_goal_that_is_paused_between_two_turns_is_the_end() {
        let story = [
            began("1"),
            goal(GoalStatus::Active),
            ended("1", TurnEnd::Completed),
            goal(GoalStatus::Paused),
        ];
        assert_eq!(outcome(&story), Some((3, "1".to_owned())));
    }

    #[test]
    fn a_turn_that_was_interrupted_is_the_end_whatever_the_goal_says() {
        let interrupted = TurnEnd::Interrupted { by: Interrupter::Codex };
        let story = [
            began("1"),
            goal(GoalStatus::Active),
            ended("1", TurnEnd::Completed),
            began("2"),
            ended("2", interrupted),
        ];
        assert_eq!(outcome(&story), Some((4, "2".to_owned())));
    }
}
