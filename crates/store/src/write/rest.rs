//! Rules, app-servers, the versions that homes stay with.

use ostler_model::{AskId, RuleId, TaskId};
use rusqlite::params;

use super::Writer;
use crate::job::text;
use crate::queries::prepare;
use crate::{AppServerRow, RuleRow, StoreError};

pub(crate) const SQL: &[&str] =
    &[PUT_RULE, REMOVE_RULE, ADD_USE, PUT_SERVER, REMOVE_SERVER, PUT_PIN];

const PUT_RULE: &str = "INSERT INTO rules (id, expires_at, body) VALUES (?1, ?2, ?3) \
     ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, body = excluded.body";
const REMOVE_RULE: &str = "DELETE FROM rules WHERE id = ?1";
const ADD_USE: &str = "INSERT INTO rule_uses (rule, ask, task, at) VALUES (?1, ?2, ?3, ?4)";
const PUT_SERVER: &str = "INSERT INTO app_servers (keeper, body) VALUES (?1, ?2) \
     ON CONFLICT (keeper) DO UPDATE SET body = excluded.body";
const REMOVE_SERVER: &str = "DELETE FROM app_servers WHERE keeper = ?1";
const PUT_PIN: &str = "INSERT INTO home_pins (codex_home, version) VALUES (?1, ?2) \
     ON CONFLICT (codex_home) DO UPDATE SET version = excluded.version";

impl Writer<'_> {
    pub(super) fn put_rule(&self, rule: &RuleRow) -> Result<(), StoreError> {
        let row = params![rule.id.as_str(), rule.expires_at, rule.json];
        prepare(self.connection, PUT_RULE)?.execute(row)?;
        Ok(())
    }

    /// What it decided stays on record.
    pub(super) fn remove_rule(&self, rule: &RuleId) -> Result<(), StoreError> {
        prepare(self.connection, REMOVE_RULE)?.execute([rule.as_str()])?;
        Ok(())
    }

    pub(super) fn add_rule_use(
        &self,
        rule: &RuleId,
        ask: &AskId,
        task: &TaskId,
        at: i64,
    ) -> Result<(), StoreError> {
        let row = params![rule.as_str(), ask.as_str(), task.as_str(), at];
        prepare(self.connection, ADD_USE)?.execute(row)?;
        Ok(())
    }

    pub(super) fn put_app_server(&self, server: &AppServerRow) -> Result<(), StoreError> {
        let body = text(server, "app-server")?;
        prepare(self.connection, PUT_SERVER)?.execute(params![server.keeper, body])?;
        Ok(())
    }

    pub(super) fn remove_app_server(&self, keeper: &str) -> Result<(), StoreError> {
        prepare(self.connection, REMOVE_SERVER)?.execute([keeper])?;
        Ok(())
    }

    pub(super) fn put_home_pin(&self, codex_home: &str, version: &str) -> Result<(), StoreError> {
        prepare(self.connection, PUT_PIN)?.execute([codex_home, version])?;
        Ok(())
    }
}
