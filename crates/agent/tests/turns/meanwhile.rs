//! What happens while a turn on Codex is open: a stop, words for it, a daemon that goes away.

use ostler_agent::ports::{Taken, TaskEnded};
use ostler_agent::{Agent, Controls, Runtime, TurnOutcome, UserInput, Which};
use ostler_model::{Message, TurnId};

use crate::codex::ended_in;
use crate::world::{World, say, says};

const KEY: &str = "chat/0198-talk/1/1";

async fn opened(world: &World) -> Agent {
    world.open(Which::New, Some(Runtime::CodexAppServer)).await
}

/// A turn into which somebody says something; it ends after that.
async fn steered(world: &World, agent: &mut Agent) -> TurnOutcome {
    *world.daemon.ends_after.lock().unwrap() = Some("steer");
    let controls = Controls::default();
    controls.steering.say("faster");
    agent.turn(UserInput::text("work"), &controls, &|_| {}).await
}

fn contents(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|it| it.content.as_deref().unwrap_or_default()).collect()
}

#[tokio::test]
async fn words_reach_the_turn_that_runs() {
    let world = World::new(Vec::new());
    world.daemon.ends.lock().unwrap().push_back(ended_in("turn", "Done."));
    world.daemon.taken.lock().unwrap().push_back(Taken::By(TurnId::new("turn")));
    let mut agent = opened(&world).await;

    let outcome = steered(&world, &mut agent).await;

    assert_eq!((outcome.completed, outcome.pending_steer), (true, Vec::new()));
    let asked = world.daemon.asked.lock().unwrap().clone();
    let steer = format!("steer task1 faster {KEY}/steer/1");
    assert_eq!(asked, [format!("start {KEY}"), format!("follow task1 {KEY}"), steer]);
}

/// The turn had ended when they came: the turn that they began belongs to it.
#[tokio::test]
async fn words_that_came_too_late_are_followed_to_their_answer() {
    let world = World::new(Vec::new());
    let ends = [ended_in("turn", "Done."), ended_in("late", "Faster, then.")];
    world.daemon.ends.lock().unwrap().extend(ends);
    world.daemon.taken.lock().unwrap().push_back(Taken::NotYet);
    let mut agent = opened(&world).await;

    let outcome = steered(&world, &mut agent).await;

    assert_eq!(outcome.final_response, "Faster, then.");
    assert_eq!(
        contents(&outcome.messages),
        ["work", "", "ok", "Done.", "faster", "", "ok", "Faster, then."]
    );
    assert_eq!((outcome.api_calls, outcome.pending_steer), (4, Vec::new()));
    let asked = world.daemon.asked.lock().unwrap().clone();
    assert_eq!(asked.last().unwrap(), &format!("follow task1 {KEY}/steer/1"));
}

#[tokio::test]
async fn words_that_nobody_took_are_told_to_the_next_turn() {
    let world = World::new(Vec::new());
    world.daemon.ends.lock().unwrap().extend([ended_in("turn", "Done."), ended_in("next", "On.")]);
    let mut agent = opened(&world).await;

    let outcome = steered(&world, &mut agent).await;
    say(&mut agent, "and on").await;

    assert_eq!(outcome.pending_steer, ["faster"]);
    let context = world.daemon.inputs.lock().unwrap()[1].context.clone();
    assert_eq!(context.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["faster"]);
}

/// Whoever takes the turn up looks for what was said before, and says more under a key of its own.
#[tokio::test]
async fn words_outlive_the_program() {
    let world = World::new(Vec::new());
    let mut agent = opened(&world).await;
    let lost = steered(&world, &mut agent).await;
    assert!(lost.failed && agent.has_open_turn(), "{lost:?}");
    drop(agent);

    world.daemon.ends.lock().unwrap().push_back(ended_in("turn", "Done."));
    let taken = [Taken::By(TurnId::new("turn")), Taken::Never];
    world.daemon.taken.lock().unwrap().extend(taken);
    let mut agent = world.open(Which::Last, None).await;
    let controls = Controls::default();
    controls.steering.say("no, slower");
    *world.daemon.ends_after.lock().unwrap() = Some("steer");
    let outcome = agent.take_up(&controls, &|_| {}).await.unwrap();

    assert_eq!(outcome.pending_steer, ["no, slower"]);
    let asked = world.daemon.asked.lock().unwrap().clone();
    assert_eq!(asked.last().unwrap(), &format!("steer task1 no, slower {KEY}/steer/2"));
}

