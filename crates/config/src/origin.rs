//! Where a value comes from.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File { line: usize },
    Environment { variable: &'static str },
}

/// Every key that is not the default, dotted.
pub(crate) type Origins = BTreeMap<String, Origin>;
