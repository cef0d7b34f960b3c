//! stub
use crate::{Ask, AskId, RuleId, TaskId};
use serde::{Deserialize, Serialize};
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub id: RuleId,
    pub expires_at: Option<i64>,
}
#[derive(Debug, Clone, Default)]
pub struct RuleSet(Vec<Rule>);
#[derive(Debug)]
pub struct PolicyContext<'a> {
    pub task: &'a TaskId,
    pub cwd: &'a str,
    pub now: i64,
}
#[derive(Debug)]
pub enum Verdict {
    Allowed { rule: RuleId },
    Denied { rule: RuleId },
    NoRule,
}
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleWish {}
impl Rule {
    pub fn describe(&self) -> String {
        String::new()
    }
    pub fn from_ask(
        _: &Ask,
        _: &TaskId,
        _: &str,
        _: RuleWish,
        _: &str,
        _: i64,
        _: &AskId,
    ) -> Result<Self, String> {
        Err(String::new())
    }
}
impl RuleSet {
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }
    pub fn decide(&self, _: &Ask, _: &PolicyContext<'_>) -> Verdict {
        Verdict::NoRule
    }
    pub fn with(&self, rule: Rule) -> Self {
        let mut all = self.0.clone();
        all.push(rule);
        Self(all)
    }
    pub fn without(&self, rule: &RuleId) -> Self {
        Self(self.0.iter().filter(|known| known.id != *rule).cloned().collect())
    }
}
