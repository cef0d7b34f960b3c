//! Secrets that we make: 256 random bits each, of which only a digest is kept.
//!
//! A plain SHA-256 is right for them, where a password would need a slow hash: nobody can go through 2^256 guesses, however
//! cheap each is, and a slow hash on every request would only serve whoever wants to keep the daemon busy.

use std::fmt;
use std::hint::black_box;
use std::io;

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const BYTES: usize = 32;

/// A secret as it is told once. It is not shown by accident.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// By which a secret is known again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Digest(String);

impl Secret {
    /// Fresh from the system.
    pub(crate) fn new(prefix: &str) -> io::Result<Self> {
        let mut bytes = [0_u8; BYTES];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match getrandom(rest, GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self(format!("{prefix}{}", hex(&bytes))))
    }

    pub(crate) fn given(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// To be told to whom it belongs, and to nobody else.
    pub(crate) fn tell(&self) -> &str {
        &self.0
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest(hex(&Sha256::digest(self.0.as_bytes())))
    }

    /// Another secret that follows from this one and does not give it away.
    pub(crate) fn derived(&self, purpose: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(purpose.as_bytes());
        hash.update([0]);
        hash.update(self.0.as_bytes());
        Self(hex(&hash.finalize()))
    }
}

impl Digest {
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// In the same time whatever they are: digests have one length, and no byte ends the comparison.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let (one, other) = (self.0.as_bytes(), other.0.as_bytes());
        let pairs = one.iter().zip(other);
        let difference =
            pairs.fold(0, |difference, (one, other)| black_box(difference | (one ^ other)));
        one.len() == other.len() && difference == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_and_is_known_by_its_digest_alone() {
        let (one, other) = (Secret::new("x_").unwrap(), Secret::new("x_").unwrap());
        assert_eq!(one.tell().len(), 2 + 2 * BYTES);
        assert!(one.digest().is(&Secret::given(one.tell()).digest()));
        assert!(one.digest().is(&Digest::stored(one.digest().as_str().to_owned())));
        assert!(!one.digest().is(&other.digest()));
        assert!(!one.digest().is(&Digest::stored(String::new())));
        let derived = one.derived("a");
        assert!(derived != one.derived("b") && derived != one);
        assert_eq!(format!("{one:?}"), "Secret(…)");
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Secret::given("abc").digest().as_str(), abc);
    }
}
