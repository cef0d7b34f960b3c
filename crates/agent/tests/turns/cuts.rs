//! The program dies in the middle of a turn: wherever that is, what comes after has everything once.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use ostler_agent::api::{Answer, Finish};
use ostler_agent::{Activity, Controls, TurnOutcome, UserInput, Which};
use ostler_model::message::Role;
use tokio::sync::Notify;

use crate::world::{Reply, World, answer, calls, says};

/// Polls the work so many times, then drops it: a kill, as far as this process can have one.
async fn cut_off(work: impl Future, polls: usize) -> bool {
    let mut work = pin!(work);
    let bell = Arc::new(Bell(Notify::new()));
    let waker = Waker::from(bell.clone());
    for _ in 0..polls {
        if work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            return true;
        }
        // The threads of the store have done what they were asked to.
        bell.0.notified().await;
    }
    false
}

/// Rings when the work can go on.
struct Bell(Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_turn_that_was_cut_off_anywhere_is_brought_to_its_end() {
    for polls in 1..60 {
        let step = || calls(&[("a", "write_file", r#"{"path":"ran","content":"x"}"#)]);
        let world =
            World::new(vec![step(), says("Done."), says("Done."), says("Done."), says("Done.")]);
        let mut agent = world.open(Which::New, None).await;
        let input = UserInput::text("work");
        let is_over = cut_off(agent.turn(input, &Controls::default(), &|_| {}), polls).await;
        drop(agent);
        let is_kept = world.folder.path().join("conversations.db").exists();
        assert!(is_kept);
        if is_over {
            return;
        }
        // One that was cut off before its first word is on disk was never begun.
        let kept = ostler_store::Conversations::open(world.folder.path().join("conversations.db"))
            .await
            .unwrap();
        if kept.get("0198-talk").await.unwrap().is_none() {
            continue;
        }
        let mut agent = world.open(Which::Last, None).await;
        let outcome = agent.take_up(&Controls::default(), &|_| {}).await;
        let messages = agent.last_messages(10);
        let users = messages.iter().filter(|it| it.content.as_deref() == Some("work")).count();
        let answers = messages.iter().filter(|it| it.content.as_deref() == Some("Done.")).count();
        if let Some(outcome) = outcome {
            assert_eq!((users, answers), (1, 1), "cut after {polls}: {messages:#?}");
            assert!(outcome.completed, "cut after {polls}: {outcome:?}");
            // What was done before the kill counts as what was done after it.
            let answers = messages.iter().filter(|it| it.role == Role::Assistant);
            let calls: usize = answers.clone().map(|it| it.tool_calls.len()).sum();
            let counted = (outcome.tool_iterations as usize, outcome.api_calls as usize);
            assert_eq!(counted, (calls, answers.clone().count()), "cut after {polls}");
            assert_eq!(outcome.usage.turn.input, 100 * answers.count() as u64);
            assert_eq!(agent.usage().total, outcome.usage.turn);
        }
        assert!(!agent.has_open_turn());
    }
    panic!("the turn never came to its end");
}

/// The user speaks while the model thinks, and the program dies anywhere after that.
#[tokio::test]
async fn what_was_said_into_a_turn_is_heard_once_whenever_it_is_cut_off() {
    let mut steered_and_cut = 0;
    for polls in 1..60 {
        let step = || calls(&[("a", "write_file", r#"{"path":"ran","content":"x"}"#)]);
        let replies = [step(), says("Done.")].into_iter().chain((0..4).map(|_| says("Done.")));
        let world = World::new(replies.collect());
        let controls = Controls::default();
        let steering = controls.steering.clone();
        *world.model.meanwhile.lock().unwrap() = Some(Box::new(move || steering.say("faster")));
        let shown = Mutex::new(0);
        let hear = |activity| *shown.lock().unwrap() += i32::from(is_steer(&activity));
        let mut agent = world.open(Which::New, None).await;
        let input = UserInput::text("work");
        let is_over = cut_off(agent.turn(input, &controls, &hear), polls).await;
        drop(agent);
        if *shown.lock().unwrap() == 0 {
            continue;
        }
        assert_eq!(*shown.lock().unwrap(), 1);
        let mut agent = world.open(Which::Last, None).await;
        let outcome = agent.take_up(&Controls::default(), &|_| {}).await;
        steered_and_cut += u32::from(outcome.is_some());
        let messages = agent.last_messages(10);
        let said = messages.iter().filter(|it| it.content.as_deref() == Some("faster")).count();
        assert_eq!(said, 1, "cut after {polls}: {messages:#?}");
        let answer = messages.last().and_then(|it| it.content.as_deref());
        assert_eq!(answer, Some("Done."), "cut after {polls}: {messages:#?}");
        if is_over {
            assert!(steered_and_cut > 2, "the turn was cut too seldom to say anything");
            return;
        }
    }
    panic!("the turn never came to its end");
}

fn is_steer(activity: &Activity) -> bool {
    matches!(activity, Activity::Steered(text) if text == "faster")
}

/// Cuts the turn off wherever that can be, until it was once where this was its last word on disk and its end was not; then how
/// the turn was brought to its end. None if it never came that far.
async fn taken_up_behind(world: impl Fn() -> World, last_word: &str) -> Option<TurnOutcome> {
    // The threads of the store have their own pace: where one round misses the moment, another does not.
    for polls in (1..40).cycle().take(800) {
        let world = world();
        let mut agent = world.open(Which::New, None).await;
        let input = UserInput::text("work");
        cut_off(agent.turn(input, &Controls::default(), &|_| {}), polls).await;
        drop(agent);
        let path = world.folder.path().join("conversations.db");
        let kept = ostler_store::Conversations::open(path).await.unwrap();
        if kept.get("0198-talk").await.unwrap().is_none() {
            continue;
        }
        let mut agent = world.open(Which::Last, None).await;
        let last = agent.last_messages(1).pop().and_then(|it| it.content);
        if last.as_deref() == Some(last_word) && agent.has_open_turn() {
            return agent.take_up(&Controls::default(), &|_| {}).await;
        }
    }
    None
}

#[tokio::test]
async fn what_was_no_success_is_none_after_a_kill_either() {
    let filtered =
        || Reply::Answer(Box::new(Answer { finish: Finish::ContentFilter, ..answer("Half") }));
    let outcome =
        taken_up_behind(|| World::new((0..4).map(|_| filtered()).collect()), "Half").await.unwrap();
    assert_eq!((outcome.completed, outcome.failure_reason()), (false, Some("policy")));

    let spent = || {
        let step = calls(&[("a", "todo", "{}")]);
        let mut world = World::new(vec![step, says("Half done."), says("Half done, still.")]);
        world.iterations = 1;
        world
    };
    let outcome = taken_up_behind(spent, "Half done.").await.unwrap();
    assert_eq!((outcome.completed, outcome.failed, outcome.tool_iterations), (false, true, 1));

    let promise = "I'll look at the project files first.";
    let promised = || World::new(vec![says(promise), says("There are two."), says("Two.")]);
    let outcome = taken_up_behind(promised, promise).await.unwrap();
    assert!(outcome.completed && !outcome.final_response.contains(promise), "{outcome:?}");
}
