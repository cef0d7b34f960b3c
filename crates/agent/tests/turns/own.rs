//! The host's own loop.

use std::sync::Mutex;

use ostler_agent::api::{Answer, Finish};
use ostler_agent::{Activity, Controls, UserInput, Which};
use ostler_model::FailureClass;

use crate::world::{Reply, World, answer, calls, roles, say, says};

fn cut(text: &str) -> Reply {
    let finish = Finish::Incomplete { reason: "max_output_tokens".to_owned() };
    Reply::Answer(Box::new(Answer { finish, ..answer(text) }))
}

#[tokio::test]
async fn tools_run_and_their_results_go_back() {
    let both = calls(&[
        ("a", "read_file", r#"{"path":"hay.txt"}"#),
        ("b", "no_such_tool", "{}"),
        ("a", "read_file", r#"{"path":"none.txt"}"#),
    ]);
    let world = World::new(vec![both, says("Oats.")]);
    std::fs::write(world.inn().join("hay.txt"), "oats\n").unwrap();
    let mut agent = world.open(Which::New, None).await;

    let outcome = say(&mut agent, "what is there?").await;

    assert_eq!((outcome.completed, outcome.final_response.as_str()), (true, "Oats."));
    assert_eq!((outcome.api_calls, outcome.tool_iterations), (2, 3));
    assert_eq!(outcome.usage.turn.input, 200);
    assert_eq!(roles(&outcome), ["user", "assistant", "tool", "tool", "tool", "assistant"]);
    // A provider that gives one id twice still gets each result with its own call.
    let ids: Vec<_> = outcome.messages[1].tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "a_2"]);
    let shown = &world.shown()[1];
    assert!(shown[2].1.contains("oats"), "{shown:?}");
    assert!(shown[3].1.contains("no_such_tool"), "{shown:?}");
}

/// The tools that began and ended, in that order: `+a` and `-a`.
async fn heard(replies: &[(&str, &str, &str)]) -> Vec<String> {
    let world = World::new(vec![calls(replies), says("Done.")]);
    let mut agent = world.open(Which::New, None).await;
    let heard = Mutex::new(Vec::new());
    let hear = |activity: Activity| match activity {
        Activity::ToolBegan { call, .. } => heard.lock().unwrap().push(format!("+{call}")),
        Activity::ToolEnded { call, .. } => heard.lock().unwrap().push(format!("-{call}")),
        _ => {}
    };
    let outcome = agent.turn(UserInput::text("look"), &Controls::default(), &hear).await;
    assert!(outcome.completed, "{outcome:?}");
    heard.into_inner().unwrap()
}

