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
    /// Variables that some file takes from the environment, where they are the user's; with how many servers read them.
    referred: BTreeMap<String, usize>,
    /// Under which names a secret may be stored; without it none is.
    storable: Option<fn(&str) -> bool>,
}

/// Linux takes at most 128 KiB for one variable, and refuses to start the program otherwise.
const LARGEST_SECRET_BYTES: usize = 64 * 1024;

impl InUse {
    /// Secrets are to be stored under names that this function takes.
    pub fn storing(may_be_stored: fn(&str) -> bool) -> Self {
        Self { storable: Some(may_be_stored), ..Self::default() }
    }

    /// Notes the variables that a server reads itself. All servers are noted before the first is translated: a secret of one
    /// must not be given to another that asks for a variable of the same name.
    pub fn note_references(&mut self, server: &Declared) {
        let mut read = BTreeSet::new();
        for value in server.keys.values() {
            note_all(value, &mut read);
        }
        let named = |key: &str| server.keys.get(key).into_iter();
        let lists = named("env_vars").filter_map(Value::as_array).flatten();
        let tables = named("env_http_headers").filter_map(Value::as_object);
        let names = lists
            .map(|name| name.get("name").unwrap_or(name))
            .chain(tables.flat_map(serde_json::Map::values))
            .chain(named("bearer_token_env_var"));
        read.extend(names.filter_map(Value::as_str).map(str::to_owned));
        for name in read {
            *self.referred.entry(name).or_default() += 1;
        }
    }

    /// Whether a variable of this name may stand for the value. One that names the variable itself is what the user would
    /// have there.
    pub(super) fn is_free(&self, name: &str, value: &str) -> bool {
        let itself = pieces(value).unwrap_or_default();
        let is_users =
            self.referred.contains_key(name) && names(&itself).all(|(its_own, _)| its_own != name);
        is_variable(name) && !is_users && self.values.get(name).is_none_or(|other| other == value)
    }

    /// Whether a secret can be stored under this name, if any is.
    pub(super) fn is_storable(&self, name: &str) -> bool {
        self.storable.is_none_or(|may_be_stored| may_be_stored(name))
    }

    /// Whether this value is to be stored under this name.
    pub(super) fn stores(&self, name: &str, value: &str) -> bool {
        let fits =
            !value.is_empty() && !value.contains('\0') && value.len() <= LARGEST_SECRET_BYTES;
        fits && self.storable.is_some_and(|may_be_stored| may_be_stored(name))
    }

    pub(super) fn is_read_once(&self, name: &str) -> bool {
        self.referred.get(name) == Some(&1)
    }
}

fn note_all(value: &Value, read: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let found = pieces(text).unwrap_or_default();
            read.extend(names(&found).map(|(name, _)| name.to_owned()));
        }
        Value::Array(values) => values.iter().for_each(|value| note_all(value, read)),
        Value::Object(values) => values.values().for_each(|value| note_all(value, read)),
        _ => {}
    }
}
