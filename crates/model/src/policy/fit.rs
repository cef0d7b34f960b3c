//! How sure it is that an ask is what a rule is about.

/// Ordered, so that the least of several is what all of them together are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It is about something else.
    Misses,
    /// It could be about that, or about that and more. Enough to refuse, never enough to allow.
    Unclear,
    Fits,
}

impl Fit {
    pub(super) fn when(fits: bool) -> Self {
        if fits { Self::Fits } else { Self::Misses }
    }

    pub(super) fn unclear_when(could: bool) -> Self {
        if could { Self::Unclear } else { Self::Misses }
    }
}
