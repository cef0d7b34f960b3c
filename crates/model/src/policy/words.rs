//! The words that a command begins with.

use serde::{Deserialize, Serialize};

use super::RuleError;

/// A program and some of its arguments. Never empty: no words at all would be every command there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Words(Vec<String>);

impl Words {
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Words {
    type Error = RuleError;

    fn try_from(words: Vec<String>) -> Result<Self, RuleError> {
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self(words)),
            _ => Err(RuleError::NoProgram),
        }
    }
}

impl From<Words> for Vec<String> {
    fn from(words: Words) -> Self {
        words.0
    }
}
