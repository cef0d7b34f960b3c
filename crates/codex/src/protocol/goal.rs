//! A thread's goal in Codex's words.

use ostler_model::{Goal, GoalStatus};
use serde::Deserialize;

use super::lenient;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadGoal {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub objective: String,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub token_budget: Option<u64>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tokens_used: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub time_used_seconds: u64,
}

impl From<&ThreadGoal> for Goal {
    fn from(goal: &ThreadGoal) -> Self {
        let status = match goal.status.as_str() {
            "usageLimited" => GoalStatus::UsageLimited,
            "budgetLimited" => GoalStatus::BudgetLimited,
            word => GoalStatus::from(word.to_owned()),
        };
        Self {
            objective: goal.objective.clone(),
            status,
            token_budget: goal.token_budget,
            tokens_used: goal.tokens_used,
            seconds_used: goal.time_used_seconds,
            rounds: 0,
        }
    }
}
