//! What of the configuration a start leaves out.
//!
//! A field that is missing or null is as the configuration says, so neither can say that there shall be none.

use ostler_model::TaskSettings;
use serde::{Deserialize, Serialize};

/// A default that shall not hold for a task; by the name of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unset {
    WritableRoots,
    Model,
    ModelProvider,
    Effort,
    ServiceTier,
    DeveloperInstructions,
    /// All settings of Codex.
    Config,
    CodexVersion,
    CodexHome,
    EscalateAfterMs,
    TurnTimeoutMs,
    BudgetTokens,
    BudgetWorkMs,
    BudgetTurns,
}

impl Unset {
    pub(super) fn in_settings(self, settings: &mut TaskSettings) {
        match self {
            Self::WritableRoots => settings.sandbox.writable_roots.clear(),
            Self::Model => settings.model = None,
            Self::ModelProvider => settings.model_provider = None,
            Self::Effort => settings.effort = None,
            Self::ServiceTier => settings.service_tier = None,
            Self::DeveloperInstructions => settings.developer_instructions = None,
            Self::Config => settings.config.clear(),
            Self::CodexVersion => settings.codex.version = None,
            Self::CodexHome => settings.codex.home = None,
            Self::EscalateAfterMs => settings.escalate_after_ms = None,
            Self::TurnTimeoutMs => settings.turn_timeout_ms = None,
            Self::BudgetTokens => settings.budget.tokens = None,
            Self::BudgetWorkMs => settings.budget.work_ms = None,
            Self::BudgetTurns => settings.budget.turns = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::task::Sandbox;

    use super::*;
    use crate::api::StartRequest;

    #[test]
    fn what_is_left_out_is_replaced_by_what_is_given_and_nothing_else() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let roots = vec!["/cache".to_owned()];
        let mut defaults = TaskSettings {
            model: Some("mare".to_owned()),
            effort: Some("high".to_owned()),
            sandbox: Sandbox { writable_roots: roots, ..Sandbox::default() },
            config: [pair("a", "1"), pair("b", "2")].into(),
            ..TaskSettings::default()
        };
        defaults.budget.turns = Some(3);
        let request = |unset: &str| -> StartRequest {
            let text =
                format!(r#"{{"cwd":"/inn","model":null,"config":{{"b":"3"}},"unset":{unset}}}"#);
            serde_json::from_str(&text).unwrap()
        };

        let usual = request("[]").settings(&defaults);
        let config = [pair("a", "1"), pair("b", "3")].into();
        assert_eq!(usual, TaskSettings { cwd: "/inn".to_owned(), config, ..defaults.clone() });

        let unset = r#"["model","config","writable_roots","budget_turns"]"#;
        let settings = request(unset).settings(&defaults);
        let wanted = TaskSettings {
            cwd: "/inn".to_owned(),
            effort: Some("high".to_owned()),
            config: [pair("b", "3")].into(),
            ..TaskSettings::default()
        };
        assert_eq!(settings, wanted);
    }
}
