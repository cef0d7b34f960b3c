//! Words of runners and orders to them that cross: whatever their order, no more run than may.

use std::time::Duration;

use ostler_model::Decision;
use ostler_model::task::DecidedBy;
use tokio::sync::oneshot;

use super::loaded::QUEUED_ORDERS;
use super::*;
use crate::refusal::Refusal;
use crate::runner::{AnswerError, AnswerOrder};
use crate::shared::sample::shared_in;

/// A dispatcher with room for one, whose runners are played by the test.
struct Rig {
    dispatcher: Dispatcher,
    inboxes: HashMap<TaskId, mpsc::Receiver<Order>>,
    _folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared_in(folder.path());
        let stop = CancellationToken::new();
        let dispatcher = Dispatcher::new(shared, Line::new(1, 1), stop);
        Self { dispatcher, inboxes: HashMap::new(), _folder: folder }
    }

    /// Has a runner for the task.
    fn load(&mut self, task: &str, is_placed: bool) {
        let (orders, inbox) = mpsc::channel(QUEUED_ORDERS);
        let loaded =
            Loaded { orders, late: None, is_placed, want: 0, must_look: false, must_place: false };
        self.dispatcher.loaded.insert(task.into(), loaded);
        self.inboxes.insert(task.into(), inbox);
    }

    fn hear(&mut self, word: FromRunner) {
        self.dispatcher.hear(word);
        self.dispatcher.serve_line();
    }

    fn want(&mut self, task: &str, want: u64) {
        let waiting =
            Waiting { task: task.into(), starter: "ana".to_owned(), pool: "p".to_owned() };
        self.hear(FromRunner::WantPlace(waiting, want));
    }

    fn leave(&mut self, task: &str) {
        self.hear(FromRunner::LeavePlace { task: task.into() });
    }

    /// The wants for which a runner was given a place.
    fn placed(&mut self, task: &str) -> Vec<u64> {
        let inbox = self.inboxes.get_mut(&TaskId::new(task)).unwrap();
        let orders = std::iter::from_fn(|| inbox.try_recv().ok());
        let wants = orders.map(|order| match order {
            Order::Placed { want } => want,
            order => panic!("{order:?}"),
        });
        wants.collect()
    }
}

/// The runner that hears of the first place last knows by its number that it is gone.
#[tokio::test]
async fn a_place_is_given_for_the_want_that_it_was_wanted_by() {
    let mut rig = Rig::new();
    rig.load("a", false);
    rig.load("b", false);
    rig.want("a", 1);
    rig.want("b", 1);
    rig.leave("a");
    rig.want("a", 2);
    assert_eq!((rig.placed("a"), rig.placed("b")), (vec![1], vec![1]));
    rig.leave("b");
    assert_eq!(rig.placed("a"), [2]);
}

/// A task was loaded because there was room for it, and was over before it wanted any; later there is more to do.
#[tokio::test]
async fn a_place_that_nobody_took_is_not_kept_for_later() {
    let mut rig = Rig::new();
    rig.dispatcher.line.wait("a".into(), "ana", "p");
    assert_eq!(rig.dispatcher.line.next(), Some("a".into()));
    rig.load("a", true);
    rig.load("b", false);
    rig.hear(FromRunner::Moved { task: "a".into(), state: TaskState::Cancelled });
    rig.want("b", 1);
    rig.want("a", 1);
    assert_eq!((rig.placed("a"), rig.placed("b")), (vec![], vec![1]));
    rig.leave("b");
    assert_eq!(rig.placed("a"), [1]);
}

/// A runner that failed before it heard of its place leaves it to the next one, which would wait for ever otherwise.
#[tokio::test]
async fn the_place_of_a_runner_that_failed_is_given_to_the_next() {
    let mut rig = Rig::new();
    rig.load("a", false);
    rig.want("a", 1);
    rig.load("a", false);
    rig.want("a", 1);
    assert_eq!(rig.placed("a"), [1]);
}

/// As a runner does that met this error.
async fn ends_with(rig: &mut Rig, task: &str, error: StoreError) -> Result<(), StoreError> {
    rig.load(task, false);
    let runner = tokio::spawn(async {});
    let id = runner.id();
    runner.await.unwrap();
    rig.dispatcher.tasks.insert(id, task.into());
    let end = RunnerEnd { wake_at: None, is_gone: false, result: Err(error) };
    rig.dispatcher.ended(id, Some(end))
}

#[tokio::test]
async fn a_task_that_cannot_be_read_or_written_is_tried_again_and_the_others_go_on() {
    let mut rig = Rig::new();
    let errors = [
        StoreError::Locked,
        StoreError::Disk("input/output error".to_owned()),
        StoreError::Other("string or blob too big".to_owned()),
        StoreError::NoAccess { path: "/nowhere".into(), reason: "too many open files".to_owned() },
        StoreError::NoTask("a".into()),
    ];
    for error in errors {
        let told = error.to_string();
        assert!(ends_with(&mut rig, "a", error).await.is_ok(), "{told}");
        let again: Vec<_> = rig.dispatcher.wakes.iter().map(|(_, task)| task.clone()).collect();
        assert_eq!(again, [TaskId::new("a")], "{told}");
    }
    for error in [StoreError::Fenced, StoreError::Closed] {
        assert!(ends_with(&mut rig, "a", error).await.is_err());
    }
}

/// The clock that we wait by does not count the time in which the machine was suspended.
#[tokio::test]
async fn a_parked_task_is_looked_at_each_minute_and_goes_on_when_its_time_has_come() {
    let mut rig = Rig::new();
    rig.load("a", false);
    let in_an_hour = now() + Duration::from_secs(3600).as_millis() as i64;
    rig.dispatcher.wakes.insert((in_an_hour, "a".into()));
    let next = rig.dispatcher.next_wake().unwrap();
    assert!(next <= Instant::now() + Duration::from_secs(60));
    rig.dispatcher.on_time().await;
    assert!(rig.inboxes.get_mut(&TaskId::new("a")).unwrap().try_recv().is_err());

    rig.dispatcher.wakes = BTreeSet::from([(now() - 1, "a".into())]);
    rig.dispatcher.on_time().await;
    let order = rig.inboxes.get_mut(&TaskId::new("a")).unwrap().try_recv();
    assert!(matches!(order, Ok(Order::Wake)), "{order:?}");
}

#[tokio::test]
async fn whoever_finds_a_full_queue_is_told_so_and_nothing_has_changed() {
    let mut rig = Rig::new();
    rig.load("b", false);
    rig.want("b", 1);
    rig.load("a", false);
    rig.want("a", 1);
    for _ in 0..QUEUED_ORDERS {
        rig.dispatcher.order("a".into(), Order::Wake);
    }
    let by = DecidedBy::Person { name: "ana".to_owned(), surface: "test".to_owned() };
    let (reply, answered) = oneshot::channel();
    let (ask, decision) = ("x".into(), Decision::Once);
    let answer = AnswerOrder { ask, decision, by, reason: None, remember: None, reply };
    rig.dispatcher.order("a".into(), Order::Answer(Box::new(answer)));
    let (done, removed) = oneshot::channel();
    rig.dispatcher.want(FromDoor::Remove { task: "a".into(), done });

    assert!(matches!(answered.await.unwrap(), Err(AnswerError::Overloaded)));
    assert!(matches!(removed.await.unwrap(), Err(Refusal::Overloaded { .. })));
    // It still stands in line.
    while rig.inboxes.get_mut(&TaskId::new("a")).unwrap().try_recv().is_ok() {}
    rig.leave("b");
    assert_eq!(rig.placed("a"), [1]);
}
