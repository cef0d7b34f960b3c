-- What tools note down for a conversation, such as its list of what is to do. By id, because it may be noted before the first turn, and
-- apart from the conversation's own body, which only the chat that holds it may write: a tool server that Codex has started for the
-- chat writes here, too.
CREATE TABLE notes (
    conversation TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (conversation, kind)
) STRICT, WITHOUT ROWID;
