-- The first layout. A migration that has been released is never changed: the next one gets the next number.
--
-- `number` of a task stands for its id in all other tables and is never used again (AUTOINCREMENT), because what
-- belonged to a removed task is cleared away bit by bit after the task itself is gone.
-- `place` counts the rows as they came; in an index it stands last without being named.
-- Whatever is searched or sorted by is a column; everything else of a record is its JSON in `body`.

CREATE TABLE store (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    -- Who opened the database last holds it: a commit under an older epoch is refused.
    epoch INTEGER NOT NULL
) STRICT;
INSERT INTO store VALUES (1, 0);

CREATE TABLE tasks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    is_over INTEGER NOT NULL,
    cwd TEXT NOT NULL,
    started_by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Since when it waits in the queue; only while it does.
    queued_at INTEGER,
    -- Only while it is parked.
    wake_at INTEGER,
    -- Only while it is over.
    ended_at INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_updated ON tasks (updated_at);
CREATE INDEX tasks_by_state ON tasks (state, updated_at);
CREATE INDEX tasks_by_cwd ON tasks (cwd, updated_at);
CREATE INDEX tasks_by_cwd_and_state ON tasks (cwd, state, updated_at);
CREATE INDEX tasks_unfinished ON tasks (is_over) WHERE is_over = 0;
CREATE INDEX tasks_over ON tasks (is_over, ended_at) WHERE is_over = 1;
CREATE INDEX tasks_over_by_state ON tasks (state, ended_at) WHERE is_over = 1;
CREATE INDEX tasks_queued ON tasks (started_by, queued_at) WHERE queued_at IS NOT NULL;
CREATE INDEX tasks_at_work ON tasks (started_by)
    WHERE is_over = 0 AND queued_at IS NULL AND state <> 'parked';
CREATE INDEX tasks_waking ON tasks (wake_at) WHERE wake_at IS NOT NULL;

-- Kept by triggers, so that no writer can forget it: counting 100,000 rows on each `ls` would take milliseconds.
CREATE TABLE task_counts (
    state TEXT PRIMARY KEY,
    tasks INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER task_came AFTER INSERT ON tasks BEGIN
    INSERT INTO task_counts VALUES (new.state, 1) ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER task_moved AFTER UPDATE OF state ON tasks WHEN old.state <> new.state BEGIN
    UPDATE task_counts SET tasks = tasks - 1 WHERE state = old.state;
    INSERT INTO task_counts VALUES (new.state, 1) ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER task_went AFTER DELETE ON tasks BEGIN
    UPDATE task_counts SET tasks = tasks - 1 WHERE state = old.state;
END;

CREATE TABLE start_keys (
    started_by TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (started_by, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX start_keys_of_task ON start_keys (task);

-- The log. The newest `seq` of a task is found in its index and stored nowhere else, so the two cannot differ.
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (task, seq)
) STRICT;
CREATE INDEX events_of_state ON events (task, seq) WHERE name = 'state';

-- Pieces of the text of items that have not ended, in the order they came.
CREATE TABLE partials (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    turn TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX partials_of_task ON partials (task, turn, item);

CREATE TABLE intents (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- The answer with its secrets, which `body` does not have; only while the intent is open.
    secret TEXT
) STRICT;
CREATE INDEX intents_of_task ON intents (task);
CREATE INDEX intents_open ON intents (is_open, task) WHERE is_open = 1;

CREATE TABLE asks (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task INTEGER NOT NULL,
    -- Somebody may still decide.
    is_undecided INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- The decision with its secrets, which `body` does not have; only until the ask is closed.
    secret TEXT
) STRICT;
CREATE INDEX asks_of_task ON asks (task);
CREATE INDEX asks_undecided ON asks (is_undecided) WHERE is_undecided = 1;

CREATE TABLE turns (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    turn TEXT NOT NULL,
    number INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    -- None while it runs.
    result TEXT,
    UNIQUE (task, turn)
) STRICT;
CREATE INDEX turns_of_task ON turns (task, number);

CREATE TABLE items (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    turn TEXT NOT NULL,
    item TEXT NOT NULL,
    number INTEGER NOT NULL,
    how TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (task, turn, item)
) STRICT;
CREATE INDEX items_of_task ON items (task);
CREATE INDEX items_of_turn ON items (task, turn);

CREATE TABLE messages (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    turn TEXT NOT NULL,
    part INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (task, turn, part)
) STRICT;
CREATE INDEX messages_of_task ON messages (task);

CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    expires_at INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX rules_expiring ON rules (expires_at);

CREATE TABLE rule_uses (
    place INTEGER PRIMARY KEY,
    rule TEXT NOT NULL,
    ask TEXT NOT NULL,
    task TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX rule_uses_of_rule ON rule_uses (rule);
CREATE INDEX rule_uses_by_age ON rule_uses (at);

CREATE TABLE app_servers (
    keeper TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE home_pins (
    codex_home TEXT PRIMARY KEY,
    version TEXT NOT NULL
) STRICT;

-- Tasks that are gone and whose log has still to be cleared away.
CREATE TABLE leftovers (
    task INTEGER PRIMARY KEY
) STRICT;

-- Tokens and logins of the server. The secrets themselves are nowhere.
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL
) STRICT;
