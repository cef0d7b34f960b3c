-- Whoever starts tasks can ask which of them have ended, and is told of each end once.

-- The end that whoever started it was told of.
ALTER TABLE tasks ADD COLUMN told_end INTEGER;
CREATE INDEX tasks_by_starter ON tasks (started_by, updated_at);
CREATE INDEX tasks_untold ON tasks (started_by, ended_at) WHERE is_over = 1 AND told_end IS NOT ended_at;
