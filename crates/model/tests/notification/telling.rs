//! Which event is told, to whom, and in which words.

use ostler_model::ask::{Ask, AskKind, CommandAsk};
use ostler_model::notification::{
    Addressee, Asked, Content, Kind, Occasion, addressees, is_address, kind_of_ask, kind_of_move,
};
use ostler_model::task::Cause;
use ostler_model::task::machine::AskedOf;
use ostler_model::usage::Usage;
use ostler_model::{Failure, FailureClass, Interrupter, Task, TaskState, TurnEnd, TurnResult};

use crate::{NOON, task};

fn result(answer: &str) -> TurnResult {
    TurnResult {
        turn: "turn-1".into(),
        inputs: Vec::new(),
        unanswered: Vec::new(),
        end: TurnEnd::Completed,
        final_answer: Some(answer.to_owned()),
        tool_iterations: 0,
        usage: Usage::default(),
        plan: None,
        diff: None,
        unseen_changes: false,
        compacted: false,
        retries: 0,
        retire: false,
        elapsed_ms: 1,
    }
}

fn failure() -> Failure {
    Failure::new(FailureClass::UsageLimit { resets_at: Some(7) }, "the limit is reached")
}

fn command(line: &str) -> Ask {
    let command = CommandAsk {
        command: Some(line.to_owned()),
        sandboxing: ostler_model::ask::Sandboxing::Inside,
        ..CommandAsk::default()
    };
    Ask {
        thread: None,
        turn: None,
        item: None,
        reason: Some("the horse is loose".to_owned()),
        kind: AskKind::Command(command),
        offers: Vec::new(),
    }
}

#[test]
fn every_end_is_told_and_what_waits_for_a_person_once() {
    let limit = Cause::LimitReached { failure: failure(), until: NOON };
    let lost = Cause::ServerLost { failure: failure() };
    let interrupted = Cause::Interrupted { by: Interrupter::Codex };
    let told = |to, cause: &Cause| kind_of_move(to, cause);
    assert_eq!(told(TaskState::Completed, &Cause::Rejoined), Some(Kind::Finished));
    assert_eq!(
        told(TaskState::Failed, &Cause::TurnFailed { failure: failure() }),
        Some(Kind::Failed)
    );
    assert_eq!(told(TaskState::Cancelled, &interrupted), Some(Kind::Cancelled));
    assert_eq!(told(TaskState::Parked, &limit), Some(Kind::Parked));
    // Somebody is asked whether it goes on, and that ask is told.
    assert_eq!(told(TaskState::Parked, &lost), None);
    for state in [
        TaskState::Queued,
        TaskState::Starting,
        TaskState::Working,
        TaskState::Recovering,
        // Of several asks at once each is told by itself.
        TaskState::WaitingForApproval,
        TaskState::WaitingForUserInput,
    ] {
        assert_eq!(told(state, &Cause::Placed), None, "{state}");
    }
    assert_eq!(kind_of_ask(AskedOf::Approval), Kind::NeedsApproval);
    assert_eq!(kind_of_ask(AskedOf::UserInput), Kind::NeedsInput);
    for kind in Kind::ALL {
        assert_eq!(Kind::from_name(kind.name()), Some(kind));
    }
}

#[test]
fn targets_hear_what_they_want_and_no_target_is_a_word_of_its_own() {
    let kinds = |name: &str| match name {
        "all" => Some(Vec::new()),
        "failures" => Some(vec![Kind::Failed]),
        _ => None,
    };
    let to = |named: &[&str], kind| {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        addressees(&named, kind, kinds)
    };
    let known = |name: &str| Addressee::To(name.to_owned());
    assert_eq!(to(&[], Kind::Finished), [Addressee::Nobody]);
    assert_eq!(to(&["all", "failures", "all"], Kind::Failed), [known("all"), known("failures")]);
    assert_eq!(to(&["failures"], Kind::Finished), []);
    assert_eq!(to(&["gone"], Kind::Finished), [Addressee::Unknown("gone".to_owned())]);
    assert_eq!(
        ["https://a", "http://a", "ops", "ftp://a"].map(is_address),
        [true, true, false, false]
    );
}

