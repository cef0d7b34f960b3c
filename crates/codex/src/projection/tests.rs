//! One case per row of the mapping, and one per weakness of the projection this one replaces:
//!
//! | weakness | case |
//! |---|---|
//! | the echoed prompt is appended twice | `the_echo_of_what_the_host_has_is_left_out` |
//! | images of a user message are dropped | row `user message with attachments` |
//! | a declined command looks like a success | rows `command declined`, `command failed without a code`, … |
//! | a patch drops moves and line counts | row `file change` |
//! | output is not cut | `a_long_output_is_cut_at_both_ends` |
//! | cut JSON is no JSON | `cut_results_and_arguments_are_still_json` |
//! | the id of an item without one is constant | `call_ids_tell_items_and_turns_apart` |
//! | a kind as text, changes that are no objects, null arguments, reasoning as objects lose the session | `thread::item::tests` |
//! | leftover reasoning is lost | `reasoning_that_led_to_nothing_is_kept` |
//! | an item told twice is projected twice | `an_item_told_twice_is_projected_once` |
//! | unfinished items never end | row `command interrupted`, `an_interrupted_text_stays_as_it_stood` |
//! | plans, searches, reviews are JSON dumps | rows `plan` … `sub-agent` |
//! | the findings of a review come twice | `the_findings_of_a_review_are_said_once` |
//! | orphan tool messages, two neighbours of one role | `neighbours_are_joined`, and `properties` |

mod rows;

use ostler_model::ask::{FileChangeKind, FileDiff};
use ostler_model::item::{
    AgentMessage, Attachment, Command, FileChange, Item, ItemBody, ItemEnd, Outcome, Reasoning,
    SubAgent, ToolCall, ToolPlace, UserMessage,
};
use ostler_model::message::Role;
use ostler_model::{Message, TurnId};

use super::{KnownInputs, Projector, project_thread, project_turn};

const MARK: &str = "2dfa6d12";

fn turn() -> TurnId {
    "turn-a".into()
}

fn item(id: &str, body: ItemBody) -> (Item, ItemEnd) {
    (Item { id: id.into(), body }, ItemEnd::Reported)
}

fn said(id: &str, text: &str) -> (Item, ItemEnd) {
    item(
        id,
        ItemBody::AgentMessage(AgentMessage { text: text.to_owned(), ..AgentMessage::default() }),
    )
}

fn asked(id: &str, text: &str, input: Option<&str>) -> (Item, ItemEnd) {
    let message = UserMessage {
        text: text.to_owned(),
        attachments: vec![],
        input: input.map(Into::into),
        ..UserMessage::default()
    };
    item(id, ItemBody::UserMessage(message))
}

fn thought(id: &str, text: &str) -> (Item, ItemEnd) {
    item(id, ItemBody::Reasoning(Reasoning { summary: vec![text.to_owned()], content: vec![] }))
}

fn command(id: &str, command: Command) -> (Item, ItemEnd) {
    let base = Command { command: "ls".to_owned(), cwd: Some("/w".to_owned()), ..command };
    item(id, ItemBody::Command(base))
}

fn ran(id: &str) -> (Item, ItemEnd) {
    command(id, Command { output: "a\n".to_owned(), ..Command::default() })
}

fn project(items: &[(Item, ItemEnd)]) -> Vec<Message> {
    project_turn(&turn(), KnownInputs::default(), items)
}

fn pair(id: &str, name: &str, arguments: &str, content: &str) -> Vec<Message> {
    vec![
        Message::call(id.to_owned(), name.to_owned(), arguments.to_owned()),
        Message::tool(id.to_owned(), content.to_owned()),
    ]
}

