//! Whole numbers, and yes or no.

use toml::de::DeValue;

use super::{Node, Place, Value};

macro_rules! whole_number {
    ($kind:ty) => {
        impl Value for $kind {
            fn form() -> String {
                "a whole number".to_owned()
            }

            fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
                let read = match found.get_ref() {
                    DeValue::Integer(number) => {
                        <$kind>::from_str_radix(number.as_str(), number.radix()).ok()
                    }
                    _ => None,
                };
                if read.is_none() {
                    place.mismatch(found);
                }
                read
            }

            fn written(&self) -> Option<String> {
                Some(self.to_string())
            }

            fn amount(&self) -> Option<u64> {
                Some(u64::from(*self))
            }

            const OFF: Option<&'static str> = Some("off");
        }
    };
}
whole_number!(u32);
whole_number!(u64);

impl Value for bool {
    fn form() -> String {
        "true or false".to_owned()
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        if let DeValue::Boolean(word) = found.get_ref() {
            return Some(*word);
        }
        place.mismatch(found);
        None
    }

    fn written(&self) -> Option<String> {
        Some(self.to_string())
    }
}
