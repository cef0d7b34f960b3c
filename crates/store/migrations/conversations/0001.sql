-- The first layout of the conversations. A migration that has been released is never changed: the next one gets the next number.
--
-- `number` of a conversation stands for its id in all other tables and is never used again (AUTOINCREMENT), because what
-- belonged to a removed conversation is cleared away bit by bit after the conversation itself is gone.
-- Whatever is searched or sorted by is a column; everything else is JSON in `body`, which only the agent reads.

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
CREATE INDEX conversations_updated ON conversations (updated_at);
CREATE INDEX conversations_by_cwd ON conversations (cwd, updated_at);

-- The newest `number` of a conversation is found in its index and stored nowhere else, so the two cannot differ.
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
CREATE INDEX turns_running ON turns (state, conversation, number) WHERE state = 'running';

-- What messages say, by the message's `place`. Marks belong to their letters, or Hindi would fall to pieces; scripts without
-- spaces come with their letters set apart (see `conversations/words.rs`).
CREATE VIRTUAL TABLE said USING fts5 (
    text,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'",
    prefix = '2 3'
);
-- What is removed is gone, from the index too.
INSERT INTO said (said, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER message_went AFTER DELETE ON messages BEGIN
    DELETE FROM said WHERE rowid = old.place;
END;

-- Conversations that are gone and whose messages and turns have still to be cleared away.
CREATE TABLE leftovers (
    conversation INTEGER PRIMARY KEY
) STRICT;
