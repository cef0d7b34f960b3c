-- The audit log: who was refused what, and who decided what. Entries are added and, in time, removed; they never change.

CREATE TABLE audit (
    -- Never given out twice, so that whoever follows misses nothing.
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    is_refusal INTEGER NOT NULL,
    task TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_kind ON audit (kind, place);
CREATE INDEX audit_of_task ON audit (task, place) WHERE task IS NOT NULL;
CREATE INDEX audit_refusals ON audit (place) WHERE is_refusal = 1;
CREATE INDEX audit_by_age ON audit (at);
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;

-- For metrics, which outlive the entries, and for the bound on each kind.
CREATE TABLE audit_counts (
    kind TEXT PRIMARY KEY,
    written INTEGER NOT NULL,
    suppressed INTEGER NOT NULL,
    kept INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER audit_counts_what_goes AFTER DELETE ON audit
BEGIN
    UPDATE audit_counts SET kept = kept - 1 WHERE kind = old.kind;
END;

-- Up to which place somebody has looked.
CREATE TABLE audit_seen (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    up_to INTEGER NOT NULL
) STRICT;
