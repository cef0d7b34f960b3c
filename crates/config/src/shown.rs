//! What holds, and since where: the settings as a list.

use serde_json::Value;

use crate::origin::Origin;
use crate::read::Reading;
use crate::section::Section;
use crate::settings::PolicyRule;

/// One setting with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// As it stands above the key: `[tasks]`, or `[[policy]]`.
    pub header: String,
    pub name: &'static str,
    /// The dotted name: `tasks.sandbox`, or `policy[1].command`.
    pub key: String,
    /// As it stands in a file; absent where nothing is set.
    pub value: Option<String>,
    pub origin: Origin,
}

impl Setting {
    /// The value for programs: times and sizes are the texts of the file.
    #[must_use]
    pub fn json(&self) -> Value {
        let line = self.value.as_ref().map(|value| format!("value = {value}"));
        let table: Option<toml::Table> = line.and_then(|line| toml::from_str(&line).ok());
        match table.and_then(|mut table| table.remove("value")) {
            None => Value::Null,
            // JSON has no times, and serde would give TOML's inside an object.
            Some(toml::Value::Datetime(time)) => Value::String(time.to_string()),
            Some(value) => serde_json::to_value(value).unwrap_or(Value::Null),
        }
    }
}

impl Reading {
    /// All settings in the order of the documentation; of a provider, a target and a rule only what it says.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let sections = self.config.written().into_iter().map(|(section, name, value)| {
            let (header, key) = (format!("[{section}]"), format!("{section}.{name}"));
            Setting { header, name, origin: self.origin(&key), key, value }
        });
        let providers = self.config.providers.iter();
        let providers = providers.flat_map(|(name, settings)| self.named(name, settings));
        let notify = self.config.notify.iter();
        let notify = notify.flat_map(|(name, settings)| self.named(name, settings));
        let rules = self.config.policy.iter().enumerate().flat_map(|(index, rule)| {
            let section = PolicyRule::NAME;
            rule.written().into_iter().map(move |(name, value)| {
                let key = format!("{section}[{}].{name}", index + 1);
                Setting {
                    header: format!("[[{section}]]"),
                    name,
                    origin: self.origin(&key),
                    key,
                    value,
                }
            })
        });
        let named = providers.chain(notify).chain(rules);
        let named = named.filter(|setting| setting.origin != Origin::Default);
        sections.chain(named).collect()
    }

    /// Of a section that has a name of the operator's own.
    fn named<S: Section>(&self, name: &str, settings: &S) -> Vec<Setting> {
        let block = format!("{}.{name}", S::NAME);
        let written = settings.written().into_iter().map(|(name, value)| {
            let key = format!("{block}.{name}");
            Setting { header: format!("[{block}]"), name, origin: self.origin(&key), key, value }
        });
        written.collect()
    }

    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }
}
