//! Turns on Codex.

use ostler_agent::ports::TaskEnded;
use ostler_agent::{Controls, Runtime, UserInput, Which};
use ostler_model::input::{Content, ContextPart, ContextRole, Part};
use ostler_model::usage::{Tokens, Usage};
use ostler_model::{Failure, FailureClass, Message, TaskId, TurnEnd, TurnResult};

use crate::world::{World, roles, say, says};

pub(crate) fn ended(answer: &str) -> TaskEnded {
    ended_in("turn", answer)
}

pub(crate) fn ended_in(turn: &str, answer: &str) -> TaskEnded {
    let tokens = Tokens { input: 50, output: 5, ..Tokens::default() };
    let usage = Usage { turn: tokens, last_call: tokens, calls: 2, ..Usage::default() };
    let result = TurnResult {
        turn: turn.into(),
        inputs: Vec::new(),
        unanswered: Vec::new(),
        end: TurnEnd::Completed,
        final_answer: Some(answer.to_owned()),
        tool_iterations: 1,
        usage,
        plan: None,
        diff: None,
        unseen_changes: false,
        compacted: false,
        retries: 0,
        retire: false,
        elapsed_ms: 1,
    };
    let call = Message::call("c".to_owned(), "exec_command".to_owned(), "{}".to_owned());
    let messages = vec![
        call,
        Message::tool("c".to_owned(), "ok".to_owned()),
        Message::assistant(answer.to_owned()),
    ];
    TaskEnded {
        thread: Some("thread".into()),
        result: Some(result),
        earlier: Vec::new(),
        was_withdrawn: false,
        messages,
        failure: None,
        last_reasoning: None,
    }
}

fn part(role: ContextRole, text: &str) -> ContextPart {
    ContextPart { role, text: text.to_owned() }
}

#[tokio::test]
async fn a_turn_has_the_shape_of_the_other_runtime() {
    let world = World::new(Vec::new());
    world.daemon.ends.lock().unwrap().push_back(ended("Done."));
    let mut agent = world.open(Which::New, Some(Runtime::CodexAppServer)).await;

    let outcome = say(&mut agent, "work").await;

    assert_eq!((outcome.completed, outcome.partial, outcome.persisted), (true, false, true));
    assert_eq!(outcome.final_response, "Done.");
    assert_eq!(roles(&outcome), ["user", "assistant", "tool", "assistant"]);
    assert_eq!((outcome.api_calls, outcome.usage.turn.input), (2, 50));
    assert!(world.model.questions.lock().unwrap().is_empty(), "the model's API is not called");
    let told = world.daemon.settings.lock().unwrap()[0].developer_instructions.clone();
    assert_eq!(told.as_deref(), Some("You are the stable's clerk."));
}

#[tokio::test]
async fn each_runtime_is_told_once_what_was_said_on_the_other() {
    let world = World::new(vec![says("One."), says("Three.")]);
    world.daemon.ends.lock().unwrap().extend([ended("Two."), ended("Four.")]);
    let mut agent = world.open(Which::New, None).await;

    say(&mut agent, "first").await;
    agent.set_runtime(Runtime::CodexAppServer).await.unwrap();
    say(&mut agent, "second").await;
    agent.set_runtime(Runtime::Auto).await.unwrap();
    say(&mut agent, "third").await;
    agent.set_runtime(Runtime::CodexAppServer).await.unwrap();
    let last = say(&mut agent, "fourth").await;

    assert_eq!(last.final_response, "Four.");
    let contexts: Vec<_> =
        world.daemon.inputs.lock().unwrap().iter().map(|input| input.context.clone()).collect();
    let (user, assistant) = (ContextRole::User, ContextRole::Assistant);
    assert_eq!(
        contexts,
        [
            vec![part(user, "first"), part(assistant, "One.")],
            vec![part(user, "third"), part(assistant, "Three.")],
        ]
    );
    let shown: Vec<String> = world.shown()[1].iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(shown, ["first", "One.", "second", "", "ok", "Two.", "third"]);
    let asked = world.daemon.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [
            "start chat/0198-talk/2/1",
            "follow task1 chat/0198-talk/2/1",
            "release task1",
            "send task1 chat/0198-talk/4",
            "follow task1 chat/0198-talk/4",
        ]
    );
}

