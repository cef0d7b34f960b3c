//! A map from request ids that cannot grow without end.

use std::collections::{HashMap, VecDeque};

use crate::wire::RequestId;

/// The peer has at most 64 requests under way and Codex was never seen with more than some dozens; what is this far
/// behind the newest will not be answered any more.
const MAX_REMEMBERED: usize = 1024;

/// Ids are numbers or UUIDs. A longer one is not remembered, so that the map is bounded in bytes as well.
const MAX_ID_BYTES: usize = 256;

/// The oldest is forgotten when there are too many.
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    entries: HashMap<RequestId, (u64, T)>,
    order: VecDeque<(u64, RequestId)>,
    next: u64,
}

impl<T> Remembered<T> {
    pub(crate) fn new() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), next: 0 }
    }

    /// A second entry of the same id takes the place of the first.
    pub(crate) fn insert(&mut self, id: &RequestId, value: T) {
        if id.as_json().len() > MAX_ID_BYTES {
            return;
        }
        self.entries.insert(id.clone(), (self.next, value));
        self.order.push_back((self.next, id.clone()));
        self.next += 1;
        // Entries that were taken leave their place in the order behind, so it is that which is bounded.
        while self.order.len() > MAX_REMEMBERED {
            if let Some((number, oldest)) = self.order.pop_front()
                && self.entries.get(&oldest).is_some_and(|(entry, _)| *entry == number)
            {
                self.entries.remove(&oldest);
            }
        }
    }

    pub(crate) fn take(&mut self, id: &RequestId) -> Option<T> {
        self.entries.remove(id).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_a_repeated_id_counts_anew() {
        let mut remembered = Remembered::new();
        for id in 0..MAX_REMEMBERED as i64 {
            remembered.insert(&RequestId::integer(id), id);
        }
        remembered.insert(&RequestId::integer(0), -1);
        remembered.insert(&RequestId::integer(-7), -7);
        assert_eq!(remembered.take(&RequestId::integer(0)), Some(-1));
        assert_eq!(remembered.take(&RequestId::integer(0)), None);
        assert_eq!(remembered.take(&RequestId::integer(1)), None);
        assert_eq!(remembered.take(&RequestId::integer(2)), Some(2));
        let long = RequestId::from_json(&format!("\"{}\"", "x".repeat(300))).unwrap();
        remembered.insert(&long, 1);
        assert_eq!(remembered.take(&long), None);
        assert_eq!(remembered.order.len(), MAX_REMEMBERED);
    }
}
