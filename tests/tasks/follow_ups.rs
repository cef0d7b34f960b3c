//! More is sent to a task: when it is over, and while it works.

use ostler_engine::Refusal;
use ostler_model::task::{IntentState, NotDone, Receipt, Wish};
use ostler_model::thread::IfBusy;
use ostler_model::{FailureClass, TaskState};
use ostler_testkit::Workshop;
use rstest::rstest;

use crate::{PROMPT, answer_of, is_taken, stage_of, text};

const NEXT: &str = "feed the cat";

#[rstest]
#[tokio::test]
async fn a_task_that_is_over_goes_on_in_the_same_thread(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage_of(version, vec![(PROMPT, vec![text("One.")]), (NEXT, vec![text("Two.")])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    let first = shop.until(&task, TaskState::Completed).await.unwrap();

    let sent = shop.send(&task, NEXT, IfBusy::Fail).await.unwrap();
    assert!(is_taken(&shop.settled(&sent).await.unwrap()));
    let second = shop.until(&task, TaskState::Completed).await.unwrap();

    assert_eq!((answer_of(&first), answer_of(&second)), (Some("One."), Some("Two.")));
    assert_eq!(first.thread, second.thread);
    assert_eq!((second.spent.turns, stage.model().requests_seen()), (2, 2));
    let one = [TaskState::Starting, TaskState::Working, TaskState::Completed];
    let two = [TaskState::Queued, TaskState::Starting, TaskState::Working, TaskState::Completed];
    assert_eq!(shop.states(&task).await.unwrap(), [&one[..], &two[..]].concat());
    shop.close().await.unwrap();
}

/// What is meant for a turn must not begin another one.
#[rstest]
#[tokio::test]
async fn a_steer_of_a_task_at_rest_is_refused(#[values("0.142.5", "0.166.0")] version: &str) {
    let stage = stage_of(version, vec![(PROMPT, vec![text("One.")]), (NEXT, vec![text("Two.")])]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let refused = shop.send(&task, NEXT, IfBusy::SteerOnly).await.unwrap_err();
    let nothing = format!("nothing runs that could be steered: task {task} is completed");
    assert_eq!(refused.to_string(), nothing);
    let after = shop.task(&task).await.unwrap();
    assert_eq!((after.state, after.spent.turns), (TaskState::Completed, 1));
    let intents = shop.intents(&task).await.unwrap();
    assert_eq!(intents[1].1, IntentState::NotDone { why: NotDone::TooLate });
    assert_eq!(stage.model().requests_seen(), 1);
    shop.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn what_is_sent_to_a_task_at_work(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(IfBusy::Queue, IfBusy::Steer, IfBusy::SteerOnly, IfBusy::Interrupt, IfBusy::Fail)]
    if_busy: IfBusy,
) {
    // The turn works on its first answer until all has been sent; a steer is answered with the same turn's next request.
    let stage = stage_of(version, vec![(PROMPT, vec![text("One.")]), (NEXT, vec![text("Two.")])]);
    stage.model().hold_answers();
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Working).await.unwrap();
    shop.until_requests(&stage, 1).await.unwrap();
    let sent = match shop.send(&task, NEXT, if_busy).await {
        // Whoever wanted it only if nothing runs is told at once, and what became of it is written all the same.
        Err(refused) if if_busy == IfBusy::Fail => {
            assert!(matches!(refused.downcast_ref(), Some(Refusal::Busy { .. })), "{refused}");
            shop.engine.store().intents(&task).await.unwrap().pop().unwrap().id
        }
        sent => sent.unwrap(),
    };
    if if_busy == IfBusy::Interrupt {
        // Its turn begins once the other one has been stopped.
        shop.until_requests(&stage, 2).await.unwrap();
    }
    if if_busy == IfBusy::Fail {
        let state = shop.settled(&sent).await.unwrap();
        let IntentState::NotDone { why: NotDone::Refused { failure } } = state else {
            panic!("{state:?}")
        };
        assert_eq!(failure.class, FailureClass::Busy);
    }
    // A steer must be with Codex before its turn goes on.
    if if_busy.is_steer() {
        shop.until_sent(&sent).await.unwrap();
    }
    stage.model().release_answers();
    shop.settled(&sent).await.unwrap();
    let ended = shop.until(&task, TaskState::Completed).await.unwrap();

    let (answer, turns) = match if_busy {
        IfBusy::Fail => ("One.", 1),
        IfBusy::Steer | IfBusy::SteerOnly => ("Two.", ended.spent.turns),
        IfBusy::Queue | IfBusy::Interrupt => ("Two.", 2),
    };
    assert_eq!((answer_of(&ended), ended.spent.turns), (Some(answer), turns));
    let intents = shop.intents(&task).await.unwrap();
    let taken = intents.iter().filter(|(_, state)| is_taken(state)).count();
    assert_eq!((intents.len(), taken), (2, if if_busy == IfBusy::Fail { 1 } else { 2 }));
    shop.states(&task).await.unwrap();
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_send_with_a_key_is_sent_once_and_the_key_is_for_that_alone() {
    let stage = stage_of(
        "0.166.0",
        vec![(PROMPT, vec![text("One.")]), (NEXT, vec![text("Two."), text("Three.")])],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start(&stage, PROMPT).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let input = || ostler_model::Input::text(NEXT);
    let send = |input| shop.engine.send(&task, input, IfBusy::Queue, "test", Some("k"));
    let (one, two) = tokio::join!(send(input()), send(input()));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one, two);
    shop.settled(&one).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    assert_eq!(send(input()).await.unwrap(), one);
    let other = send(ostler_model::Input::text("another thing")).await.unwrap_err();

    assert!(other.to_string().contains('k'), "{other}");
    let intents = shop.intents(&task).await.unwrap();
    assert_eq!(intents.len(), 2);
    assert!(matches!(
        &intents[1],
        (Wish::Send { .. }, IntentState::Done { receipt: Receipt::Taken { .. } })
    ));
    assert_eq!(stage.model().requests_seen(), 2);
    shop.close().await.unwrap();
}
