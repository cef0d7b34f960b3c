//! What follows a turn: a review, a program that keeps a memory of its own. And what Codex has of the agent's tools.

use std::collections::BTreeSet;
use std::sync::Mutex;

use ostler_agent::api::{Answer, Finish};
use ostler_agent::{Activity, Controls, Intervals, NOT_OFFERED, Runtime, UserInput, Which};
use ostler_model::{FailureClass, Message};

use crate::codex::ended;
use crate::world::{Reply, World, answer, say, says};

/// On Codex nobody needs to name a model; a review needs one.
#[tokio::test]
async fn a_review_that_has_no_model_waits_until_there_is_one() {
    let mut world = World::new(vec![says("Nothing to save.")]);
    world.intervals = Intervals { memory: 1, skills: 0 };
    world.default_model = String::new();
    let ends = [ended("One."), ended("Still one."), ended("Two.")];
    world.daemon.ends.lock().unwrap().extend(ends);
    let notes = Mutex::new(Vec::new());
    let hear = |activity| {
        if let Activity::Note(text) = activity {
            notes.lock().unwrap().push(text);
        }
    };
    // Another chat knows what the first has said.
    for which in [Which::New, Which::Last] {
        let mut agent = world.open(which, Some(Runtime::CodexAppServer)).await;
        let outcome = agent.turn(UserInput::text("first"), &Controls::default(), &hear).await;
        assert!(outcome.completed);
        agent.close().await;
    }
    assert!(world.model.questions.lock().unwrap().is_empty(), "nobody could be asked");
    let notes = notes.into_inner().unwrap();
    assert!(matches!(notes.as_slice(), [it] if it.contains("`review_model`")), "{notes:?}");

    world.review_model = Some("small-oats".to_owned());
    // What was due stays so: the interval alone is not reached again.
    world.intervals = Intervals { memory: 3, skills: 0 };
    let mut agent = world.open(Which::Last, None).await;
    assert!(say(&mut agent, "second").await.completed);
    agent.close().await;

    let questions = world.model.questions.lock().unwrap();
    let models: Vec<&str> = questions.iter().map(|it| it.model.as_str()).collect();
    assert_eq!(models, ["small-oats"]);
}

/// Whichever way Codex has the tools: a model that remembers by itself is not reminded. What another server calls memory is not ours.
#[tokio::test]
async fn codex_is_not_reminded_of_what_it_does_by_itself() {
    let table = [
        ("memory", 0),
        ("mcp.ostler-tools.memory", 0),
        ("mcp.hay.memory", 1),
        ("mcp.ostler-tools-2.memory", 1),
        ("exec_command", 1),
    ];
    for (tool, reviews) in table {
        let mut world = World::new(vec![says("Nothing to save.")]);
        world.intervals = Intervals { memory: 1, skills: 0 };
        let mut turn = ended("Done.");
        turn.messages[0] = Message::call("c".to_owned(), tool.to_owned(), "{}".to_owned());
        world.daemon.ends.lock().unwrap().push_back(turn);
        let mut agent = world.open(Which::New, Some(Runtime::CodexAppServer)).await;
        assert!(say(&mut agent, "first").await.completed);
        agent.close().await;
        assert_eq!(world.model.questions.lock().unwrap().len(), reviews, "{tool}");
    }
}

#[tokio::test]
async fn only_good_turns_are_told_to_the_program_that_keeps_a_memory_of_its_own() {
    let filtered = Answer { finish: Finish::ContentFilter, ..answer("Ha") };
    let mut world = World::new(vec![
        says("One."),
        Reply::Fails(FailureClass::Auth),
        Reply::Answer(Box::new(filtered)),
        Reply::Hangs { said: "Tw" },
        says("Five."),
    ]);
    let file = world.folder.path().join("synced");
    let script = format!("cat >> {0}; echo >> {0}", file.display());
    world.memory_sync = Some(["/bin/sh", "-c", &script].map(str::to_owned).to_vec());
    let mut agent = world.open(Which::New, None).await;

    for text in ["good", "refused", "filtered"] {
        say(&mut agent, text).await;
    }
    let controls = Controls::default();
    let stop = controls.stop.clone();
    *world.model.meanwhile.lock().unwrap() = Some(Box::new(move || stop.cancel()));
    let stopped = agent.turn(UserInput::text("stopped"), &controls, &|_| {}).await;
    assert!(stopped.interrupted);
    say(&mut agent, "good again").await;
    agent.close().await;

    let text = std::fs::read_to_string(&file).unwrap();
    let turns = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let told: Vec<_> = turns.map(|it| (it["user"].clone(), it["assistant"].clone())).collect();
    assert_eq!(told, [("good".into(), "One.".into()), ("good again".into(), "Five.".into())]);
}

#[tokio::test]
async fn what_codex_is_not_given_is_named() {
    let world = World::new(vec![says("Hello.")]);
    let mut agent = world.open(Which::New, None).await;
    say(&mut agent, "hello").await;

    let questions = world.model.questions.lock().unwrap();
    let all: BTreeSet<&str> = questions[0].tools.iter().map(|it| it.name.as_str()).collect();
    let given = ["memory", "session_search", "skill_view", "skills_list", "todo"];
    let expected: BTreeSet<&str> = NOT_OFFERED.into_iter().chain(given).collect();
    assert_eq!(all, expected);
}