#[tokio::test]
async fn lookers_run_beside_each_other_and_changers_in_their_place() {
    let look = r#"{"path":"hay.txt"}"#;
    let mut heard = heard(&[
        ("a", "todo", r#"{"todos":[]}"#),
        ("b", "read_file", look),
        ("c", "read_file", look),
        ("d", "todo", r#"{"todos":[]}"#),
    ])
    .await;
    // Which of the two that look ends first is open.
    heard[4..6].sort();
    assert_eq!(heard, ["+a", "-a", "+b", "+c", "-b", "-c", "+d", "-d"]);
}

#[tokio::test]
async fn no_more_than_eight_run_at_once_however_many_are_called() {
    let ids: Vec<String> = (0..30).map(|number| format!("call{number}")).collect();
    let look = r#"{"path":"hay.txt"}"#;
    let replies: Vec<_> = ids.iter().map(|id| (id.as_str(), "read_file", look)).collect();
    let heard = heard(&replies).await;
    let mut running = 0_usize;
    let at_once = heard.iter().map(|it| {
        running = if it.starts_with('+') { running + 1 } else { running - 1 };
        running
    });
    assert_eq!((at_once.max(), heard.len()), (Some(8), 60), "{heard:?}");
}

#[tokio::test]
async fn what_is_said_meanwhile_is_part_of_the_turn() {
    let world = World::new(vec![calls(&[("a", "todo", "{}")]), says("Both."), says("Late, too.")]);
    let mut agent = world.open(Which::New, None).await;
    let controls = Controls::default();
    let steering = controls.steering.clone();
    *world.model.meanwhile.lock().unwrap() = Some(Box::new(move || steering.say("and water")));

    let outcome = agent.turn(UserInput::text("hay"), &controls, &|_| {}).await;

    assert_eq!(outcome.final_response, "Both.");
    assert_eq!(roles(&outcome), ["user", "assistant", "tool", "user", "assistant"]);
    assert_eq!(world.shown()[1][3], ("user".to_owned(), "and water".to_owned()));
    assert_eq!(outcome.pending_steer, Vec::<String>::new());
}

#[tokio::test]
async fn whoever_speaks_in_the_last_moment_is_answered() {
    let world = World::new(vec![says("Hay."), says("And water.")]);
    let mut agent = world.open(Which::New, None).await;
    let controls = Controls::default();
    let steering = controls.steering.clone();
    *world.model.meanwhile.lock().unwrap() = Some(Box::new(move || steering.say("and water?")));

    let outcome = agent.turn(UserInput::text("hay?"), &controls, &|_| {}).await;

    assert_eq!(outcome.final_response, "And water.");
    assert_eq!(roles(&outcome), ["user", "assistant", "user", "assistant"]);
}

#[tokio::test]
async fn a_stop_keeps_what_was_said_and_what_waits() {
    let world = World::new(vec![Reply::Hangs { said: "One, tw" }, says("Three.")]);
    let mut agent = world.open(Which::New, None).await;
    let controls = Controls::default();
    let held = controls.clone();
    *world.model.meanwhile.lock().unwrap() = Some(Box::new(move || {
        held.steering.say("and on");
        held.stop.cancel();
    }));

    let outcome = agent.turn(UserInput::text("count"), &controls, &|_| {}).await;
    let next = say(&mut agent, "go on").await;

    assert_eq!((outcome.interrupted, outcome.partial, outcome.completed), (true, true, false));
    assert_eq!(outcome.final_response, "One, tw");
    assert_eq!(outcome.pending_steer, ["and on"]);
    assert_eq!(next.final_response, "Three.");
    let shown: Vec<String> = world.shown()[1].iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(shown, ["count", "One, tw", "and on", "go on"], "nothing is lost");
}

#[tokio::test]
async fn a_cut_answer_is_asked_for_until_it_is_whole() {
    let world =
        World::new(vec![cut("The mare is called "), cut("The mare is called Lu"), says("na.")]);
    let mut agent = world.open(Which::New, None).await;

    let outcome = say(&mut agent, "name?").await;

    assert_eq!(
        (outcome.completed, outcome.final_response.as_str()),
        (true, "The mare is called Luna.")
    );
    // What asks for the rest is not part of the conversation.
    assert_eq!(roles(&outcome), ["user", "assistant", "assistant", "assistant"]);
    assert!(world.shown()[1].last().unwrap().1.starts_with("[Your answer was cut off"));
}

#[tokio::test]
async fn an_answer_that_is_always_cut_is_no_success() {
    let world = World::new(vec![cut("a"), cut("b"), cut("c"), cut("d")]);
    let mut agent = world.open(Which::New, None).await;

    let outcome = say(&mut agent, "name?").await;

    assert_eq!((outcome.completed, outcome.failed, outcome.partial), (false, true, true));
    assert!(outcome.final_response.starts_with("abcd"), "{}", outcome.final_response);
    assert!(outcome.error.unwrap().contains("max_output_tokens"));
}

#[tokio::test]
async fn a_promise_is_followed_up_and_a_filter_is_a_failure() {
    let world = World::new(vec![
        says("I'll look at the project files first."),
        says("There are two."),
        Reply::Answer(Box::new(Answer { finish: Finish::ContentFilter, ..answer("") })),
    ]);
    let mut agent = world.open(Which::New, None).await;

    let promised = say(&mut agent, "how many files?").await;
    let filtered = say(&mut agent, "and now?").await;

    assert_eq!(promised.final_response, "There are two.");
    assert_eq!(filtered.failure_reason(), Some("policy"));
    assert!(!filtered.completed);
}

#[tokio::test]
async fn the_steps_of_a_turn_have_an_end() {
    let step = || calls(&[("a", "todo", "{}")]);
    let mut world = World::new(vec![step(), step(), says("Half done.")]);
    world.iterations = 2;
    let mut agent = world.open(Which::New, None).await;

    let outcome = say(&mut agent, "work").await;

    assert_eq!((outcome.completed, outcome.failed), (false, true));
    assert!(outcome.final_response.starts_with("Half done."), "{}", outcome.final_response);
    let questions = world.model.questions.lock().unwrap();
    assert!(questions[2].tools.is_empty(), "no more tools are offered");
}

#[tokio::test]
async fn a_full_context_is_summed_up_and_the_messages_stay() {
    let world = World::new(vec![
        says("One."),
        Reply::Fails(FailureClass::ContextWindow),
        says("They counted to one."),
        says("Two."),
    ]);
    let mut agent = world.open(Which::New, None).await;
    say(&mut agent, "first").await;

    let outcome = say(&mut agent, "second").await;

    assert_eq!((outcome.completed, outcome.final_response.as_str()), (true, "Two."));
    let shown: Vec<String> = world.shown()[3].iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].ends_with("They counted to one.") && shown[1] == "second", "{shown:?}");
    assert_eq!(agent.shown().messages, 4, "nothing of it is gone");
}

