//! No query may read more than it needs: each plan is looked at, on an empty database as on a full one.

use rusqlite::Connection;

use crate::StoreSettings;
use crate::open::open_writer;

/// Tables that do not grow with the work done, or of which one row is read.
const SMALL: [&str; 6] =
    ["store", "task_counts", "app_servers", "leftovers", "keys", "audit_counts"];

/// 5,000 tasks in ten states, of a few people and folders, with ten rows in each table that a task has rows in.
const FILL: &str = "
    CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY);
    WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 50000)
        INSERT INTO numbers SELECT n FROM count;
    INSERT INTO tasks (id, state, is_over, cwd, started_by, updated_at, queued_at, wake_at, ended_at, body)
        SELECT hex(n * 2654435761), CASE WHEN n % 50 = 0 THEN 'queued' WHEN n % 70 = 0 THEN 'parked'
            WHEN n % 99 = 0 THEN 'working' WHEN n % 9 = 0 THEN 'failed' ELSE 'completed' END,
            n % 50 <> 0 AND n % 70 <> 0 AND n % 99 <> 0, '/work/' || (n % 40), 'person ' || (n % 5), n,
            CASE WHEN n % 50 = 0 THEN n END, CASE WHEN n % 50 <> 0 AND n % 70 = 0 THEN n END,
            CASE WHEN n % 50 <> 0 AND n % 70 <> 0 AND n % 99 <> 0 THEN n END, '{}'
        FROM numbers WHERE n <= 5000;
    INSERT INTO start_keys SELECT 'person ' || (n % 5), n, 'd', n FROM numbers WHERE n <= 5000;
    INSERT INTO events (task, seq, at, name, body)
        SELECT n / 10, n % 10 + 1, n, CASE WHEN n % 5 = 0 THEN 'state' ELSE 'thread' END, '{}' FROM numbers;
    INSERT INTO partials (task, turn, item, kind, text) SELECT n / 10, 'u', n, 'message', 'x' FROM numbers;
    INSERT INTO intents (id, task, is_open, body) SELECT hex(n), n / 10, n % 500 = 0, '{}' FROM numbers;
    INSERT INTO asks (id, task, is_undecided, body) SELECT hex(n), n / 10, n % 500 = 0, '{}' FROM numbers;
    INSERT INTO host_asks (id, owner, key, digest, is_undecided, is_for_session, opened_at, body)
        SELECT hex(n), n / 10, n, n % 30, n % 500 = 0, n % 3 = 0, n, '{}' FROM numbers;
    INSERT INTO notifications (id, task, target, state, at, due_at, is_unread, body)
        SELECT hex(n), n / 10, 'target ' || (n % 7), CASE WHEN n % 500 = 0 THEN 'pending' WHEN n % 90 = 0 THEN 'failed'
            ELSE 'sent' END, n, CASE WHEN n % 500 = 0 THEN n END, n % 700 = 0, '{}' FROM numbers;
    INSERT INTO turns (task, turn, number, began_at) SELECT n / 10, n, n % 10, n FROM numbers;
    INSERT INTO items (task, turn, item, number, how, body) SELECT n / 10, n / 3, n, 0, 'reported', '{}' FROM numbers;
    INSERT INTO messages (task, turn, part, body) SELECT n / 10, n, 0, '[]' FROM numbers;
    INSERT INTO rules SELECT n, CASE WHEN n % 2 = 0 THEN n END, '{}' FROM numbers WHERE n <= 500;
    INSERT INTO rule_uses (rule, ask, task, at) SELECT n % 500, n, n, n FROM numbers;
    INSERT INTO app_servers SELECT n, '{}' FROM numbers WHERE n <= 5;
    INSERT INTO audit (at, kind, is_refusal, task, body) SELECT n, 'kind ' || (n % 10), n % 3 = 0, CASE WHEN n % 2 = 0 THEN n / 10 END, '{}' FROM numbers;
    INSERT INTO home_pins SELECT n, 'v' FROM numbers WHERE n <= 5;
";

/// Every step of a plan that reads a whole table or index, or sorts.
fn faults(connection: &Connection) -> Vec<String> {
    let mut faults = Vec::new();
    for sql in super::all() {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
        let steps = statement
            .query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))
            .unwrap();
        for step in steps.map(Result::unwrap) {
            let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            let scans = scanned.is_some_and(|table| table != "CONSTANT" && !SMALL.contains(&table));
            if scans || step.contains("TEMP B-TREE") || step.contains("AUTOMATIC") {
                faults.push(format!("{step}: {sql}"));
            }
        }
    }
    faults
}

#[test]
fn every_query_has_an_index_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let settings = StoreSettings::at(folder.path().join("ostler.db"));
    let connection = open_writer(&settings).unwrap().connection;
    assert!(super::all().count() > 60);
    let none: [String; 0] = [];
    assert_eq!(faults(&connection), none, "on an empty database");
    connection.execute_batch(FILL).unwrap();
    assert_eq!(faults(&connection), none, "on a full database");
    connection.execute_batch("ANALYZE").unwrap();
    assert_eq!(faults(&connection), none, "with statistics");

    // This test can fail.
    connection.execute_batch("DROP INDEX asks_of_task; DROP INDEX tasks_over_by_state").unwrap();
    assert!(faults(&connection).len() > 2);
}
