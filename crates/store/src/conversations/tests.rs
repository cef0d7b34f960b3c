//! No query may read more than it needs: each plan is looked at, on an empty database as on a full one.

use std::time::Duration;

use rusqlite::Connection;

use super::open::{open_reader, open_writer};

/// Mostly empty: what is there waits to be cleared away.
const SMALL: [&str; 1] = ["leftovers"];

/// 500 conversations of a few folders, with a hundred messages and ten turns each.
const FILL: &str = "
    CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY);
    WITH RECURSIVE count(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM count WHERE n < 49999)
        INSERT INTO numbers SELECT n FROM count;
    INSERT INTO conversations (id, title, cwd, created_at, updated_at, version, body)
        SELECT hex(n * 2654435761), '', '/work/' || (n % 20), n, n, 1, '{}' FROM numbers WHERE n < 500;
    INSERT INTO messages (conversation, number, turn, role, key, at, body)
        SELECT n / 100 + 1, n % 100 + 1, n % 100 / 10 + 1, CASE n % 2 WHEN 0 THEN 'user' ELSE 'tool' END, n, n, '{}'
        FROM numbers;
    INSERT INTO said (rowid, text) SELECT place, 'word ' || key FROM messages;
    INSERT INTO turns (conversation, number, runtime, state, began_at, body)
        SELECT n / 10 + 1, n % 10 + 1, 'own', CASE WHEN n % 99 = 0 THEN 'running' ELSE 'ended' END, n, '{}'
        FROM numbers WHERE n < 5000;
";

/// Every step of a plan that reads a whole table or index, or sorts.
fn faults(connection: &Connection) -> Vec<String> {
    let mut faults = Vec::new();
    for sql in super::all_sql() {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
        let steps = statement
            .query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))
            .unwrap();
        for step in steps.map(Result::unwrap) {
            let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            // FTS5 tells how it goes: `M` by the words, `=` by the row.
            let by_words = step.contains(" VIRTUAL TABLE INDEX ")
                && step.rsplit(':').next().is_some_and(|how| how.contains(['M', '=']));
            let scans = scanned.is_some_and(|table| table != "CONSTANT" && !SMALL.contains(&table));
            if scans && !by_words || step.contains("TEMP B-TREE") || step.contains("AUTOMATIC") {
                faults.push(format!("{step}: {sql}"));
            }
        }
    }
    faults
}

#[test]
fn every_query_has_an_index_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations.db");
    let connection = open_writer(&path, Duration::from_secs(1)).unwrap();
    assert!(super::all_sql().count() > 25);
    let none: [String; 0] = [];
    assert_eq!(faults(&connection), none, "on an empty database");
    connection.execute_batch(FILL).unwrap();
    assert_eq!(faults(&connection), none, "on a full database");
    connection.execute_batch("ANALYZE").unwrap();
    assert_eq!(faults(&connection), none, "with statistics");

    // This test can fail.
    connection.execute_batch("DROP INDEX conversations_updated").unwrap();
    assert!(faults(&connection).len() > 2);
}

#[test]
fn what_is_committed_is_synced_and_readers_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations.db");
    let writer = open_writer(&path, Duration::from_secs(1)).unwrap();
    let pragma = |name: &str| {
        let value =
            writer.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0));
        format!("{:?}", value.unwrap())
    };
    let found = ["journal_mode", "synchronous", "auto_vacuum", "secure_delete"].map(pragma);
    // FULL is 2, INCREMENTAL is 2, ON is 1.
    assert_eq!(found, ["Text(\"wal\")", "Integer(2)", "Integer(2)", "Integer(1)"]);

    let reader = open_reader(&path, Duration::from_secs(1)).unwrap();
    let refused = reader.execute_batch("DELETE FROM messages").unwrap_err();
    assert!(refused.to_string().contains("readonly"), "{refused}");
}
