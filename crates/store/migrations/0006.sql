-- What Codex's own reviewer decided is listed with what a task was given.
CREATE INDEX events_of_reviews ON events (task, seq) WHERE name = 'auto_review';