fn tool(place: ToolPlace) -> ToolCall {
    ToolCall {
        place,
        tool: "t".to_owned(),
        arguments: Some(r#"{"z":"ü","a":{"d":1,"c":null}}"#.to_owned()),
        result: None,
        error: None,
        succeeded: None,
        duration_ms: None,
        outcome: Outcome::Succeeded,
    }
}

fn diff(path: &str, change: FileChangeKind, diff: &str) -> FileDiff {
    FileDiff { path: path.to_owned(), change, diff: diff.to_owned() }
}

type Row<'a> = (&'a str, (Item, ItemEnd), &'a str, &'a str, &'a str, String);

#[test]
fn the_echo_of_what_the_host_has_is_left_out() {
    let known = KnownInputs { ids: ["m1".into()].into(), prompt: Some("go".to_owned()) };
    let left = |items: &[(Item, ItemEnd)]| project_turn(&turn(), known.clone(), items);
    let user = |text: &str| vec![Message::user(text.to_owned())];

    assert_eq!(left(&[asked("1", "go", Some("m1"))]), [], "by its id");
    assert_eq!(left(&[asked("1", "go", None)]), [], "by its text, on a version without ids");
    assert_eq!(left(&[asked("1", "stop", None)]), user("stop"), "someone else's");
    assert_eq!(left(&[asked("1", "go", Some("m2"))]), user("go"), "someone else's with its own id");
    assert_eq!(
        left(&[asked("1", "go", None), asked("2", "go", None), asked("3", "on", None)]),
        user("go\n\non"),
        "only the first one is the prompt"
    );
    assert_eq!(left(&[asked("1", "x", None), asked("2", "go", None)]), user("x\n\ngo"));
}

#[test]
fn neighbours_are_joined() {
    let messages = project(&[
        asked("1", "go", None),
        asked("2", "on", None),
        said("3", "I look."),
        said("4", "Now."),
        ran("5"),
        ran("6"),
        item("7", ItemBody::Compaction),
        said("8", "Done."),
    ]);

    let mut with_call = Message::assistant("I look.\n\nNow.".to_owned());
    let id = |item: &str| format!("codex_exec_{item}_{MARK}");
    let arguments = r#"{"command": "ls", "cwd": "/w"}"#;
    let pairs = ["5", "6"].map(|item| pair(&id(item), "exec_command", arguments, "a\n"));
    with_call.tool_calls = pairs[0][0].tool_calls.clone();
    assert_eq!(
        messages,
        [
            Message::user("go\n\non".to_owned()),
            with_call,
            pairs[0][1].clone(),
            pairs[1][0].clone(),
            pairs[1][1].clone(),
            Message::assistant("[the history was compacted to make room]\n\nDone.".to_owned()),
        ]
    );
}

#[test]
fn reasoning_goes_to_the_next_words_or_call_and_not_to_notes_or_people() {
    let reasonings = |items: &[(Item, ItemEnd)]| -> Vec<_> {
        project(items).into_iter().map(|message| (message.role, message.reasoning)).collect()
    };
    let some = |text: &str| Some(text.to_owned());

    assert_eq!(
        reasonings(&[
            thought("1", "a"),
            thought("2", "b"),
            said("3", "x"),
            ran("4"),
            thought("5", "c"),
            ran("6")
        ]),
        [
            (Role::Assistant, some("a\nb")),
            (Role::Tool, None),
            (Role::Assistant, some("c")),
            (Role::Tool, None),
        ]
    );
    assert_eq!(
        reasonings(&[
            thought("1", "a"),
            asked("2", "x", None),
            item("3", ItemBody::Compaction),
            ran("4")
        ]),
        [(Role::User, None), (Role::Assistant, some("a")), (Role::Tool, None)],
    );
}

#[test]
fn reasoning_that_led_to_nothing_is_kept() {
    let kept = |items: &[(Item, ItemEnd)]| project(items).pop().unwrap();
    let with = |text: &str| Message {
        reasoning: Some("why".to_owned()),
        ..Message::assistant(text.to_owned())
    };

    assert_eq!(kept(&[said("1", "x"), thought("2", "why")]), with("x"));
    assert_eq!(kept(&[ran("1"), thought("2", "why")]), with(""));
    let turns = [vec![said("1", "x"), thought("2", "why")], vec![asked("1", "y", None)]];
    let ids = [turn(), "turn-b".into()];
    let messages = project_thread(ids.iter().zip(turns.iter().map(Vec::as_slice)));
    assert_eq!(messages, [with("x"), Message::user("y".to_owned())]);
}

#[test]
fn an_item_told_twice_is_projected_once() {
    let once = [asked("1", "go", None), said("2", "x"), ran("3")];
    let twice = [&once[..], &once[..]].concat();

    assert_eq!(project(&twice), project(&once));
}

#[test]
fn call_ids_tell_items_and_turns_apart() {
    let other = command("c", Command { output: "b\n".to_owned(), ..Command::default() });
    let items = [ran("c"), other, ran(""), ran("")];
    let ids = [turn(), "turn-b".into()];
    let messages = project_thread(ids.iter().map(|id| (id, items.as_slice())));

    let calls: Vec<_> =
        messages.iter().filter_map(|message| message.tool_call_id.clone()).collect();
    assert_eq!(
        calls,
        [
            "codex_exec_c_2dfa6d12",
            "codex_exec_c_2dfa6d12_2",
            "codex_exec_n1_2dfa6d12",
            "codex_exec_n2_2dfa6d12",
            "codex_exec_c_8cbcc0d4",
            "codex_exec_c_8cbcc0d4_2",
            "codex_exec_n1_8cbcc0d4",
            "codex_exec_n2_8cbcc0d4",
        ]
    );
}

#[test]
fn an_answer_that_was_asked_for_again_does_not_count() {
    let broken = (said("1", "The ho").0, ItemEnd::Superseded);

    assert_eq!(
        project(&[broken, said("2", "The horse.")]),
        [Message::assistant("The horse.".to_owned())]
    );
}

#[test]
fn an_interrupted_text_stays_as_it_stood() {
    let half = (said("1", "The ho").0, ItemEnd::Interrupted);
    let nothing = (said("2", "").0, ItemEnd::Interrupted);

    assert_eq!(project(&[half, nothing]), [Message::assistant("The ho".to_owned())]);
    assert_eq!(
        project(&[said("3", "")]),
        [Message::assistant(String::new())],
        "an empty answer is one"
    );
}

#[test]
fn the_findings_of_a_review_are_said_once() {
    let ended = item("r", ItemBody::ReviewEnded { review: "fine".to_owned() });

    assert_eq!(
        project(&[
            item("r", ItemBody::ReviewBegan { review: "look".to_owned() }),
            ended,
            said("2", "fine")
        ]),
        [Message::assistant("[review began: look]\n\n[review ended]\nfine".to_owned())]
    );
}

#[test]
fn a_long_output_is_cut_at_both_ends() {
    let output: String = (1..=30_000).map(|line| format!("{line}\n")).collect();
    let messages =
        project(&[command("1", Command { output, exit_code: Some(1), ..Command::default() })]);

    let content = messages[1].content.as_deref().unwrap();
    assert!(content.starts_with("[exit 1]\n1\n2\n"), "{content}");
    assert!(content.contains("\n[… 158942 characters left out …]\n"), "{content}");
    assert!(content.ends_with("\n29999\n30000\n"), "{content}");
    assert!(content.chars().count() <= 10_000 + "[exit 1]\n".len());
}

#[test]
fn cut_results_and_arguments_are_still_json() {
    let long = format!(r#"{{"list":[{}1],"text":"{}"}}"#, "1,".repeat(9_000), "ä".repeat(9_000));
    let call = ToolCall {
        arguments: Some(long.clone()),
        result: Some(long.clone()),
        ..tool(ToolPlace::Client { namespace: None })
    };
    let other = ItemBody::Other { name: "x".to_owned(), json: long };
    let messages = project(&[item("1", ItemBody::ToolCall(call)), item("2", other)]);

    let arguments = &messages[0].tool_calls[0].function.arguments;
    let content = messages[1].content.as_ref().unwrap();
    let opaque = messages[2].content.as_ref().unwrap().strip_prefix("[codex x] ").unwrap();
    for (json, limit) in [(arguments.as_str(), 4_000), (content, 4_000), (opaque, 1_500)] {
        serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert!(json.contains("left out") && json.chars().count() <= limit, "{json}");
    }
}

#[test]
fn a_message_is_handed_out_once_nothing_can_join_it() {
    let mut projector = Projector::new(&turn(), KnownInputs::default());
    let mut push = |(item, end): (Item, ItemEnd)| projector.push(&item, end).len();

    assert_eq!(
        [
            push(said("1", "a")),
            push(said("2", "b")),
            push(ran("3")),
            push(ran("4")),
            push(asked("5", "x", None)),
            push(said("6", "c"))
        ],
        [0, 0, 2, 2, 0, 1]
    );
    assert_eq!(projector.finish(), [Message::assistant("c".to_owned())]);
}
