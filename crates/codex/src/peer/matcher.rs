//! Which answer belongs to which request. Pure bookkeeping.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::error::RpcError;
use crate::wire::{OddityKind, Reply, RequestId};

/// What comes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Result(Bytes),
    Error(RpcError),
    /// There was one, but it was longer than we read.
    TooLong {
        bytes: u64,
    },
}

/// How long a request that nobody waits for still counts as under way. Codex answers within seconds or, when it is
/// flooded, never; without an end, requests that it dropped would take up all places.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Requests under way in both directions.
#[derive(Debug)]
pub(crate) struct Matcher {
    waiting: HashMap<i64, Waiting>,
    /// The newest id sent; ours are 1, 2, 3, … but are not always sent in that order.
    newest: i64,
    /// Server requests that we have not answered yet.
    open: HashSet<RequestId>,
}

#[derive(Debug)]
struct Waiting {
    caller: oneshot::Sender<Answer>,
    /// One of the places for requests under way. Held until Codex answers, also when the caller has left: it is Codex
    /// that must not be flooded.
    _place: OwnedSemaphorePermit,
    sent: Instant,
}

/// More open server requests than this are not a client's work any more: sets with one entry for each pending
/// approval stay far below. Past it repeated ids are no longer noticed; they are delivered either way.
const MAX_OPEN: usize = 10_000;

impl Matcher {
    pub(crate) fn new() -> Self {
        Self { waiting: HashMap::new(), newest: 0, open: HashSet::new() }
    }

    pub(crate) fn sent(
        &mut self,
        id: i64,
        caller: oneshot::Sender<Answer>,
        place: OwnedSemaphorePermit,
    ) {
        self.newest = self.newest.max(id);
        self.waiting.insert(id, Waiting { caller, _place: place, sent: Instant::now() });
    }

    /// Hands the answer to its caller; says what is odd about it when there is none.
    pub(crate) fn answered(&mut self, reply: Reply) -> Result<(), OddityKind> {
        let answer = match reply.outcome {
            Ok(result) => Answer::Result(result),
            Err(error) => Answer::Error(error.into()),
        };
        self.settle(&reply.id, answer)
    }

    /// The same for an answer that was too long to be read.
    pub(crate) fn settle(&mut self, id: &RequestId, answer: Answer) -> Result<(), OddityKind> {
        let id = id.as_integer().ok_or(OddityKind::UnknownReply)?;
        let Some(waiting) = self.waiting.remove(&id) else {
            let was_ours = (1..=self.newest).contains(&id);
            return Err(if was_ours { OddityKind::LateReply } else { OddityKind::UnknownReply });
        };
        waiting.caller.send(answer).map_err(|_| OddityKind::LateReply)
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Gives up the places of requests whose callers have left and that Codex has had its time for.
    pub(crate) fn prune(&mut self) {
        self.waiting.retain(|_, waiting| {
            !waiting.caller.is_closed() || waiting.sent.elapsed() < ABANDONED_AFTER
        });
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
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    fn reply(id: &str) -> Reply {
        Reply { id: RequestId::from_json(id).unwrap(), outcome: Ok(Bytes::from_static(b"{}")) }
    }

    fn place(places: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        places.clone().try_acquire_owned().unwrap()
    }

    #[tokio::test]
    async fn each_answer_goes_to_its_caller_once() {
        let places = Arc::new(Semaphore::new(1));
        let mut matcher = Matcher::new();
        let (sender, mut receiver) = oneshot::channel();
        matcher.sent(1, sender, place(&places));
        assert_eq!(matcher.answered(reply("\"1\"")), Err(OddityKind::UnknownReply));
        assert_eq!(matcher.answered(reply("2")), Err(OddityKind::UnknownReply));
        assert_eq!(matcher.answered(reply("1")), Ok(()));
        assert_eq!(receiver.try_recv().unwrap(), Answer::Result(Bytes::from_static(b"{}")));
        assert_eq!(matcher.answered(reply("1")), Err(OddityKind::LateReply));
        assert_eq!(places.available_permits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_left_keeps_its_place_until_codex_had_its_time() {
        let places = Arc::new(Semaphore::new(2));
        let mut matcher = Matcher::new();
        let (left, _) = oneshot::channel();
        let (stays, _receiver) = oneshot::channel();
        matcher.sent(1, left, place(&places));
        matcher.sent(2, stays, place(&places));
        matcher.prune();
        assert_eq!(places.available_permits(), 0);
        tokio::time::advance(ABANDONED_AFTER).await;
        matcher.prune();
        assert_eq!(places.available_permits(), 1);
        assert_eq!(matcher.answered(reply("1")), Err(OddityKind::LateReply));
        assert_eq!(matcher.answered(reply("2")), Ok(()));
    }

    #[test]
    fn a_repeated_server_request_is_noticed_until_it_is_answered() {
        let mut matcher = Matcher::new();
        let id = RequestId::integer(0);
        assert!(matcher.asked(&id));
        assert!(!matcher.asked(&id));
        assert!(matcher.asked(&RequestId::from_json("\"0\"").unwrap()));
        matcher.answering(&id);
        assert!(matcher.asked(&id));
    }
}
