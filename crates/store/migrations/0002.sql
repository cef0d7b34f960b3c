-- Questions of host agents' own tools. No task is behind them: `owner` is the conversation that asks.

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
CREATE INDEX host_asks_undecided ON host_asks (is_undecided) WHERE is_undecided = 1;
CREATE INDEX host_asks_for_session ON host_asks (owner, digest) WHERE is_for_session = 1;
CREATE INDEX host_asks_by_age ON host_asks (is_undecided, opened_at) WHERE is_undecided = 0;
