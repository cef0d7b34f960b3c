//! A goal: what Codex works towards over many turns, which it starts by itself.

use serde::{Deserialize, Serialize};

/// Codex takes no longer objective (0.142.5 to 0.169.0).
const MOST_CHARACTERS: usize = 4000;

/// The goal of a thread, as Codex told it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    pub objective: String,
    pub status: GoalStatus,
    /// Codex stops working on the goal when it has used this many tokens.
    #[serde(default)]
    pub token_budget: Option<u64>,
    #[serde(default)]
    pub tokens_used: u64,
    #[serde(default)]
    pub seconds_used: u64,
    /// Turns that Codex has started by itself for this objective and that have ended. Counted by us.
    #[serde(default)]
    pub rounds: u32,
}

impl Goal {
    /// Whether Codex starts another turn when the running one has ended.
    pub fn is_open(&self) -> bool {
        self.status == GoalStatus::Active
    }

    /// In one line.
    pub fn describe(&self) -> String {
        let budget = self.token_budget.map(|most| format!(" of {most}")).unwrap_or_default();
        format!(
            "{} ({}, {} rounds, {}{budget} tokens)",
            self.objective,
            self.status.describe(),
            self.rounds,
            self.tokens_used
        )
    }
}

/// The words of Codex. One that we do not know counts as not open: if Codex starts a turn all the same, the task is at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum GoalStatus {
    Active,
    Paused,
    /// The model said that it cannot go on, or a turn failed.
    Blocked,
    UsageLimited,
    BudgetLimited,
    Complete,
    Other(String),
}

impl GoalStatus {
    /// The same word in JSON, text and the database.
    pub fn name(&self) -> &str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Blocked => "blocked",
            Self::UsageLimited => "usage_limited",
            Self::BudgetLimited => "budget_limited",
            Self::Complete => "complete",
            Self::Other(word) => word,
        }
    }

    /// For people.
    pub fn describe(&self) -> String {
        self.name().replace('_', " ")
    }
}

impl From<String> for GoalStatus {
    fn from(word: String) -> Self {
        let known = [
            Self::Active,
            Self::Paused,
            Self::Blocked,
            Self::UsageLimited,
            Self::BudgetLimited,
            Self::Complete,
        ];
        known.into_iter().find(|status| status.name() == word).unwrap_or(Self::Other(word))
    }
}

impl From<GoalStatus> for String {
    fn from(status: GoalStatus) -> Self {
        status.name().to_owned()
    }
}

/// What somebody wants of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub enum GoalChange {
    /// Sets the objective, and has Codex work on it.
    Set {
        objective: String,
        #[serde(default)]
        token_budget: Option<u64>,
    },
    /// The running turn goes on; none follows it.
    Pause,
    Resume,
    Clear,
}

impl GoalChange {
    /// Whether Codex has work to do after it.
    pub fn opens(&self) -> bool {
        matches!(self, Self::Set { .. } | Self::Resume)
    }

    /// What Codex would not take, said before anything is written down.
    pub fn check(&self) -> Result<(), String> {
        let Self::Set { objective, token_budget } = self else { return Ok(()) };
        if objective.trim().is_empty() {
            return Err("the objective of the goal is empty".to_owned());
        }
        let characters = objective.chars().count();
        if characters > MOST_CHARACTERS {
            return Err(format!(
                "the objective has {characters} characters; Codex takes at most {MOST_CHARACTERS}"
            ));
        }
        match token_budget {
            Some(0) => Err("a token budget of 0 lets nothing be done".to_owned()),
            Some(most) if i64::try_from(*most).is_err() => {
                Err("the token budget is too large".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Whether a goal stands as this change would leave it, or past that.
    pub fn is_in(&self, goal: Option<&Goal>) -> bool {
        match (self, goal) {
            (Self::Clear, goal) => goal.is_none(),
            (_, None) => false,
            (Self::Set { objective, token_budget }, Some(goal)) => {
                goal.objective == *objective && goal.token_budget == *token_budget
            }
            (Self::Pause, Some(goal)) => !goal.is_open(),
            (Self::Resume, Some(goal)) => goal.is_open() || goal.status == GoalStatus::Complete,
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Set { objective, .. } => format!("set the goal: {objective}"),
            Self::Pause => "pause the goal".to_owned(),
            Self::Resume => "resume the goal".to_owned(),
            Self::Clear => "clear the goal".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Goal, GoalChange, GoalStatus};

    fn goal(status: GoalStatus) -> Goal {
        let objective = "win".to_owned();
        Goal { objective, status, token_budget: None, tokens_used: 0, seconds_used: 0, rounds: 0 }
    }

    #[test]
    fn only_an_active_goal_is_open_and_each_status_keeps_its_word() {
        let words =
            ["active", "paused", "blocked", "usage_limited", "budget_limited", "complete", "odd"];
        for word in words {
            let status = GoalStatus::from(word.to_owned());
            assert_eq!(String::from(status.clone()), word);
            assert_eq!(goal(status).is_open(), word == "active", "{word}");
        }
    }

    #[test]
    fn an_objective_that_codex_refuses_is_refused() {
        let set = |objective: &str| {
            GoalChange::Set { objective: objective.to_owned(), token_budget: None }.check().is_ok()
        };
        assert!(set(&"é".repeat(4000)));
        assert!(!set(&"é".repeat(4001)));
        assert!(!set("  "));
        let none = GoalChange::Set { objective: "win".to_owned(), token_budget: Some(0) };
        assert!(none.check().is_err());
    }

    #[test]
    fn a_change_that_was_made_is_known_again() {
        let set = GoalChange::Set { objective: "win".to_owned(), token_budget: None };
        assert!(set.is_in(Some(&goal(GoalStatus::Complete))));
        assert!(!set.is_in(None));
        assert!(GoalChange::Resume.is_in(Some(&goal(GoalStatus::Complete))));
        assert!(!GoalChange::Resume.is_in(Some(&goal(GoalStatus::Paused))));
        assert!(GoalChange::Pause.is_in(Some(&goal(GoalStatus::Blocked))));
        assert!(GoalChange::Clear.is_in(None));
    }
}
