//! A message of Codex as it came.

use std::fmt;

use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// One message of Codex about a thread: a notification or a request, as JSON text, byte for byte. It shares the memory
/// that it was received in, so whoever keeps it for long copies it.
#[derive(Clone, PartialEq, Eq)]
pub struct WireLine(Bytes);

impl WireLine {
    pub(crate) fn new(line: Bytes) -> Self {
        Self(line)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        // It was read as JSON, which is UTF-8, so the fallback is never taken.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The bytes themselves, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl fmt::Debug for WireLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// As the JSON that it is.
impl Serialize for WireLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}