/// Whatever is wrong with it, the messages are worth more than half a summary.
#[tokio::test]
async fn only_a_whole_summary_takes_the_place_of_messages_and_each_is_counted() {
    let filtered = Answer { finish: Finish::ContentFilter, ..answer("They") };
    let world = World::new(vec![
        says("One."),
        Reply::Fails(FailureClass::ContextWindow),
        cut("They counted to"),
        says("They counted to one."),
        says("Two."),
        Reply::Fails(FailureClass::ContextWindow),
        cut("They"),
        Reply::Answer(Box::new(filtered)),
        says(" "),
    ]);
    let mut agent = world.open(Which::New, None).await;
    say(&mut agent, "first").await;

    let summed_up = say(&mut agent, "second").await;
    let not_summed_up = say(&mut agent, "third").await;

    assert!(summed_up.completed, "{summed_up:?}");
    assert_eq!((summed_up.api_calls, summed_up.usage.turn.input), (3, 300));
    let shown: Vec<String> = world.shown()[4].iter().map(|(_, text)| text.clone()).collect();
    assert!(shown[0].ends_with("They counted to one."), "{shown:?}");
    assert_eq!(not_summed_up.failure_reason(), Some("context_window"), "{not_summed_up:?}");
    assert_eq!(not_summed_up.api_calls, 3, "each of them cost something");
    let shown = world.shown().pop().unwrap();
    assert!(shown[0].1.ends_with("They counted to one."), "the one from before holds: {shown:?}");
    assert_eq!(agent.usage().api_calls, 7);
}

/// Each file is a quarter of the window, so the turn alone is longer than it.
#[tokio::test]
async fn a_turn_that_is_longer_than_the_window_is_summed_up_on_the_way() {
    let read = || calls(&[("a", "read_file", r#"{"path":"hay.txt"}"#)]);
    let mut replies: Vec<Reply> = (0..5).map(|_| read()).collect();
    let too_long = || Reply::Fails(FailureClass::ContextWindow);
    replies.extend([too_long(), says("Read it five times."), says("It is hay.")]);
    let mut world = World::new(replies);
    world.context_window = 20_000;
    let hay = "a line of hay and oats\n".repeat(1000);
    std::fs::write(world.inn().join("hay.txt"), &hay).unwrap();
    let mut agent = world.open(Which::New, None).await;

    let outcome = say(&mut agent, "what is it?").await;

    assert_eq!((outcome.completed, outcome.final_response.as_str()), (true, "It is hay."));
    let questions = world.shown();
    let tokens =
        |shown: &[(String, String)]| shown.iter().map(|(_, text)| text.len() / 4).sum::<usize>();
    assert!(tokens(&questions[5]) > 20_000, "{}", tokens(&questions[5]));
    assert!(tokens(&questions[6]) < 20_000, "the question for the summary fits");
    let (role, summary) = &questions[7][0];
    assert_eq!(role, "user");
    assert!(summary.contains("Read it five times.") && summary.ends_with("what is it?"));
    assert!(tokens(&questions[7]) < 10_000 && questions[7].len() > 1);
}

/// Also one that failed like that earlier, which no window could take in whole.
#[tokio::test]
async fn a_conversation_with_a_turn_longer_than_the_window_can_be_compressed() {
    let read = || calls(&[("a", "read_file", r#"{"path":"hay.txt"}"#)]);
    let mut replies: Vec<Reply> = (0..8).map(|_| read()).collect();
    replies.extend([says("Hay."), Reply::Fails(FailureClass::ContextWindow), says("They read.")]);
    let mut world = World::new(replies);
    let hay = "a line of hay and oats\n".repeat(1000);
    std::fs::write(world.inn().join("hay.txt"), &hay).unwrap();
    world.context_window = 1_000_000;
    let mut agent = world.open(Which::New, None).await;
    say(&mut agent, "what is it?").await;
    drop(agent);
    // Another model, whose window is smaller than it says.
    world.context_window = 30_000;
    let mut agent = world.open(Which::Last, None).await;

    let done = agent.compress(&Controls::default(), &|_| {}).await.unwrap();

    assert_eq!(done, "earlier messages were summed up");
    let sizes: Vec<usize> = world.shown()[9..]
        .iter()
        .map(|shown| shown.iter().map(|(_, text)| text.len() / 4).sum())
        .collect();
    assert!(sizes[0] < 30_000 && sizes[1] <= sizes[0] / 2, "{sizes:?}");
}

#[tokio::test]
async fn a_failure_says_what_to_do() {
    let world = World::new(vec![Reply::Fails(FailureClass::Auth), says("Now.")]);
    let mut agent = world.open(Which::New, None).await;

    let outcome = say(&mut agent, "hello").await;
    let next = say(&mut agent, "again").await;

    assert_eq!((outcome.failed, outcome.partial, outcome.completed), (true, true, false));
    assert!(outcome.final_response.contains("[providers]"), "{}", outcome.final_response);
    assert_eq!(next.final_response, "Now.");
}

/// What the settings say is for conversations that begin.
#[tokio::test]
async fn a_conversation_keeps_its_own_effort_and_model() {
    let mut world = World::new(vec![says("One."), says("Two.")]);
    let mut agent = world.open(Which::New, None).await;
    assert_eq!(agent.effort().as_deref(), Some("medium"));
    agent.set_effort(Some("low".to_owned())).await.unwrap();
    agent.set_model(Some("barley".to_owned())).await.unwrap();
    say(&mut agent, "first").await;
    drop(agent);

    world.default_effort = "high".to_owned();
    let agent = world.open(Which::Last, None).await;

    assert_eq!((agent.effort().as_deref(), agent.model().as_str()), (Some("low"), "barley"));
}
