//! Which answer belongs to which request. Pure bookkeeping.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::error::RpcError;
use crate::wire::{OddityKind, Reply, RequestId};

type Waiter = oneshot::Sender<Result<Bytes, RpcError>>;

/// Requests under way in both directions.
#[derive(Debug)]
pub(crate) struct Matcher {
    waiting: HashMap<i64, Waiter>,
    /// Above this many, entries whose caller has left are thrown out. Codex may never answer them.
    prune_above: usize,
    /// The newest id sent; ours are 1, 2, 3, … but are not always sent in that order.
    newest: i64,
    /// Server requests that we have not answered yet.
    open: HashSet<RequestId>,
}

/// More open server requests than this are not a client's work any more: sets with one entry for each pending
/// approval stay far below. Past it repeated ids are no longer noticed; they are delivered either way.
const MAX_OPEN: usize = 10_000;

impl Matcher {
    pub(crate) fn new(requests_in_flight: usize) -> Self {
        Self {
            waiting: HashMap::new(),
            prune_above: requests_in_flight.saturating_mul(2).max(16),
            newest: 0,
            open: HashSet::new(),
        }
    }

    pub(crate) fn sent(&mut self, id: i64, waiter: Waiter) {
        if self.waiting.len() >= self.prune_above {
            self.waiting.retain(|_, waiter| !waiter.is_closed());
        }
        self.newest = self.newest.max(id);
        self.waiting.insert(id, waiter);
    }

    /// Hands the answer to its caller; says what is odd about it when there is none.
    pub(crate) fn answered(&mut self, reply: Reply) -> Result<(), OddityKind> {
        let id = reply.id.as_integer().ok_or(OddityKind::UnknownReply)?;
        let Some(waiter) = self.waiting.remove(&id) else {
            let was_ours = (1..=self.newest).contains(&id);
            return Err(if was_ours { OddityKind::LateReply } else { OddityKind::UnknownReply });
        };
        waiter.send(reply.outcome.map_err(RpcError::from)).map_err(|_| OddityKind::LateReply)
    }

    /// Notes a server request; false when one with this id is still open.
    pub(crate) fn asked(&mut self, id: &RequestId) -> bool {
        self.open.len() >= MAX_OPEN || self.open.insert(id.clone())
    }

    pub(crate) fn answering(&mut self, id: &RequestId) {
        self.open.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(id: &str) -> Reply {
        Reply { id: RequestId::from_json(id).unwrap(), outcome: Ok(Bytes::from_static(b"{}")) }
    }

    #[test]
    fn each_answer_goes_to_its_caller_once() {
        let mut matcher = Matcher::new(64);
        let (sender, mut receiver) = oneshot::channel();
        matcher.sent(1, sender);
        assert_eq!(matcher.answered(reply("\"1\"")), Err(OddityKind::UnknownReply));
        assert_eq!(matcher.answered(reply("2")), Err(OddityKind::UnknownReply));
        assert_eq!(matcher.answered(reply("1")), Ok(()));
        assert_eq!(receiver.try_recv().unwrap().unwrap(), Bytes::from_static(b"{}"));
        assert_eq!(matcher.answered(reply("1")), Err(OddityKind::LateReply));
    }

    #[test]
    fn callers_that_left_do_not_pile_up() {
        let mut matcher = Matcher::new(8);
        for id in 1..=100_000 {
            let (sender, _) = oneshot::channel();
            matcher.sent(id, sender);
        }
        assert!(matcher.waiting.len() <= 16, "{}", matcher.waiting.len());
        assert_eq!(matcher.answered(reply("5")), Err(OddityKind::LateReply));
    }

    #[test]
    fn a_repeated_server_request_is_noticed_until_it_is_answered() {
        let mut matcher = Matcher::new(64);
        let id = RequestId::integer(0);
        assert!(matcher.asked(&id));
        assert!(!matcher.asked(&id));
        assert!(matcher.asked(&RequestId::from_json("\"0\"").unwrap()));
        matcher.answering(&id);
        assert!(matcher.asked(&id));
    }
}
