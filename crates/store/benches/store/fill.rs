//! Tasks and events as they are in real use.

use ostler_model::item::{AgentMessage, Command, Item, ItemBody, ItemEnd, MessagePhase, Outcome};
use ostler_model::task::{Budget, Cause, Partial, Spent};
use ostler_model::thread::{DeltaKind, Update};
use ostler_model::usage::Usage;
use ostler_model::{Event, Task, TaskId, TaskSettings, TaskState, TurnEnd, TurnResult};
use ostler_store::{Batch, Store, StoreSettings, Write};

pub(crate) const NOON: i64 = 1_795_000_000_000;

/// Spread over the whole range, so that prefixes and pages of the index are, too.
pub(crate) fn id(number: usize) -> TaskId {
    let number = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    TaskId::new(format!("{number:016x}"))
}

/// Nearly all are over; a few hundred are not, whatever the number of all.
pub(crate) fn task(number: usize, of: usize) -> Task {
    let state = match of - number {
        1..=8 => TaskState::Working,
        9..=10 => TaskState::WaitingForApproval,
        11..=60 => TaskState::Queued,
        61..=70 => TaskState::Parked,
        other if other % 20 == 0 => TaskState::Failed,
        _ => TaskState::Completed,
    };
    let at = NOON + i64::try_from(number).unwrap() * 1000;
    let mut settings = TaskSettings::in_folder(format!("/home/ada/work/project-{}", number % 5));
    settings.model = Some("gpt-5.2-codex".to_owned());
    let turn = format!("01a13c1e-6e61-7a53-9a5d-{number:012x}");
    let is_over = state.is_over();
    Task {
        id: id(number),
        state,
        cause: Cause::TurnCompleted { turn: turn.as_str().into() },
        title: format!("Look why the {number}th test fails on the second run, and mend it"),
        settings,
        started_by: format!("person-{}", number % 5),
        thread: Some(format!("01a13c1e-6e5b-7d62-b3c5-{number:012x}").into()),
        keeper: Some("b1d2c11f".to_owned()),
        codex_version: Some("0.166.0".to_owned()),
        turn: None,
        last_result: is_over.then(|| result(&turn)),
        spent: Spent { tokens: 123_456, work_ms: 65_432, turns: 3 },
        budget: Budget::default(),
        wake_at: (state == TaskState::Parked).then_some(at + 3_600_000),
        limit_streak: 0,
        goal: None,
        tally: ostler_model::task::Tally::default(),
        created_at: at,
        updated_at: at,
        ended_at: is_over.then_some(at),
        last_seq: 0,
        forked_from: None,
    }
}

/// More of the text of a message.
pub(crate) fn grown(number: usize, text: String) -> Partial {
    let (turn, item) = ("turn-1".into(), message(number).id);
    Partial { agent: None, turn, item, kind: DeltaKind::Message, text }
}

fn result(turn: &str) -> TurnResult {
    TurnResult {
        turn: turn.into(),
        inputs: vec!["01a13c1e-6e61-7a53-9a5d-0b5f3f7c9e02".into()],
        unanswered: Vec::new(),
        end: TurnEnd::Completed,
        final_answer: Some("The test shared a port with another one. ".repeat(8)),
        tool_iterations: 12,
        usage: Usage::default(),
        plan: None,
        diff: None,
        unseen_changes: false,
        compacted: false,
        retries: 0,
        retire: false,
        elapsed_ms: 65_432,
    }
}

pub(crate) fn message(number: usize) -> Item {
    let text = format!("I have looked at file number {number} and found nothing strange in it.");
    let body = ItemBody::AgentMessage(AgentMessage { text, phase: MessagePhase::Commentary });
    Item { id: format!("msg_{number}").into(), body }
}

/// With two kilobytes of output.
pub(crate) fn command(number: usize) -> Item {
    let body = ItemBody::Command(Command {
        command: format!("/bin/bash -lc 'cargo test case_{number}'"),
        cwd: Some("/home/ada/work".to_owned()),
        output: format!("test case_{number} ... ok\n").repeat(80),
        exit_code: Some(0),
        duration_ms: Some(1234),
        outcome: Outcome::Succeeded,
        by_user: false,
    });
    Item { id: format!("call_{number}").into(), body }
}

pub(crate) fn ended(task: &TaskId, at: i64, item: Item) -> Write {
    let update = Update::ItemEnded { turn: "turn-1".into(), item, how: ItemEnd::Reported };
    let event = Event::Thread { agent: None, update: Box::new(update) };
    Write::Event { task: task.clone(), at, event: Box::new(event) }
}

/// So many tasks, and events that add up to ten for each.
pub(crate) async fn filled(settings: StoreSettings, tasks: usize) -> Store {
    let store = Store::open(settings).unwrap();
    for first in (0..tasks).step_by(100) {
        let mut writes = Vec::new();
        for number in first..(first + 100).min(tasks) {
            writes.push(Write::NewTask { task: Box::new(task(number, tasks)), key: None });
            writes.extend((0..10).map(|event| ended(&id(number), NOON, message(event))));
        }
        store.commit(Batch(writes)).await.unwrap();
    }
    store
}
