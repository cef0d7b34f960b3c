//! A form of an MCP server, field by field.

use std::collections::BTreeMap;

use ostler_model::Decision;
use ostler_model::form::{FormField, FormFieldKind, FormOption, FormValue};

use super::{Reading, slash_word};
use crate::terminal::safe;

#[derive(Debug)]
pub(crate) struct Form {
    fields: Vec<FormField>,
    position: usize,
    values: BTreeMap<String, FormValue>,
}

impl Form {
    pub(super) fn new(fields: Vec<FormField>) -> Self {
        Self { fields, position: 0, values: BTreeMap::new() }
    }

    pub(super) fn question(&self) -> Vec<String> {
        let Some(field) = self.fields.get(self.position) else {
            return vec!["Enter sends the form; /no declines".to_owned()];
        };
        let title = field.title.as_deref().unwrap_or(&field.name);
        let mut lines = vec![safe(title).into_owned()];
        lines.extend(field.description.iter().map(|text| format!("  {}", safe(text))));
        if let FormFieldKind::Choice(options) | FormFieldKind::Choices(options) = &field.kind {
            let option = |(number, option): (usize, &FormOption)| {
                let title = option.title.as_deref().unwrap_or(&option.value);
                format!("  {}  {}", number + 1, safe(title))
            };
            lines.extend(options.iter().enumerate().map(option));
        }
        let optional = if field.required { "" } else { ", or Enter to leave it out" };
        lines.push(format!("{}{optional}; /no declines", hint(&field.kind)));
        lines
    }

    pub(super) fn read(&mut self, line: &str) -> Reading {
        if let Some(reading) = slash_word(line) {
            return reading;
        }
        if let Some(field) = self.fields.get(self.position) {
            let text = line.trim();
            if !text.is_empty() {
                match value(&field.kind, text) {
                    Some(value) => {
                        self.values.insert(field.name.clone(), value);
                    }
                    None => return Reading::Again(Some(format!("give {}", hint(&field.kind)))),
                }
            } else if field.required {
                return Reading::again("it is needed; /no declines the form");
            }
            self.position += 1;
        }
        if self.position < self.fields.len() {
            return Reading::Again(None);
        }
        Reading::decided(Decision::Form(self.values.clone()))
    }
}

fn hint(kind: &FormFieldKind) -> &'static str {
    match kind {
        FormFieldKind::Text | FormFieldKind::Other(_) => "a text",
        FormFieldKind::Number => "a number",
        FormFieldKind::Integer => "a whole number",
        FormFieldKind::Boolean => "yes or no",
        FormFieldKind::Choice(_) => "one of the numbers",
        FormFieldKind::Choices(_) => "some of the numbers",
    }
}

fn value(kind: &FormFieldKind, text: &str) -> Option<FormValue> {
    match kind {
        FormFieldKind::Text | FormFieldKind::Other(_) => Some(FormValue::Text(text.to_owned())),
        FormFieldKind::Number => {
            text.parse().ok().filter(|number: &f64| number.is_finite()).map(FormValue::Number)
        }
        FormFieldKind::Integer => text.parse().ok().map(FormValue::Integer),
        FormFieldKind::Boolean => match text.to_lowercase().as_str() {
            "y" | "yes" | "true" => Some(FormValue::Boolean(true)),
            "n" | "no" | "false" => Some(FormValue::Boolean(false)),
            _ => None,
        },
        FormFieldKind::Choice(options) => option(options, text).map(FormValue::Text),
        FormFieldKind::Choices(options) => {
            let words = text.split([',', ' ']).filter(|word| !word.is_empty());
            let chosen: Option<Vec<String>> = words.map(|word| option(options, word)).collect();
            chosen.map(FormValue::Choices)
        }
    }
}

/// By number, or by its value.
fn option(options: &[FormOption], text: &str) -> Option<String> {
    let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_number = number.and_then(|number| options.get(number));
    let found = by_number.or_else(|| options.iter().find(|option| option.value == text));
    found.map(|option| option.value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, kind: FormFieldKind, required: bool) -> FormField {
        FormField { name: name.into(), title: None, description: None, kind, required }
    }

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let option = |value: &str| FormOption { value: value.into(), title: None };
        let colours = vec![option("bay"), option("grey")];
        let mut form = Form::new(vec![
            field("name", FormFieldKind::Text, true),
            field("age", FormFieldKind::Integer, true),
            field("tame", FormFieldKind::Boolean, true),
            field("note", FormFieldKind::Text, false),
            field("colours", FormFieldKind::Choices(colours), true),
        ]);
        assert_eq!(form.question(), ["name", "a text; /no declines"]);

        let lines = ["", "Bess", "old", "7", "maybe", "yes", ""];
        let refused = lines.map(|line| matches!(form.read(line), Reading::Again(Some(_))));
        let last = form.read("2, bay");

        assert_eq!(refused, [true, false, true, false, true, false, false]);
        let values = [
            ("age", FormValue::Integer(7)),
            ("colours", FormValue::Choices(vec!["grey".into(), "bay".into()])),
            ("name", FormValue::Text("Bess".into())),
            ("tame", FormValue::Boolean(true)),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        assert_eq!(last, Reading::decided(Decision::Form(values.into())));
    }
}
