//! A small Codex, a driver and a caller, all moved by one list of choices: the same list is the same story, and a shorter
//! list is a shorter story. Where the list ends, everybody does the plain thing until all is at rest.

pub(crate) mod caller;
pub(crate) mod codex;
pub(crate) mod driver;
pub(crate) mod log;
pub(crate) mod restart;
pub(crate) mod work;

/// The choices that are left.
pub(crate) struct Choices {
    left: std::vec::IntoIter<u16>,
}

impl Choices {
    pub(crate) fn new(choices: Vec<u16>) -> Self {
        Self { left: choices.into_iter() }
    }

    pub(crate) fn are_used_up(&self) -> bool {
        self.left.len() == 0
    }

    /// One of `0..count`; the plain thing is 0.
    pub(crate) fn pick(&mut self, count: u16) -> u16 {
        self.left.next().map_or(0, |choice| choice % count)
    }

    /// Whether something happens that happens once in so many times.
    pub(crate) fn one_in(&mut self, count: u16) -> bool {
        self.pick(count) == 1
    }
}
