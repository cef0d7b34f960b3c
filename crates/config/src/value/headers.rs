//! Headers of a request, each with the variable that has its value.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::text::EnvironmentName;
use super::{Node, Place, Value, quoted};

/// The name of each header, and the variable of the environment that has its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub BTreeMap<String, EnvironmentName>);

impl Value for Headers {
    fn form() -> String {
        r#"headers with their variables such as { X-Team = "MY_TEAM" }"#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let DeValue::Table(table) = found.get_ref() else {
            place.mismatch(found);
            return None;
        };
        let (key, form) = (place.key.clone(), place.form.clone());
        let mut read = Some(BTreeMap::new());
        for (name, variable) in table {
            let name = name.get_ref().as_ref();
            (place.key, place.form) = (format!("{key}.{name}"), EnvironmentName::form());
            if !is_header_name(name) {
                place.complain(variable, "is not the name of a header");
                read = None;
                continue;
            }
            match EnvironmentName::read(variable, place) {
                Some(variable) => {
                    read.as_mut().map(|read| read.insert(name.to_owned(), variable));
                }
                None => read = None,
            }
        }
        (place.key, place.form) = (key, form);
        read.map(Self)
    }

    fn written(&self) -> Option<String> {
        let pairs = self.0.iter().filter_map(|(name, variable)| {
            variable.written().map(|variable| format!("{} = {variable}", quoted(name)))
        });
        let pairs: Vec<String> = pairs.collect();
        Some(if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) })
    }
}

/// A token of RFC 9110.
fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
