//! What goes in and out. Requests are described whole; of what the model writes, what a reader may rely on.

use serde_json::Value;

/// One text per kind of thing.
const PARTS: [&str; 3] = [
    include_str!("schemas/requests.json"),
    include_str!("schemas/answers.json"),
    include_str!("schemas/tasks.json"),
];

pub(super) fn schemas() -> Value {
    let mut all = serde_json::Map::new();
    for part in PARTS {
        // A test reads them all.
        if let Ok(Value::Object(part)) = serde_json::from_str(part) {
            all.extend(part);
        }
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_can_be_read_and_none_has_what_another_has() {
        let parts: Vec<serde_json::Map<String, Value>> =
            PARTS.iter().map(|part| serde_json::from_str(part).unwrap()).collect();
        let count: usize = parts.iter().map(serde_json::Map::len).sum();
        assert_eq!(schemas().as_object().unwrap().len(), count);
    }
}
