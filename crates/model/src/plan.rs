//! The plan that the model follows, step by step.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub explanation: Option<String>,
    pub steps: Vec<PlanStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub text: String,
    pub status: PlanStatus,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

impl Plan {
    /// How much of it is done, in whole percent, half rounded up; nothing for an empty plan.
    pub fn percent(&self) -> Option<u8> {
        let done = self.steps.iter().filter(|step| step.status == PlanStatus::Completed).count();
        let rounded = (done * 200 + self.steps.len()).checked_div(self.steps.len() * 2)?;
        u8::try_from(rounded).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, PlanStatus, PlanStep};

    #[test]
    fn percent_rounds_half_up_and_an_empty_plan_has_none() {
        let plan = |done: usize, all: usize| {
            let status =
                |index| if index < done { PlanStatus::Completed } else { PlanStatus::Pending };
            let step = |index| PlanStep { text: String::new(), status: status(index) };
            Plan { explanation: None, steps: (0..all).map(step).collect() }.percent()
        };

        assert_eq!(
            [plan(0, 0), plan(0, 3), plan(1, 8), plan(2, 3), plan(3, 3)],
            [None, Some(0), Some(13), Some(67), Some(100)]
        );
    }
}
