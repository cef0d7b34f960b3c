//! Values to store.

use std::collections::BTreeMap;

use ostler_model::ask::{Ask, AskKind, CommandAsk, Question, UserInputAsk};
use ostler_model::task::{
    AskRecord, AskSource, AskState, Budget, Cause, DecidedBy, DecisionRecord, Intent, IntentState,
    Spent, Wish,
};
use ostler_model::thread::IfBusy;
use ostler_model::{
    Decision, Event, Input, QuestionId, Task, TaskId, TaskSettings, TaskState, TurnEnd, TurnResult,
};
use ostler_store::Write;

pub(crate) const NOON: i64 = 1_795_000_000_000;

pub(crate) fn task(id: &str) -> Task {
    Task {
        id: id.into(),
        state: TaskState::Queued,
        cause: Cause::Placed,
        title: format!("do {id}"),
        settings: TaskSettings::in_folder("/work/here"),
        started_by: "ada".to_owned(),
        thread: Some("thread-1".into()),
        keeper: None,
        codex_version: Some("0.166.0".to_owned()),
        turn: None,
        last_result: None,
        spent: Spent::default(),
        budget: Budget::default(),
        wake_at: None,
        limit_streak: 0,
        goal: None,
        tally: ostler_model::task::Tally::default(),
        created_at: NOON,
        updated_at: NOON,
        ended_at: None,
        last_seq: 0,
        forked_from: None,
    }
}

pub(crate) fn in_state(id: &str, state: TaskState, updated_at: i64) -> Task {
    let ended_at = state.is_over().then_some(updated_at);
    Task { state, updated_at, ended_at, ..task(id) }
}

pub(crate) fn new(task: Task) -> Write {
    Write::NewTask { task: Box::new(task), key: None }
}

pub(crate) fn event(task: &str, number: u64) -> Write {
    let event = Event::Notice { name: "n".to_owned(), json: number.to_string(), agent: None };
    Write::Event { task: task.into(), at: NOON + number.cast_signed(), event: Box::new(event) }
}

pub(crate) fn moved(task: &str, from: TaskState, to: TaskState) -> Write {
    let event = Event::State { from, to, cause: Cause::Placed };
    Write::Event { task: task.into(), at: NOON, event: Box::new(event) }
}

pub(crate) fn intent(id: &str, task: &str, state: IntentState) -> Intent {
    let wish = Wish::Send { input: Input::text("hello"), if_busy: IfBusy::Queue };
    Intent { id: id.into(), task: task.into(), wish, by: "ada".to_owned(), at: NOON, state }
}

pub(crate) fn answer(id: &str, task: &str, ask: &str, decision: Decision) -> Intent {
    let wish = Wish::Answer { ask: ask.into(), decision, reason: None };
    Intent { wish, ..intent(id, task, IntentState::Pending) }
}

pub(crate) fn ask(id: &str, task: &str) -> AskRecord {
    let kind =
        AskKind::Command(CommandAsk { command: Some("ls".to_owned()), ..Default::default() });
    let offers = vec![Decision::Once, Decision::Deny];
    let content = Ask { thread: None, turn: None, item: None, reason: None, kind, offers };
    let source = AskSource {
        keeper: "k1".to_owned(),
        thread: "thread-1".into(),
        turn: Some("turn-1".into()),
        item: None,
        request: "7".to_owned(),
    };
    AskRecord {
        id: id.into(),
        task: task.into(),
        agent: None,
        source: Some(source),
        content,
        digest: format!("digest of {id}"),
        opened_at: NOON,
        state: AskState::Open,
        decision: None,
        closed: None,
    }
}

/// Asks for a colour, which is no secret, and for a key, which is one.
pub(crate) fn secret_ask(id: &str, task: &str) -> AskRecord {
    let question = |id: &str, is_secret| Question {
        id: id.into(),
        header: String::new(),
        text: String::new(),
        options: Vec::new(),
        allows_other: true,
        is_secret,
    };
    let questions = vec![question("colour", false), question("key", true)];
    let kind = AskKind::UserInput(UserInputAsk { questions, resolves_itself_after_ms: None });
    let mut ask = ask(id, task);
    ask.content.kind = kind;
    ask
}

pub(crate) fn answers(key: &str) -> Decision {
    let given = [("colour", "red"), ("key", key)];
    let given = given.map(|(id, text)| (QuestionId::new(id), vec![text.to_owned()]));
    Decision::Answers(BTreeMap::from(given))
}

pub(crate) fn decided(decision: Decision, name: &str) -> DecisionRecord {
    let by = DecidedBy::Person { name: name.to_owned(), surface: "terminal".to_owned() };
    DecisionRecord { decision, by, reason: None, at: NOON }
}

pub(crate) fn result(turn: &str) -> TurnResult {
    TurnResult {
        turn: turn.into(),
        inputs: vec!["input-1".into()],
        unanswered: Vec::new(),
        end: TurnEnd::Completed,
        final_answer: Some("done".to_owned()),
        tool_iterations: 1,
        usage: ostler_model::usage::Usage::default(),
        plan: None,
        diff: None,
        unseen_changes: false,
        compacted: false,
        retries: 0,
        retire: false,
        elapsed_ms: 12,
    }
}

pub(crate) fn id(text: &str) -> TaskId {
    text.into()
}
