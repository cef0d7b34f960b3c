//! Forms that an MCP server may want filled in: flat, with fields of simple kinds.

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