#[tokio::test]
async fn a_stop_is_repeated_until_it_is_heard() {
    let world = World::new(Vec::new());
    world.daemon.ends.lock().unwrap().push_back(ended_in("turn", "Done."));
    *world.daemon.ends_after.lock().unwrap() = Some("interrupt");
    *world.daemon.deaf_to_stops.lock().unwrap() = 2;
    let mut agent = opened(&world).await;
    let controls = Controls::default();
    controls.stop.cancel();

    agent.turn(UserInput::text("work"), &controls, &|_| {}).await;

    assert_eq!(world.daemon.asked.lock().unwrap().last().unwrap(), "interrupt task1");
}

#[tokio::test]
async fn a_stop_before_codex_has_begun_is_an_interruption() {
    let world = World::new(Vec::new());
    let ended = TaskEnded {
        thread: None,
        result: None,
        earlier: Vec::new(),
        was_withdrawn: true,
        messages: Vec::new(),
        failure: None,
        last_reasoning: None,
    };
    world.daemon.ends.lock().unwrap().push_back(ended);
    let mut agent = opened(&world).await;

    let outcome = say(&mut agent, "work").await;

    assert_eq!((outcome.interrupted, outcome.partial, outcome.failed), (true, true, false));
}

/// It may be at work by now: nothing else may be told to do the same.
#[tokio::test]
async fn a_message_that_may_have_arrived_is_looked_for_and_not_sent_as_another() {
    let world = World::new(Vec::new());
    world.daemon.ends.lock().unwrap().extend([ended_in("one", "One."), ended_in("two", "Two.")]);
    *world.daemon.silences.lock().unwrap() = 1;
    let mut agent = opened(&world).await;

    let first = say(&mut agent, "first").await;
    let is_open = agent.has_open_turn();
    let second = say(&mut agent, "second").await;

    assert!(first.failed && is_open, "{first:?}");
    assert!(first.final_response.contains("do not send it again"), "{}", first.final_response);
    assert_eq!(second.final_response, "Two.");
    let asked = world.daemon.asked.lock().unwrap().clone();
    let next = "chat/0198-talk/2";
    assert_eq!(
        asked,
        [
            format!("start {KEY}"),
            format!("start {KEY}"),
            format!("follow task1 {KEY}"),
            format!("send task1 {next}"),
            format!("follow task1 {next}"),
        ]
    );
    let said = agent.last_messages(10);
    assert_eq!(contents(&said), ["first", "", "One.", "second", "", "Two."]);
}

/// The turn before may still run and nobody can be asked: what is said meanwhile is not thrown away.
#[tokio::test]
async fn what_is_said_while_a_turn_cannot_be_followed_is_kept() {
    let world = World::new(Vec::new());
    let mut agent = opened(&world).await;
    let lost = say(&mut agent, "first").await;
    *world.daemon.is_away.lock().unwrap() = true;
    let away = say(&mut agent, "second").await;
    drop(agent);

    *world.daemon.is_away.lock().unwrap() = false;
    world.daemon.ends.lock().unwrap().extend([ended_in("one", "One."), ended_in("two", "Two.")]);
    let mut agent = world.open(Which::Last, None).await;
    let third = say(&mut agent, "third").await;

    assert!(lost.failed && away.failed, "{away:?}");
    assert_eq!(away.pending_steer, ["second"]);
    assert_eq!(third.final_response, "Two.");
    let said = agent.last_messages(10);
    assert_eq!(contents(&said), ["first", "", "One.", "second", "third", "", "Two."]);
    let context = world.daemon.inputs.lock().unwrap().last().unwrap().context.clone();
    assert_eq!(context.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["second"]);
}

#[tokio::test]
async fn whoever_goes_on_without_codex_is_not_held_up_by_it() {
    let world = World::new(vec![says("Alone.")]);
    let mut agent = opened(&world).await;
    say(&mut agent, "first").await;
    *world.daemon.is_away.lock().unwrap() = true;
    say(&mut agent, "second").await;

    agent.set_runtime(Runtime::Auto).await.unwrap();
    let alone = say(&mut agent, "third").await;

    assert_eq!((alone.final_response.as_str(), agent.has_open_turn()), ("Alone.", false));
    let shown = world.shown().remove(0);
    let shown: Vec<_> = shown.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(shown, ["first", "second", "third"]);
}
