//! What older programs have written is read as it was meant. `tests/layouts/N.sql` is what `fill` wrote when N was the newest
//! layout. From the first release on such a file is never made anew; until then `cargo test -p ostler-store --test contract
//! -- --ignored make_the_newest_layout_anew` does it.

use ostler_model::item::{AgentMessage, Command, Item, ItemBody, ItemEnd, MessagePhase, Outcome};
use ostler_model::task::{
    Agent, AskClosed, AskRecord, AskState, Budget, Edge, ForkedFrom, Intent, IntentState, NotDone,
    OnCrash, Partial, Receipt, Sandbox, SandboxMode, Worktree,
};
use ostler_model::thread::{DeltaKind, Update};
use ostler_model::{
    Decision, Event, Failure, FailureClass, Message, Task, TaskId, TaskSettings, TaskState,
};
use ostler_store::{
    AppServerRow, Batch, Cursor, KeyRow, LoggedEvent, RuleRow, StartKey, Store, StoredItem,
    TaskFilter, TurnMessages, TurnRow, Write,
};

use crate::samples::{
    NOON, answer, answers, ask, decided, event, id, in_state, intent, result, secret_ask, task,
};
use crate::world::World;

const LAYOUTS: [&str; 5] = [
    include_str!("../layouts/1.sql"),
    include_str!("../layouts/2.sql"),
    include_str!("../layouts/3.sql"),
    include_str!("../layouts/4.sql"),
    include_str!("../layouts/5.sql"),
];

fn rich_task() -> Task {
    let mut settings = TaskSettings::in_folder("/work/here");
    settings.sandbox = Sandbox {
        mode: SandboxMode::WorkspaceWrite,
        writable_roots: vec!["/tmp".to_owned()],
        network: true,
    };
    settings.config.insert("a.b".to_owned(), "[1]".to_owned());
    settings.on_crash = OnCrash::Ask;
    settings.budget = Budget { tokens: Some(5), work_ms: None, turns: Some(2) };
    settings.worktree = Some(Worktree {
        repository: "/r".to_owned(),
        path: "/w".to_owned(),
        branch: "b".to_owned(),
        base: "c0ffee".to_owned(),
        into: None,
    });
    let edge = Edge::Turns { used: 2, most: 2 };
    Task {
        settings,
        cause: ostler_model::task::Cause::BudgetUsed { edge },
        last_result: Some(result("turn-1")),
        wake_at: Some(NOON + 9),
        forked_from: Some(ForkedFrom {
            task: id("t0"),
            thread: "thread-0".into(),
            turn: Some("turn-0".into()),
        }),
        ..in_state("t1", TaskState::Parked, NOON)
    }
}

fn key() -> StartKey {
    StartKey { key: "k".to_owned(), digest: "d".to_owned() }
}

async fn fill(store: &Store) {
    let key = Some(key());
    let logged = |at, event| Write::Event { task: id("t1"), at, event: Box::new(event) };
    let agent =
        || Some(Agent { thread: "thread-2".into(), name: Some("scout".to_owned()), role: None });
    let message = AgentMessage { text: "hi".to_owned(), phase: MessagePhase::FinalAnswer };
    let item = Item { id: "item-1".into(), body: ItemBody::AgentMessage(message) };
    let command = Command {
        command: "ls".to_owned(),
        exit_code: Some(0),
        outcome: Outcome::Other("odd".to_owned()),
        ..Default::default()
    };
    let command = Item { id: "item-2".into(), body: ItemBody::Command(command) };
    let how = ItemEnd::Reported;
    let turn = || "turn-1".into();
    let update = Update::ItemEnded { turn: turn(), item: item.clone(), how };
    let failure = Failure::new(FailureClass::UsageLimit { resets_at: Some(7) }, "used up");
    let decision = Box::new(decided(Decision::Once, "ada"));
    let not_done = IntentState::NotDone { why: NotDone::Refused { failure } };
    let done = IntentState::Done { receipt: Receipt::Taken { turn: turn() } };
    let closed = AskRecord {
        state: AskState::Closed,
        decision: Some(*decision.clone()),
        closed: Some(AskClosed::Answered),
        ..ask("a2", "t1")
    };
    let ends = TurnRow {
        task: id("t1"),
        turn: turn(),
        number: 1,
        began_at: NOON,
        result: Some(Box::new(result("turn-1"))),
    };
    let server = AppServerRow {
        keeper: "k1".to_owned(),
        version: "0.166.0".to_owned(),
        codex_home: "/h".to_owned(),
        pool_key: "p".to_owned(),
        started_at: NOON,
        isolated_for: Some(id("t1")),
    };
    let partial = Partial {
        agent: agent(),
        turn: turn(),
        item: "item-3".into(),
        kind: DeltaKind::Reasoning,
        text: "hm".to_owned(),
    };
    let put = |number, item| Write::Item {
        task: id("t1"),
        turn: turn(),
        number,
        item: Box::new(item),
        how,
    };
    let secret = answer("i3", "t1", "a1", answers("s3cret"));
    let writes = vec![
        Write::NewTask { task: Box::new(rich_task()), key },
        Write::NewTask { task: Box::new(task("t2")), key: None },
        logged(
            1,
            Event::Created { settings: Box::new(rich_task().settings), by: "ada".to_owned() },
        ),
        event("t1", 2),
        logged(3, Event::Thread { agent: agent(), update: Box::new(update) }),
        logged(4, Event::AskDecided { ask: "a2".into(), decision }),
        logged(5, Event::Lost { events: 3, why: "full".to_owned() }),
        Write::Intent(Box::new(intent("i1", "t1", not_done))),
        Write::Intent(Box::new(intent("i2", "t1", done))),
        Write::Ask(Box::new(secret_ask("a1", "t1"))),
        Write::Ask(Box::new(closed)),
        Write::Intent(Box::new(secret)),
        Write::Turn(ends),
        put(1, item),
        put(2, command),
        Write::Messages {
            task: id("t1"),
            turn: turn(),
            part: 0,
            messages: vec![Message::call("c".to_owned(), "f".to_owned(), "{}".to_owned())],
        },
        Write::Partial { task: id("t1"), partial },
        Write::Rule(RuleRow { id: "r1".into(), json: "{}".to_owned(), expires_at: Some(NOON) }),
        Write::AppServer(server),
        Write::HomePin { codex_home: "/h".to_owned(), version: "0.166.0".to_owned() },
        Write::Key(KeyRow { id: "k".to_owned(), digest: "d".to_owned(), json: "{}".to_owned() }),
    ];
    store.commit(Batch(writes)).await.unwrap();
}

