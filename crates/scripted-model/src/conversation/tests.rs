use super::*;
use crate::script::Conversation;
use std::num::NonZeroU32;

fn text(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}

fn script(conversations: &[(&str, &[Answer])]) -> Script {
    let conversations = conversations.iter().map(|(prompt, answers)| Conversation {
        prompt: (*prompt).to_owned(),
        answers: answers.to_vec(),
    });
    Script { conversations: conversations.collect(), ..Script::default() }
}

fn request(thread: &str, messages: &[&str]) -> Incoming {
    Incoming {
        thread: thread.to_owned(),
        user_messages: messages.iter().map(|message| (*message).to_owned()).collect(),
        input_items: messages.len(),
        ..Incoming::default()
    }
}

/// The text that plays, or why none does.
fn ask(progress: &mut Progress, script: &Script, thread: &str, messages: &[&str]) -> String {
    match progress.choose(script, &request(thread, messages)) {
        Ok(choice) => choice.answer.text.clone().unwrap_or_default(),
        Err(no_answer) => no_answer.to_string(),
    }
}

#[test]
fn each_request_takes_the_next_answer_until_there_is_none() {
    let script = script(&[("tidy", &[text("one"), text("two")])]);
    let mut progress = Progress::default();
    let mut ask = || ask(&mut progress, &script, "t", &["please tidy up"]);
    assert_eq!(
        [ask(), ask(), ask()],
        [
            "one",
            "two",
            "conversation \"tidy\" has answers for 2 requests and this is request 3; add an answer, `repeat = true` on the last one, or a [fallback]",
        ]
    );
}

#[test]
fn threads_count_separately() {
    let script = script(&[("tidy", &[text("one"), text("two")])]);
    let mut progress = Progress::default();
    let mut ask = |thread| ask(&mut progress, &script, thread, &["tidy"]);
    assert_eq!([ask("a"), ask("b"), ask("a"), ask("b")], ["one", "one", "two", "two"]);
}

#[test]
fn the_newest_message_that_matches_decides() {
    let script = script(&[("tidy", &[text("t1"), text("t2")]), ("paint", &[text("p1")])]);
    let mut progress = Progress::default();
    let mut ask = |messages: &[&str]| ask(&mut progress, &script, "t", messages);
    assert_eq!(ask(&["<environment_context>", "tidy"]), "t1");
    assert_eq!(ask(&["tidy", "and be quick"]), "t2", "a steer stays in its conversation");
    assert_eq!(ask(&["tidy", "and be quick", "paint"]), "p1");
}

#[test]
fn the_same_prompt_again_starts_anew() {
    let script = script(&[("tidy", &[text("one"), text("two")])]);
    let mut progress = Progress::default();
    let mut ask = |messages: &[&str]| ask(&mut progress, &script, "t", messages);
    assert_eq!(
        [ask(&["tidy"]), ask(&["tidy", "tidy"]), ask(&["tidy", "tidy"])],
        ["one", "one", "two"]
    );
}

#[test]
fn the_first_conversation_in_the_file_wins_within_a_message() {
    let script = script(&[("tidy the notes", &[text("notes")]), ("tidy", &[text("any")])]);
    let mut progress = Progress::default();
    assert_eq!(ask(&mut progress, &script, "a", &["tidy the notes"]), "notes");
    assert_eq!(ask(&mut progress, &script, "b", &["tidy the attic"]), "any");
}

#[test]
fn answers_play_several_times_or_for_ever() {
    let several = Answer { plays: Plays::Times(NonZeroU32::new(2).unwrap()), ..text("busy") };
    let forever = Answer { plays: Plays::Forever, ..text("fine") };
    let script = script(&[("go", &[several, forever])]);
    let mut progress = Progress::default();
    let mut places = Vec::new();
    for _ in 0..5 {
        let choice = progress.choose(&script, &request("t", &["go"])).unwrap();
        places.push((choice.played.answer, choice.played.request));
    }
    assert_eq!(places, [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)]);
}

#[test]
fn the_fallback_plays_when_nothing_else_does() {
    let mut script = script(&[("tidy", &[text("one")])]);
    script.fallback = Some(text("what?"));
    let mut progress = Progress::default();
    let mut ask = |messages: &[&str]| ask(&mut progress, &script, "t", messages);
    assert_eq!(
        [ask(&["tidy"]), ask(&["tidy"]), ask(&["paint"]), ask(&[])],
        ["one", "what?", "what?", "what?"]
    );
}

#[test]
fn says_what_did_not_match() {
    let script = script(&[("tidy", &[text("one")])]);
    let mut progress = Progress::default();
    let long = "x".repeat(5000);
    assert_eq!(
        progress.choose(&script, &request("t", &["first", &long])),
        Err(NoAnswer::NoMatch("x".repeat(SHOWN_PROMPT_CHARS)))
    );
    assert_eq!(progress.choose(&script, &request("t", &[])), Err(NoAnswer::NoPrompt));
}

#[test]
fn seeds_repeat_between_servers_and_never_within_one() {
    let forever = Answer { plays: Plays::Forever, ..text("fine") };
    let script = script(&[("go", &[forever])]);
    let seeds = || {
        let mut progress = Progress::default();
        let requests =
            [("a", vec!["go"]), ("a", vec!["go"]), ("b", vec!["go"]), ("a", vec!["go", "go"])];
        requests.map(|(thread, messages)| {
            let request = request(thread, &messages);
            progress.choose(&script, &request).unwrap().seed
        })
    };
    let distinct: std::collections::HashSet<_> = seeds().into_iter().collect();
    assert_eq!((seeds(), distinct.len()), (seeds(), 4));
}

#[test]
fn old_threads_are_forgotten_first() {
    let script = script(&[("go", &[text("one"), text("two")])]);
    let mut progress = Progress::default();
    for thread in 0..=REMEMBERED_RUNS {
        ask(&mut progress, &script, &thread.to_string(), &["go"]);
    }
    let newest = REMEMBERED_RUNS.to_string();
    assert_eq!(ask(&mut progress, &script, &newest, &["go"]), "two");
    assert_eq!(ask(&mut progress, &script, "0", &["go"]), "one");
    assert_eq!(progress.requests.len(), REMEMBERED_RUNS);
}

#[test]
fn what_has_been_done_decides_where_the_script_says_so() {
    let until =
        |name: &str, done: &str| Answer { plays: Plays::Until(done.to_owned()), ..text(name) };
    let script =
        script(&[("tidy", &[until("one", "did 1"), until("two", "did 2"), text("three")])]);
    let mut progress = Progress::default();
    let mut ask = |results: &[&str]| {
        let results = results.iter().map(|result| (*result).to_owned()).collect();
        let incoming = Incoming { results, ..request("t", &["tidy", "go on"]) };
        let choice = progress.choose(&script, &incoming).unwrap();
        choice.answer.text.clone().unwrap_or_default()
    };
    let asked = [
        ask(&[]),
        ask(&["aborted"]),
        ask(&["aborted", "it did 1"]),
        ask(&["did 1", "did 2"]),
        ask(&["did 1", "did 2"]),
    ];
    assert_eq!(asked, ["one", "one", "two", "three", "three"]);
}
