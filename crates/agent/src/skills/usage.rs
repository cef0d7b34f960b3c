//! What is known of each skill besides its text: `.usage.json` beside the skills.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use super::{SkillError, Skills};
use crate::disk;

/// Who made a skill. What nobody has noted was made by a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    Agent,
    #[default]
    Person,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillUsage {
    pub created_by: Maker,
    pub pinned: bool,
    pub uses: u64,
    pub views: u64,
    pub patches: u64,
}

/// By the name of the skill.
pub(super) type Table = BTreeMap<String, SkillUsage>;

impl Skills {
    pub fn usage(&self, name: &str) -> Result<SkillUsage, SkillError> {
        Ok(self.usage_table()?.remove(name).unwrap_or_default())
    }

    /// The review leaves a pinned skill alone, and nobody deletes it.
    pub fn pin(&self, name: &str) -> Result<(), SkillError> {
        self.find(name)?;
        self.note(name, |usage| usage.pinned = true)
    }

    pub fn unpin(&self, name: &str) -> Result<(), SkillError> {
        self.find(name)?;
        self.note(name, |usage| usage.pinned = false)
    }

    /// It was given to a model to follow.
    pub fn used(&self, name: &str) -> Result<(), SkillError> {
        self.note(name, |usage| usage.uses += 1)
    }

    pub(super) fn note(
        &self,
        name: &str,
        change: impl FnOnce(&mut SkillUsage),
    ) -> Result<(), SkillError> {
        let _lock = disk::lock(&self.root).map_err(SkillError::file(&self.root))?;
        self.note_locked(name, change)
    }

    /// The lock is held.
    pub(super) fn note_locked(
        &self,
        name: &str,
        change: impl FnOnce(&mut SkillUsage),
    ) -> Result<(), SkillError> {
        let mut table = self.usage_table()?;
        change(table.entry(name.to_owned()).or_default());
        self.write_usage(&table)
    }

    /// The lock is held, and the skill is gone.
    pub(super) fn forget_locked(&self, name: &str) -> Result<(), SkillError> {
        let mut table = self.usage_table()?;
        table.remove(name);
        self.write_usage(&table)
    }

    /// A file that cannot be read is no empty one: it would make every skill unpinned.
    pub(super) fn usage_table(&self) -> Result<Table, SkillError> {
        let path = self.root.join(".usage.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Table::new()),
            Err(source) => return Err(SkillError::File { path, source }),
        };
        serde_json::from_str(&text)
            .map_err(|error| SkillError::UsageUnreadable { path, why: error.to_string() })
    }

    fn write_usage(&self, table: &Table) -> Result<(), SkillError> {
        let path = self.root.join(".usage.json");
        let text = serde_json::to_string_pretty(table)
            .map_err(|error| SkillError::File { path: path.clone(), source: error.into() })?;
        disk::replace(&path, text.as_bytes(), 0o600).map_err(SkillError::file(&path))
    }
}
