PRAGMA application_id = 1332966508;
PRAGMA user_version = 6;
CREATE TABLE store (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    -- Who opened the database last holds it: a commit under an older epoch is refused.
    epoch INTEGER NOT NULL
) STRICT;
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
, told_end INTEGER) STRICT;
CREATE TABLE task_counts (
    state TEXT PRIMARY KEY,
    tasks INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE start_keys (
    started_by TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (started_by, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (task, seq)
) STRICT;
CREATE TABLE partials (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    turn TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE intents (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- The answer with its secrets, which `body` does not have; only while the intent is open.
    secret TEXT
) STRICT;
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
CREATE TABLE messages (
    place INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    turn TEXT NOT NULL,
    part INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (task, turn, part)
) STRICT;
CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    expires_at INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE rule_uses (
    place INTEGER PRIMARY KEY,
    rule TEXT NOT NULL,
    ask TEXT NOT NULL,
    task TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE app_servers (
    keeper TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE home_pins (
    codex_home TEXT PRIMARY KEY,
    version TEXT NOT NULL
) STRICT;
CREATE TABLE leftovers (
    task INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE host_asks (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    -- Somebody may still decide.
    is_undecided INTEGER NOT NULL,
    -- What was decided holds for whatever the owner asks alike.
    is_for_session INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (owner, key)
) STRICT;
CREATE TABLE notifications (
    place INTEGER PRIMARY KEY,
    -- The same for every attempt.
    id TEXT NOT NULL UNIQUE,
    task INTEGER NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- When it is tried next; only while it is pending.
    due_at INTEGER,
    is_unread INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE audit (
    -- Never given out twice, so that whoever follows misses nothing.
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    is_refusal INTEGER NOT NULL,
    task TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE audit_counts (
    kind TEXT PRIMARY KEY,
    written INTEGER NOT NULL,
    suppressed INTEGER NOT NULL,
    kept INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE audit_seen (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    up_to INTEGER NOT NULL
) STRICT;
INSERT INTO store VALUES (1, 1);
INSERT INTO tasks VALUES (1, 't1', 'parked', 0, '/work/here', 'ada', 1795000000000, NULL, 1795000000009, NULL, '{"id":"t1","state":"parked","cause":{"cause":"budget_used","edge":{"edge":"turns","used":2,"most":2}},"title":"do t1","settings":{"cwd":"/work/here","sandbox":{"mode":"workspace-write","writable_roots":["/tmp"],"network":true},"approval":"on-request","model":null,"model_provider":null,"effort":null,"service_tier":null,"developer_instructions":null,"config":{"a.b":"[1]"},"codex":{"version":null,"home":null},"isolate":false,"on_crash":"ask","crash_limit":3,"unattended":"wait","escalate_after_ms":null,"turn_timeout_ms":null,"on_stall":"warn","budget":{"tokens":5,"work_ms":null,"turns":2},"worktree":{"repository":"/r","path":"/w","branch":"b","base":"c0ffee","into":null}},"started_by":"ada","thread":"thread-1","keeper":null,"codex_version":"0.166.0","turn":null,"last_result":{"turn":"turn-1","inputs":["input-1"],"end":{"status":"completed"},"final_answer":"done","tool_iterations":1,"usage":{"turn":{"input":0,"cached_input":0,"output":0,"reasoning_output":0},"last_call":{"input":0,"cached_input":0,"output":0,"reasoning_output":0},"calls":0,"thread":{"input":0,"cached_input":0,"output":0,"reasoning_output":0},"context_window":null},"plan":null,"diff":null,"compacted":false,"retries":0,"retire":false,"elapsed_ms":12},"spent":{"tokens":0,"work_ms":0,"turns":0},"budget":{"tokens":null,"work_ms":null,"turns":null},"wake_at":1795000000009,"limit_streak":0,"tally":{"crashes":0,"agents":{}},"created_at":1795000000000,"updated_at":1795000000000,"ended_at":null,"last_seq":0,"forked_from":{"task":"t0","thread":"thread-0","turn":"turn-0"}}', NULL);
INSERT INTO tasks VALUES (2, 't2', 'queued', 0, '/work/here', 'ada', 1795000000000, 1795000000000, NULL, NULL, '{"id":"t2","state":"queued","cause":{"cause":"placed"},"title":"do t2","settings":{"cwd":"/work/here","sandbox":{"mode":"read-only","writable_roots":[],"network":false},"approval":"on-request","model":null,"model_provider":null,"effort":null,"service_tier":null,"developer_instructions":null,"config":{},"codex":{"version":null,"home":null},"isolate":false,"on_crash":"continue","crash_limit":3,"unattended":"wait","escalate_after_ms":null,"turn_timeout_ms":null,"on_stall":"warn","budget":{"tokens":null,"work_ms":null,"turns":null},"worktree":null},"started_by":"ada","thread":"thread-1","keeper":null,"codex_version":"0.166.0","turn":null,"last_result":null,"spent":{"tokens":0,"work_ms":0,"turns":0},"budget":{"tokens":null,"work_ms":null,"turns":null},"wake_at":null,"limit_streak":0,"tally":{"crashes":0,"agents":{}},"created_at":1795000000000,"updated_at":1795000000000,"ended_at":null,"last_seq":0,"forked_from":null}', NULL);
INSERT INTO task_counts VALUES ('parked', 1);
INSERT INTO task_counts VALUES ('queued', 1);
INSERT INTO start_keys VALUES ('ada', 'k', 'd', 1);
INSERT INTO events VALUES (1, 1, 1, 1, 'created', '{"event":"created","settings":{"cwd":"/work/here","sandbox":{"mode":"workspace-write","writable_roots":["/tmp"],"network":true},"approval":"on-request","model":null,"model_provider":null,"effort":null,"service_tier":null,"developer_instructions":null,"config":{"a.b":"[1]"},"codex":{"version":null,"home":null},"isolate":false,"on_crash":"ask","crash_limit":3,"unattended":"wait","escalate_after_ms":null,"turn_timeout_ms":null,"on_stall":"warn","budget":{"tokens":5,"work_ms":null,"turns":2},"worktree":{"repository":"/r","path":"/w","branch":"b","base":"c0ffee","into":null}},"by":"ada"}');
INSERT INTO events VALUES (2, 1, 2, 1795000000002, 'notice', '{"event":"notice","name":"n","json":"2"}');
INSERT INTO events VALUES (3, 1, 3, 3, 'thread', '{"event":"thread","agent":{"thread":"thread-2","name":"scout"},"update":{"update":"item_ended","turn":"turn-1","item":{"id":"item-1","body":{"kind":"agent_message","text":"hi","phase":"final_answer"}},"how":"reported"}}');
INSERT INTO events VALUES (4, 1, 4, 4, 'ask_decided', '{"event":"ask_decided","ask":"a2","decision":{"decision":"Once","by":{"who":"person","name":"ada","surface":"terminal"},"reason":null,"at":1795000000000}}');
INSERT INTO events VALUES (5, 1, 5, 5, 'lost', '{"event":"lost","events":3,"why":"full"}');
INSERT INTO partials VALUES (1, 1, 'turn-1', 'item-3', '"reasoning"', '{"thread":"thread-2","name":"scout"}', 'hm');
INSERT INTO intents VALUES (1, 'i1', 1, 0, '{"id":"i1","task":"t1","wish":{"wish":"send","input":{"content":{"message":[{"text":"hello"}]}},"if_busy":"queue"},"by":"ada","at":1795000000000,"state":{"state":"not_done","why":{"why":"refused","failure":{"class":{"class":"usage_limit","resets_at":7},"message":"used up","details":null,"http_status":null,"evidence":null}}}}', NULL);
INSERT INTO intents VALUES (2, 'i2', 1, 0, '{"id":"i2","task":"t1","wish":{"wish":"send","input":{"content":{"message":[{"text":"hello"}]}},"if_busy":"queue"},"by":"ada","at":1795000000000,"state":{"state":"done","receipt":{"proof":"taken","turn":"turn-1"}}}', NULL);
INSERT INTO intents VALUES (3, 'i3', 1, 1, '{"id":"i3","task":"t1","wish":{"wish":"answer","ask":"a1","decision":{"Answers":{"colour":["red"],"key":["(hidden)"]}},"reason":null},"by":"ada","at":1795000000000,"state":{"state":"pending"}}', '{"Answers":{"colour":["red"],"key":["s3cret"]}}');
INSERT INTO asks VALUES (1, 'a1', 1, 1, '{"id":"a1","task":"t1","agent":null,"source":{"keeper":"k1","thread":"thread-1","turn":"turn-1","item":null,"request":"7"},"content":{"thread":null,"turn":null,"item":null,"reason":null,"kind":{"UserInput":{"questions":[{"id":"colour","header":"","text":"","options":[],"allows_other":true,"is_secret":false},{"id":"key","header":"","text":"","options":[],"allows_other":true,"is_secret":true}],"resolves_itself_after_ms":null}},"offers":["Once","Deny"]},"digest":"digest of a1","opened_at":1795000000000,"state":"open","decision":null,"closed":null}', NULL);
INSERT INTO asks VALUES (2, 'a2', 1, 0, '{"id":"a2","task":"t1","agent":null,"source":{"keeper":"k1","thread":"thread-1","turn":"turn-1","item":null,"request":"7"},"content":{"thread":null,"turn":null,"item":null,"reason":null,"kind":{"Command":{"command":"ls","cwd":null,"writes_to_running":false,"network":null,"extra":null}},"offers":["Once","Deny"]},"digest":"digest of a2","opened_at":1795000000000,"state":"closed","decision":{"decision":"Once","by":{"who":"person","name":"ada","surface":"terminal"},"reason":null,"at":1795000000000},"closed":{"how":"answered"}}', NULL);
INSERT INTO turns VALUES (1, 1, 'turn-1', 1, 1795000000000, '{"turn":"turn-1","inputs":["input-1"],"end":{"status":"completed"},"final_answer":"done","tool_iterations":1,"usage":{"turn":{"input":0,"cached_input":0,"output":0,"reasoning_output":0},"last_call":{"input":0,"cached_input":0,"output":0,"reasoning_output":0},"calls":0,"thread":{"input":0,"cached_input":0,"output":0,"reasoning_output":0},"context_window":null},"plan":null,"diff":null,"compacted":false,"retries":0,"retire":false,"elapsed_ms":12}');
INSERT INTO items VALUES (1, 1, 'turn-1', 'item-1', 1, '"reported"', '{"kind":"agent_message","text":"hi","phase":"final_answer"}');
INSERT INTO items VALUES (2, 1, 'turn-1', 'item-2', 2, '"reported"', '{"kind":"command","command":"ls","cwd":null,"output":"","exit_code":0,"duration_ms":null,"outcome":{"other":"odd"},"by_user":false}');
INSERT INTO messages VALUES (1, 1, 'turn-1', 0, '[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]');
INSERT INTO rules VALUES ('r1', 1795000000000, '{}');
INSERT INTO app_servers VALUES ('k1', '{"keeper":"k1","version":"0.166.0","codex_home":"/h","pool_key":"p","started_at":1795000000000,"isolated_for":"t1"}');
INSERT INTO home_pins VALUES ('/h', '0.166.0');
INSERT INTO keys VALUES ('k', 'd', '{}');
INSERT INTO audit VALUES (1, 1795000000000, 'decision', 0, 't1', '{"kind":"decision","at":1795000000000,"who":"ada","place":"terminal","what":"once: run ls","task":"t1","ask":"a2"}');
INSERT INTO audit_counts VALUES ('decision', 1, 0, 1);
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
CREATE INDEX start_keys_of_task ON start_keys (task);
CREATE INDEX events_of_state ON events (task, seq) WHERE name = 'state';
CREATE INDEX partials_of_task ON partials (task, turn, item);
CREATE INDEX intents_of_task ON intents (task);
CREATE INDEX intents_open ON intents (is_open, task) WHERE is_open = 1;
CREATE INDEX asks_of_task ON asks (task);
CREATE INDEX asks_undecided ON asks (is_undecided) WHERE is_undecided = 1;
CREATE INDEX turns_of_task ON turns (task, number);
CREATE INDEX items_of_task ON items (task);
CREATE INDEX items_of_turn ON items (task, turn);
CREATE INDEX messages_of_task ON messages (task);
CREATE INDEX rules_expiring ON rules (expires_at);
CREATE INDEX rule_uses_of_rule ON rule_uses (rule);
CREATE INDEX rule_uses_by_age ON rule_uses (at);
CREATE INDEX host_asks_undecided ON host_asks (is_undecided) WHERE is_undecided = 1;
CREATE INDEX host_asks_for_session ON host_asks (owner, digest) WHERE is_for_session = 1;
CREATE INDEX host_asks_by_age ON host_asks (is_undecided, opened_at) WHERE is_undecided = 0;
CREATE INDEX notifications_of_task ON notifications (task);
CREATE INDEX notifications_by_state ON notifications (state);
CREATE INDEX notifications_due ON notifications (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_due_by_target ON notifications (target, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_unread ON notifications (is_unread) WHERE is_unread = 1;
CREATE INDEX notifications_by_age ON notifications (at) WHERE due_at IS NULL;
CREATE INDEX tasks_by_starter ON tasks (started_by, updated_at);
CREATE INDEX tasks_untold ON tasks (started_by, ended_at) WHERE is_over = 1 AND told_end IS NOT ended_at;
CREATE INDEX audit_by_kind ON audit (kind, place);
CREATE INDEX audit_of_task ON audit (task, place) WHERE task IS NOT NULL;
CREATE INDEX audit_refusals ON audit (place) WHERE is_refusal = 1;
CREATE INDEX audit_by_age ON audit (at);
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_counts_what_goes AFTER DELETE ON audit
BEGIN
    UPDATE audit_counts SET kept = kept - 1 WHERE kind = old.kind;
END;
CREATE INDEX events_of_reviews ON events (task, seq) WHERE name = 'auto_review';
