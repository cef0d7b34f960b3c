//! What servers share: their names and the variables of one environment.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::migrate::declared::Declared;
use crate::migrate::pieces::{is_variable, names, pieces};

/// Names and variables that are in use already.
#[derive(Default)]
pub struct InUse {
    pub(super) names: BTreeSet<String>,
    /// Variables that stand for a value of some file, so that no two different secrets get the same name.
    pub(super) values: BTreeMap<String, String>,
    /// Variables that some file takes from the environment, where they are the user's.
    referred: BTreeSet<String>,
}

impl InUse {
    /// Notes the variables that a server reads itself. All servers are noted before the first is translated: a secret of one
    /// must not be given to another that asks for a variable of the same name.
    pub fn note_references(&mut self, server: &Declared) {
        for value in server.keys.values() {
            self.note_all(value);
        }
        let named = |key: &str| server.keys.get(key).into_iter();
        let lists = named("env_vars").filter_map(Value::as_array).flatten();
        let tables = named("env_http_headers").filter_map(Value::as_object);
        let names = lists
            .map(|name| name.get("name").unwrap_or(name))
            .chain(tables.flat_map(serde_json::Map::values))
            .chain(named("bearer_token_env_var"));
        self.referred.extend(names.filter_map(Value::as_str).map(str::to_owned));
    }

    fn note_all(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                let found = pieces(text).unwrap_or_default();
                self.referred.extend(names(&found).map(|(name, _)| name.to_owned()));
            }
            Value::Array(values) => values.iter().for_each(|value| self.note_all(value)),
            Value::Object(values) => values.values().for_each(|value| self.note_all(value)),
            _ => {}
        }
    }

    /// Whether a variable of this name may stand for the value. One that names the variable itself is what the user would
    /// have there.
    pub(super) fn is_free(&self, name: &str, value: &str) -> bool {
        let itself = pieces(value).unwrap_or_default();
        let is_users =
            self.referred.contains(name) && names(&itself).all(|(its_own, _)| its_own != name);
        is_variable(name) && !is_users && self.values.get(name).is_none_or(|other| other == value)
    }
}
