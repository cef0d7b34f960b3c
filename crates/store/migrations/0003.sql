-- The outbox: who is told what of a task. A row is one thing told to one target.

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
CREATE INDEX notifications_of_task ON notifications (task);
CREATE INDEX notifications_by_state ON notifications (state);
CREATE INDEX notifications_due ON notifications (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_due_by_target ON notifications (target, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_unread ON notifications (is_unread) WHERE is_unread = 1;
CREATE INDEX notifications_by_age ON notifications (at) WHERE due_at IS NULL;
