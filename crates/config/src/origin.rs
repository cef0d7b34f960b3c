//! Where a value comes from.

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Default,
    File { line: usize },
    Environment { variable: &'static str },
}

/// Every key that is not the default, dotted.
pub(crate) type Origins = BTreeMap<String, Origin>;
