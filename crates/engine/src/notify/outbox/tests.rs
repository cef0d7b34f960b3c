//! What cannot be written down is not told again and again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use ostler_model::TaskState;
use ostler_model::notification::{Addressee, Content, Kind, Occasion};
use ostler_model::task::{Budget, Cause, Spent, Tally, Task, TaskSettings};
use ostler_store::{Store, StoreSettings};

use super::*;
use crate::notify::{Courier, NotifySettings, Sending, Target};
use crate::shared::sample::sample;

/// How long the loop may take to come to a second attempt, if it comes to one: it did so thousands of times in that time.
const LONG_ENOUGH: Duration = Duration::from_millis(500);

const DEADLINE: Duration = Duration::from_secs(20);

/// Counts what it is given, and says how each attempt ends.
#[derive(Debug)]
struct Counter {
    carried: AtomicUsize,
    panics: bool,
}

impl Courier for Counter {
    fn carry(&self, _notification: Notification) -> BoxFuture<'static, Outcome> {
        self.carried.fetch_add(1, Ordering::SeqCst);
        let panics = self.panics;
        Box::pin(async move {
            assert!(!panics, "a fault of the courier");
            Outcome::Delivered { answer: "HTTP 200".to_owned() }
        })
    }

    fn preview(&self, _notification: &Notification) -> Result<Sending, String> {
        Err("none".to_owned())
    }

    fn check(&self, _address: &str) -> Result<(), String> {
        Ok(())
    }
}

fn task() -> Task {
    Task {
        id: "t1".into(),
        state: TaskState::Completed,
        cause: Cause::TurnCompleted { turn: "turn-1".into() },
        title: "feed the horse".to_owned(),
        settings: TaskSettings::in_folder("/inn"),
        started_by: "ada".to_owned(),
        thread: None,
        keeper: None,
        codex_version: None,
        turn: None,
        last_result: None,
        spent: Spent::default(),
        budget: Budget::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: Tally::default(),
        created_at: 1,
        updated_at: 1,
        ended_at: Some(1),
        last_seq: 0,
        forked_from: None,
    }
}

/// How often a message was sent after a while, with a store that another daemon has taken or not.
async fn sent(is_fenced: bool, panics: bool) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(StoreSettings::at(folder.path().join("ostler.db"))).unwrap();
    let store = open();
    let content = Content::of_state(&task(), Kind::Finished, None);
    let occasion = Occasion::Moved { nonce: "n".to_owned() };
    let to = Addressee::To("ops".to_owned());
    let row = Notification::new(&occasion, &"t1".into(), Kind::Finished, to, content, 1);
    let new = Write::NewTask { task: Box::new(task()), key: None };
    store.commit(new.into()).await.unwrap();
    store.commit(Write::Notification(Box::new(row)).into()).await.unwrap();
    let counter = Arc::new(Counter { carried: AtomicUsize::new(0), panics });
    let target = Target {
        via: Via::Courier,
        kinds: Vec::new(),
        timeout: Duration::from_secs(5),
        persistence: Persistence::default(),
    };
    let notify = NotifySettings {
        targets: BTreeMap::from([("ops".to_owned(), target)]),
        page: None,
        courier: counter.clone(),
    };
    // Reads go on for whoever has lost the store, and writes do not.
    let successor = is_fenced.then(open);
    let shared = Arc::new(sample(store, folder.path(), notify));
    let stop = CancellationToken::new();
    let running = tokio::spawn(Outbox::new(shared.clone()).run(stop.clone()));
    let once = async {
        while counter.carried.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, once).await.unwrap();
    // Whoever brings more mail wakes it as well.
    let more = async {
        loop {
            shared.mail.notify_one();
            tokio::task::yield_now().await;
        }
    };
    drop(timeout(LONG_ENOUGH, more).await);
    stop.cancel();
    timeout(DEADLINE, running).await.unwrap().unwrap();
    drop(successor);
    counter.carried.load(Ordering::SeqCst)
}

#[tokio::test]
async fn an_attempt_that_cannot_be_written_down_is_not_made_again() {
    assert_eq!(sent(true, false).await, 1, "another daemon has the store");
    assert_eq!(sent(false, true).await, 1, "the attempt panics");
    assert_eq!(sent(false, false).await, 1);
}
