PRAGMA application_id = 1332962158;
PRAGMA user_version = 1;
CREATE TABLE conversations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    cwd TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Counts the changes of title and body: who changes them says which one was read.
    version INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE messages (
    place INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    number INTEGER NOT NULL,
    -- 0 for what belongs to no turn.
    turn INTEGER NOT NULL,
    role TEXT NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (conversation, number),
    UNIQUE (conversation, key)
) STRICT;
CREATE TABLE turns (
    place INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    number INTEGER NOT NULL,
    runtime TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'ended')),
    began_at INTEGER NOT NULL,
    ended_at INTEGER,
    body TEXT NOT NULL,
    UNIQUE (conversation, number)
) STRICT;
CREATE VIRTUAL TABLE said USING fts5 (
    text,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'",
    prefix = '2 3'
);
CREATE TABLE leftovers (
    conversation INTEGER PRIMARY KEY
) STRICT;
INSERT INTO said (said, rank) VALUES ('secure-delete', 1);
INSERT INTO conversations (number, id, title, cwd, created_at, updated_at, version, body) VALUES (1, 'c1', 'harbours', '/work', 1, 30, 2, '{}');
INSERT INTO conversations (number, id, title, cwd, created_at, updated_at, version, body) VALUES (2, 'c2', 'about c2', '/work', 2, 20, 1, '{}');
INSERT INTO messages (place, conversation, number, turn, role, key, at, body) VALUES (1, 1, 1, 1, 'user', 'q', 10, '{"key":"q"}');
INSERT INTO messages (place, conversation, number, turn, role, key, at, body) VALUES (2, 1, 2, 1, 'user', 'a', 10, '{"key":"a"}');
INSERT INTO messages (place, conversation, number, turn, role, key, at, body) VALUES (3, 1, 3, 1, 'user', 'silent', 10, '{"key":"silent"}');
INSERT INTO messages (place, conversation, number, turn, role, key, at, body) VALUES (4, 2, 1, 1, 'user', 'q', 10, '{"key":"q"}');
INSERT INTO turns (place, conversation, number, runtime, state, began_at, ended_at, body) VALUES (1, 1, 1, 'own', 'ended', 20, 30, '{"tokens":1}');
INSERT INTO turns (place, conversation, number, runtime, state, began_at, ended_at, body) VALUES (2, 2, 1, 'own', 'running', 20, NULL, '{}');
INSERT INTO said (rowid, text) VALUES (1, 'where is the 港​口 harbour?');
INSERT INTO said (rowid, text) VALUES (2, 'in the north');
INSERT INTO said (rowid, text) VALUES (4, 'and now?');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('conversations', 3);
CREATE INDEX conversations_updated ON conversations (updated_at);
CREATE INDEX conversations_by_cwd ON conversations (cwd, updated_at);
CREATE INDEX turns_running ON turns (state, conversation, number) WHERE state = 'running';
CREATE TRIGGER message_went AFTER DELETE ON messages BEGIN
    DELETE FROM said WHERE rowid = old.place;
END;