/// All that the doors and the engine read.
#[derive(Debug, PartialEq)]
struct Everything {
    tasks: Vec<Task>,
    by_key: Option<TaskId>,
    events: Vec<LoggedEvent>,
    intents: Vec<Intent>,
    owed: Vec<Intent>,
    asks: Vec<AskRecord>,
    turns: Vec<TurnRow>,
    items: Vec<StoredItem>,
    messages: Vec<TurnMessages>,
    partials: Vec<Partial>,
    rules: Vec<RuleRow>,
    servers: Vec<AppServerRow>,
    pin: Option<String>,
    keys: Vec<KeyRow>,
}

async fn everything(store: &Store) -> Everything {
    let t1 = &id("t1");
    Everything {
        tasks: store.tasks(&TaskFilter::default(), Cursor::FIRST, 9).await.unwrap().tasks,
        by_key: store.started_with("ada", &key()).await.unwrap(),
        events: store.events(t1, 0, 99).await.unwrap(),
        intents: store.intents(t1).await.unwrap(),
        owed: store.open_intents().await.unwrap(),
        asks: store.asks_of(t1).await.unwrap(),
        turns: store.turns(t1).await.unwrap(),
        items: store.items(t1, 0, 99).await.unwrap(),
        messages: store.messages(t1).await.unwrap(),
        partials: store.partials(t1).await.unwrap(),
        rules: store.rules(0).await.unwrap(),
        servers: store.app_servers().await.unwrap(),
        pin: store.home_pin("/h").await.unwrap(),
        keys: store.keys().await.unwrap(),
    }
}

#[tokio::test]
async fn every_layout_is_read_and_written_on() {
    let fresh = World::new();
    let store = fresh.open();
    fill(&store).await;
    let expected = everything(&store).await;
    assert_eq!((expected.tasks.len(), expected.events.len(), expected.owed.len()), (2, 5, 1));
    for layout in LAYOUTS {
        let old = World::new();
        rusqlite::Connection::open(old.settings().path).unwrap().execute_batch(layout).unwrap();
        let store = old.open();
        assert_eq!(everything(&store).await, expected);
        store.commit(Batch(vec![event("t1", 6)])).await.unwrap();
        assert_eq!(store.task(&id("t1")).await.unwrap().unwrap().last_seq, 6);
    }
}

#[tokio::test]
#[ignore = "a tool: it writes tests/layouts/5.sql, which must not change after a release"]
async fn make_the_newest_layout_anew() {
    let world = World::new();
    let store = world.open();
    fill(&store).await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layouts/5.sql");
    std::fs::write(file, dump(&world)).unwrap();
}

/// The whole database as text.
fn dump(world: &World) -> String {
    let connection = rusqlite::Connection::open(world.settings().path).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let mut lines = Vec::new();
    for pragma in ["application_id", "user_version"] {
        let value: i64 = connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap();
        lines.push(format!("PRAGMA {pragma} = {value};"));
    }
    let own = "name NOT LIKE 'sqlite_%' ORDER BY rowid";
    lines.extend(texts(&format!(
        "SELECT sql || ';' FROM sqlite_schema WHERE type = 'table' AND {own}"
    )));
    for table in texts(&format!("SELECT name FROM sqlite_schema WHERE type = 'table' AND {own}")) {
        let columns = format!("SELECT 'quote(' || name || ')' FROM pragma_table_info('{table}')");
        let columns = texts(&columns).join(" || ', ' || ");
        let rows = texts(&format!("SELECT {columns} FROM {table}"));
        lines.extend(rows.iter().map(|row| format!("INSERT INTO {table} VALUES ({row});")));
    }
    lines.extend(texts(&format!(
        "SELECT sql || ';' FROM sqlite_schema WHERE type <> 'table' AND {own}"
    )));
    lines.join("\n") + "\n"
}
