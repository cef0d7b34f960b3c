//! An encoding that is the same for equal values on every machine and in every version of ours.

/// Bytes from which each value can be told: texts and lists have their length before them, choices their number.
#[derive(Default)]
pub(super) struct Canon {
    bytes: Vec<u8>,
}

impl Canon {
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    fn length(&mut self, length: usize) {
        self.bytes.extend((length as u64).to_be_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes.extend(text.as_bytes());
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn maybe_text(&mut self, text: Option<&String>) {
        self.option(text, |canon, text| canon.text(text));
    }

    pub(super) fn list<T>(&mut self, values: &[T], write: impl Fn(&mut Self, &T)) {
        self.length(values.len());
        for value in values {
            write(self, value);
        }
    }

    /// A list whose order means nothing.
    pub(super) fn set<T>(&mut self, values: &[T], write: impl Fn(&mut Self, &T)) {
        let mut parts: Vec<_> = values
            .iter()
            .map(|value| {
                let mut part = Self::default();
                write(&mut part, value);
                part.bytes
            })
            .collect();
        parts.sort_unstable();
        self.length(parts.len());
        for part in parts {
            self.bytes.extend(part);
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
