//! A program to be started, with its arguments.

use toml::de::DeValue;

use super::{Node, Place, Value};
use crate::surroundings::NotAPlace;

/// What is started, without a shell in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// An absolute path, or a name that is looked for on PATH.
    pub program: String,
    pub arguments: Vec<String>,
}

impl Value for Invocation {
    fn form() -> String {
        r#"a program and its arguments such as ["~/bin/approve", "--strict"]"#.to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        if !matches!(found.get_ref(), DeValue::Array(_)) {
            place.mismatch(found);
            return None;
        }
        let mut words = Vec::<String>::read(found, place)?.into_iter();
        let Some(program) = words.next() else {
            place.advise(found, "is empty", "leave it out, or name a program");
            return None;
        };
        let program = if program.contains('/') {
            match place.surroundings.expand(&program) {
                Ok(path) => path.to_str().map(str::to_owned),
                Err(NotAPlace::Relative) => None,
                Err(NotAPlace::NoHome) => {
                    place.advise(found, "has a ~, but HOME is not set", "write an absolute path");
                    return None;
                }
            }
        } else {
            Some(program)
        };
        if program.is_none() {
            let advice = "write an absolute path, or one that starts with ~/, or a name on PATH";
            place.advise(found, "names its program by a relative path", advice);
        }
        Some(Self { program: program?, arguments: words.collect() })
    }

    fn written(&self) -> Option<String> {
        let words: Vec<String> =
            std::iter::once(&self.program).chain(&self.arguments).cloned().collect();
        words.written()
    }
}
