//! Forms that an MCP server may want filled in: flat, with fields of simple kinds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormField {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub kind: FormFieldKind,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FormFieldKind {
    Text,
    Number,
    Integer,
    Boolean,
    /// One of these.
    Choice(Vec<FormOption>),
    /// Any of these.
    Choices(Vec<FormOption>),
    /// A kind this version of ours does not know; the name is the server's.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormOption {
    pub value: String,
    pub title: Option<String>,
}

/// What was filled into one field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FormValue {
    Text(String),
    Number(f64),
    Integer(i64),
    Boolean(bool),
    Choices(Vec<String>),
}

/// Whether the values are what the fields want: all that are required, of the right kinds, and none besides.
pub(crate) fn is_filled(fields: &[FormField], values: &BTreeMap<String, FormValue>) -> bool {
    let missing = |field: &FormField| field.required && !values.contains_key(&field.name);
    let fits = |(name, value): (&String, &FormValue)| {
        fields.iter().any(|field| field.name == *name && field.kind.fits(value))
    };
    !fields.iter().any(missing) && values.iter().all(fits)
}

impl FormFieldKind {
    fn fits(&self, value: &FormValue) -> bool {
        let offers = |options: &[FormOption], word: &String| {
            options.iter().any(|option| option.value == *word)
        };
        match (self, value) {
            (Self::Text, FormValue::Text(_))
            | (Self::Number, FormValue::Number(_) | FormValue::Integer(_))
            | (Self::Integer, FormValue::Integer(_))
            | (Self::Boolean, FormValue::Boolean(_))
            | (Self::Other(_), _) => true,
            (Self::Choice(options), FormValue::Text(word)) => offers(options, word),
            (Self::Choices(options), FormValue::Choices(words)) => {
                words.iter().all(|word| offers(options, word))
            }
            _ => false,
        }
    }
}