#[tokio::test]
async fn images_of_the_other_runtime_come_with_the_next_message() {
    let world = World::new(vec![says("A mare."), says("A foal.")]);
    world.daemon.ends.lock().unwrap().extend([ended("Both."), ended("Once more.")]);
    let mut agent = world.open(Which::New, None).await;
    let image = |name: &str| format!("data:image/png;base64,{name}");
    let huge = "x".repeat(6 * 1024 * 1024);
    let said = [
        UserInput { text: "who?".to_owned(), images: vec![image("mare"), image(&huge)] },
        UserInput { text: String::new(), images: vec![image("foal")] },
    ];
    for said in said {
        agent.turn(said, &Controls::default(), &|_| {}).await;
    }
    agent.set_runtime(Runtime::CodexAppServer).await.unwrap();
    say(&mut agent, "and who are both?").await;
    // Another thread is told all of it anew, and each of it once.
    world.daemon.gone.lock().unwrap().push(TaskId::new("task1"));
    say(&mut agent, "again").await;

    let inputs = world.daemon.inputs.lock().unwrap().clone();
    let (user, assistant) = (ContextRole::User, ContextRole::Assistant);
    let context = [
        part(user, "who?\n[image 1]\n[an image, which is left out here]"),
        part(assistant, "A mare."),
        part(user, "[image 2]"),
        part(assistant, "A foal."),
    ];
    let carried = |text: &str| {
        let earlier =
            "[Here are the images of the earlier messages, in the order of their numbers:]";
        Content::Message(vec![
            Part::Text(text.to_owned()),
            Part::Text(earlier.to_owned()),
            Part::ImageUrl(image("mare")),
            Part::ImageUrl(image("foal")),
        ])
    };
    assert_eq!(
        (&inputs[0].context[..], &inputs[0].content),
        (&context[..], &carried("and who are both?"))
    );
    assert_eq!((&inputs[1].context[..4], &inputs[1].content), (&context[..], &carried("again")));
}

#[tokio::test]
async fn a_task_that_is_gone_is_replaced_and_told_everything() {
    let world = World::new(Vec::new());
    world.daemon.ends.lock().unwrap().extend([ended("One."), ended("Two.")]);
    let mut agent = world.open(Which::New, Some(Runtime::CodexAppServer)).await;

    say(&mut agent, "first").await;
    world.daemon.gone.lock().unwrap().push(TaskId::new("task1"));
    let second = say(&mut agent, "second").await;

    assert_eq!(second.final_response, "Two.");
    let context = world.daemon.inputs.lock().unwrap()[1].context.clone();
    assert_eq!(context, [part(ContextRole::User, "first"), part(ContextRole::Assistant, "One.")]);
}

#[tokio::test]
async fn a_daemon_that_is_away_fails_the_turn_with_advice_and_the_next_one_works() {
    let world = World::new(Vec::new());
    *world.daemon.is_away.lock().unwrap() = true;
    let mut agent = world.open(Which::New, Some(Runtime::CodexAppServer)).await;

    let away = say(&mut agent, "first").await;
    *world.daemon.is_away.lock().unwrap() = false;
    world.daemon.ends.lock().unwrap().push_back(ended("Two."));
    let back = say(&mut agent, "second").await;

    assert_eq!((away.failed, away.partial, away.completed), (true, true, false));
    assert!(away.final_response.contains("/codex-runtime auto"), "{}", away.final_response);
    assert_eq!(back.final_response, "Two.");
    let context = world.daemon.inputs.lock().unwrap()[0].context.clone();
    assert_eq!(context, [part(ContextRole::User, "first")], "what it never heard it is told");
}

#[tokio::test]
async fn a_failure_of_codex_says_what_to_do() {
    let world = World::new(Vec::new());
    let failure = Failure::new(FailureClass::ServerGone, "the app-server died");
    world.daemon.ends.lock().unwrap().push_back(TaskEnded { failure: Some(failure), ..ended("") });
    let mut agent = world.open(Which::New, Some(Runtime::CodexAppServer)).await;

    let outcome = say(&mut agent, "work").await;

    assert_eq!(outcome.failure_reason(), Some("server_gone"));
    assert!(outcome.final_response.contains("fresh app-server"), "{}", outcome.final_response);
}

/// One that was cut off by a crash has used tokens, too.
#[tokio::test]
async fn what_a_turn_used_is_the_sum_over_all_that_worked_on_it() {
    let world = World::new(Vec::new());
    let first = ended_in("cut", "").result.unwrap();
    let end = TaskEnded { earlier: vec![first], ..ended("Done.") };
    world.daemon.ends.lock().unwrap().push_back(end);
    let mut agent = world.open(Which::New, Some(Runtime::CodexAppServer)).await;

    let outcome = say(&mut agent, "work").await;

    assert_eq!((outcome.api_calls, outcome.tool_iterations), (4, 2));
    assert_eq!((outcome.usage.turn.input, outcome.usage.last_call.input), (100, 50));
    assert_eq!((agent.usage().api_calls, agent.usage().total.input), (4, 100));
}
