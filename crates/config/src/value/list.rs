//! Lists: every wrong item is named, not only the first.

use toml::de::DeValue;

use super::{Node, Place, Value, quoted};

impl<T: Value> Value for Vec<T> {
    fn form() -> String {
        format!("a list, each of it {}", T::form())
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        let DeValue::Array(items) = found.get_ref() else {
            let message = place.describe_mismatch(found);
            match found.get_ref() {
                // A command line, most likely.
                DeValue::String(text) => {
                    let words: Vec<String> = text.split_whitespace().map(quoted).collect();
                    place.advise(found, message, format!("write [{}]", words.join(", ")));
                }
                _ => place.complain(found, message),
            }
            return None;
        };
        let (key, form) = (place.key.clone(), place.form.clone());
        let mut read = Vec::new();
        for (index, item) in items.iter().enumerate() {
            (place.key, place.form) = (format!("{key}[{}]", index + 1), T::form());
            read.push(T::read(item, place));
        }
        (place.key, place.form) = (key, form);
        read.into_iter().collect()
    }

    fn written(&self) -> Option<String> {
        let items: Vec<String> = self.iter().filter_map(T::written).collect();
        Some(format!("[{}]", items.join(", ")))
    }
}