#[test]
fn a_name_is_the_same_in_every_process_and_another_for_everything_else() {
    let asked = |ask: &str, round| Occasion::Asked { ask: ask.into(), round };
    let name = |occasion: &Occasion, task: &str, target| occasion.delivery(&task.into(), target);
    let first = name(&asked("a1", 0), "t1", "ops");
    assert_eq!(first.as_str().len(), 20);
    assert_eq!(first, name(&asked("a1", 0), "t1", "ops"));
    let moved = Occasion::Moved { nonce: "a1".to_owned() };
    let others = [
        name(&asked("a1", 1), "t1", "ops"),
        name(&asked("a2", 0), "t1", "ops"),
        name(&asked("a1", 0), "t2", "ops"),
        name(&asked("a1", 0), "t1", "phone"),
        name(&moved, "t1", "ops"),
    ];
    assert!(others.iter().all(|other| *other != first), "{others:?}");
}

#[test]
fn the_answer_is_carried_and_bounded() {
    let short = Task { last_result: Some(result("Harnessed.")), ..task() };
    let content = Content::of_state(&short, Kind::Finished, Some("https://inn.example/"));
    assert_eq!(content.answer.as_deref(), Some("Harnessed."));
    assert_eq!(content.link.as_deref(), Some("https://inn.example/#/tasks/t1"));
    assert_eq!(
        content.text(),
        "completed: the turn is complete\n\nHarnessed.\n\nin /inn\nhttps://inn.example/#/tasks/t1"
    );
    let long = Task { last_result: Some(result(&"ä".repeat(100_000))), ..task() };
    let content = Content::of_state(&long, Kind::Finished, None);
    assert!(content.answer_is_cut);
    assert_eq!(content.answer.as_ref().unwrap().chars().count(), 16 * 1024);
    assert!(content.text().contains('…'));
    // Slack takes 3000 characters; whatever is long, and whatever the signs are, it is no more.
    for sign in ["ä", "x", "…", "🐎"] {
        let mut task = long.clone();
        task.last_result = Some(result(&sign.repeat(20_000)));
        task.settings.cwd = "/inn".repeat(900);
        let ask = command(&sign.repeat(9000));
        for content in [
            Content::of_state(&task, Kind::Finished, Some(&"https://inn.example/".repeat(90))),
            Content::of_ask(&task, &"a1".into(), &ask, false, Some("https://inn.example/")),
        ] {
            assert!(content.text().len() <= 3000, "{sign}: {}", content.text().len());
        }
    }
    let text = Content::of_state(&long, Kind::Finished, None).text();
    assert!(text.len() > 2900, "{}", text.len());
    // A start that failed says nothing of the turn before.
    let cause = Cause::StartFailed { failure: failure() };
    let failed = Task { cause, state: TaskState::Failed, ..short };
    assert_eq!(Content::of_state(&failed, Kind::Failed, None).answer, None);
}

#[test]
fn an_ask_says_what_is_asked_and_where_to_answer_and_no_more() {
    let content = Content::of_ask(&task(), &"a1".into(), &command("rm  -r\nstable"), false, None);
    let asked = Asked {
        ask: "a1".into(),
        what: "run rm -r stable".to_owned(),
        reason: Some("the horse is loose".to_owned()),
        answer_with: "ostler answer a1".to_owned(),
        again: false,
    };
    assert_eq!(content.asked, Some(asked));
    assert_eq!(
        content.text(),
        "completed: it waits for a person\nIt asks to run rm -r stable\nReason: the horse is loose\n\
         Answer with: ostler answer a1\nin /inn"
    );
    let again = Content::of_ask(&task(), &"a1".into(), &command(&"x".repeat(9000)), true, None);
    assert!(again.why.contains("nobody has answered") && again.text().len() < 3200);
    assert!(again.text().contains("Answer with"), "{}", again.text());
}
