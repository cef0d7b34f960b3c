//! What older programs have written is read as it was meant. `tests/layouts/conversations-N.sql` is what `fill` wrote when N was
//! the newest layout. From the first release on such a file is never made anew; until then `cargo test -p ostler-store --test
//! conversations -- --ignored make_the_newest_layout_anew` does it.

use ostler_store::conversations::{
    Change, Conversation, Hit, NewTurn, Search, StoredMessage, Turn, TurnEnding,
};
use ostler_store::{Conversations, Cursor};

use crate::world::{World, new, says};

const LAYOUTS: [&str; 2] = [
    include_str!("../layouts/conversations-1.sql"),
    include_str!("../layouts/conversations-2.sql"),
];

async fn fill(conversations: &Conversations) {
    for (id, at) in [("c1", 1), ("c2", 2), ("c3", 3)] {
        conversations.create(new(id, at)).await.unwrap();
    }
    let turn = || NewTurn { runtime: "own".to_owned(), at: 20, body: "{}".to_owned() };
    let asked = vec![says("q", "where is the 港口 harbour?")];
    conversations.begin_turn("c1", turn(), asked).await.unwrap();
    let ending = TurnEnding {
        turn: 1,
        at: 30,
        body: "{\"tokens\":1}".to_owned(),
        messages: vec![says("a", "in the north"), says("silent", "")],
        change: Change { version: 1, title: Some("harbours".to_owned()), body: None, at: 30 },
    };
    conversations.end_turn("c1", ending).await.unwrap();
    conversations.begin_turn("c2", turn(), vec![says("q", "and now?")]).await.unwrap();
    conversations.remove("c3").await.unwrap();
    conversations.keep_note("c1", "todos", "[1]".to_owned()).await.unwrap();
}

/// All that can be read.
#[derive(Debug, PartialEq)]
struct Everything {
    conversations: Vec<Conversation>,
    messages: Vec<StoredMessage>,
    turns: Vec<Turn>,
    unfinished: Vec<Turn>,
    hits: Vec<Hit>,
}

async fn everything(conversations: &Conversations) -> Everything {
    let search = Search { text: "港口 harb".to_owned(), most: 9, ..Search::default() };
    let listed = conversations.list(&Default::default(), Cursor::FIRST, 9).await.unwrap();
    Everything {
        conversations: listed.conversations,
        messages: conversations.messages("c1", 0, 9).await.unwrap(),
        turns: conversations.turns("c1", 0, 9).await.unwrap(),
        unfinished: conversations.unfinished_turns().await.unwrap(),
        hits: conversations.search(search).await.unwrap(),
    }
}

#[tokio::test]
async fn every_layout_is_read_and_written_on() {
    let fresh = World::new();
    let conversations = fresh.open().await;
    fill(&conversations).await;
    let expected = everything(&conversations).await;
    let counts = (expected.conversations.len(), expected.messages.len(), expected.hits.len());
    assert_eq!((counts, expected.unfinished.len()), ((2, 3, 1), 1));
    for (layout, number) in LAYOUTS.into_iter().zip(1..) {
        let old = World::new();
        old.sql(layout);
        let conversations = old.open().await;
        assert_eq!(everything(&conversations).await, expected);
        // The first one had no notes.
        let note = conversations.note("c1", "todos").await.unwrap();
        assert_eq!(note.as_deref(), (number > 1).then_some("[1]"));
        let more = vec![says("more", "another harbour")];
        assert_eq!(conversations.append("c1", 1, more).await.unwrap(), [4]);
        conversations.remove("c1").await.unwrap();
        // A number is never used again, also not by a program that came later.
        conversations.create(new("c4", 4)).await.unwrap();
        assert_eq!(conversations.messages("c4", 0, 9).await.unwrap(), []);
        assert_eq!(old.count("conversations WHERE id = 'c4' AND number = 4"), 1);
    }
}

#[tokio::test]
#[ignore = "a tool: it writes tests/layouts/conversations-2.sql, which must not change after a release"]
async fn make_the_newest_layout_anew() {
    let world = World::new();
    let conversations = world.open().await;
    fill(&conversations).await;
    conversations.close().await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layouts/conversations-2.sql");
    std::fs::write(file, dump(&world)).unwrap();
}

/// The whole database as text. The tables that FTS5 makes for itself are made by it again.
fn dump(world: &World) -> String {
    let connection = rusqlite::Connection::open(world.path()).unwrap();
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
    let own = "name NOT LIKE 'sqlite_%' AND name NOT LIKE 'said\\_%' ESCAPE '\\' ORDER BY rowid";
    let of_tables =
        |what: &str| format!("SELECT {what} FROM sqlite_schema WHERE type = 'table' AND {own}");
    lines.extend(texts(&of_tables("sql || ';'")));
    lines.push("INSERT INTO said (said, rank) VALUES ('secure-delete', 1);".to_owned());
    for table in texts(&of_tables("name")) {
        let columns = format!("SELECT name FROM pragma_table_info('{table}')");
        let mut columns = texts(&columns);
        if table == "said" {
            columns.insert(0, "rowid".to_owned());
        }
        let names = columns.join(", ");
        let quoted: Vec<String> = columns.iter().map(|name| format!("quote({name})")).collect();
        let rows = texts(&format!("SELECT {} FROM {table}", quoted.join(" || ', ' || ")));
        lines.extend(
            rows.iter().map(|row| format!("INSERT INTO {table} ({names}) VALUES ({row});")),
        );
    }
    // Which numbers were used.
    lines.push("DELETE FROM sqlite_sequence;".to_owned());
    let used = "SELECT 'INSERT INTO sqlite_sequence VALUES (' || quote(name) || ', ' || seq || ');' FROM sqlite_sequence";
    lines.extend(texts(used));
    lines.extend(texts(&format!(
        "SELECT sql || ';' FROM sqlite_schema WHERE type <> 'table' AND {own}"
    )));
    lines.join("\n") + "\n"
}
