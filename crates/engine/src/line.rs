//! Who may run now, and who next.
//!
//! A task that waits for a person does not count as running: it costs Codex nothing, and may wait for days. When it goes
//! on it does so at once, so for a while more may run than the limit says; nobody new begins meanwhile.
//!
//! Those in line take turns by who started them, so that a thousand tasks of one do not keep another waiting.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ostler_model::TaskId;

/// The share of those that run, and the line of those that want to.
#[derive(Debug, Default)]
pub(crate) struct Line {
    most: usize,
    most_per_pool: usize,
    running: HashMap<TaskId, Running>,
    working: usize,
    working_in: HashMap<String, usize>,
    /// By who started them; the first of `turns` is the next to be served.
    waiting: BTreeMap<String, VecDeque<Waiting>>,
    turns: VecDeque<String>,
}

#[derive(Debug)]
struct Running {
    pool: String,
    counts: bool,
}

#[derive(Debug, Clone)]
struct Waiting {
    task: TaskId,
    pool: String,
}

impl Line {
    pub(crate) fn new(most: usize, most_per_pool: usize) -> Self {
        Self { most, most_per_pool, ..Self::default() }
    }

    /// Those that run go on, also if they are too many now.
    pub(crate) fn set_room(&mut self, most: usize, most_per_pool: usize) {
        self.most = most;
        self.most_per_pool = most_per_pool;
    }

    /// Stands at the end of the line of its starter; twice changes nothing.
    pub(crate) fn wait(&mut self, task: TaskId, starter: &str, pool: &str) {
        if self.running.contains_key(&task) {
            return;
        }
        let theirs = self.waiting.entry(starter.to_owned()).or_default();
        if theirs.iter().any(|waiting| waiting.task == task) {
            return;
        }
        if theirs.is_empty() {
            self.turns.push_back(starter.to_owned());
        }
        theirs.push_back(Waiting { task, pool: pool.to_owned() });
    }

    /// Counts a task that runs already.
    pub(crate) fn keep(&mut self, task: &TaskId, pool: &str) {
        self.forget_waiting(task);
        self.enter(task.clone(), pool.to_owned());
    }

    pub(crate) fn has_place(&self, task: &TaskId) -> bool {
        self.running.contains_key(task)
    }

    /// Whether the task waits for a person now.
    pub(crate) fn set_waits(&mut self, task: &TaskId, waits: bool) {
        let Some(running) = self.running.get_mut(task) else { return };
        if running.counts == waits {
            running.counts = !waits;
            let pool = running.pool.clone();
            self.count(&pool, !waits);
        }
    }

    pub(crate) fn leave(&mut self, task: &TaskId) {
        self.forget_waiting(task);
        if let Some(Running { pool, counts: true }) = self.running.remove(task) {
            self.count(&pool, false);
        }
    }

    /// The next that may run, if there is room for it.
    pub(crate) fn next(&mut self) -> Option<TaskId> {
        if self.working >= self.most {
            return None;
        }
        for _ in 0..self.turns.len() {
            let starter = self.turns.pop_front()?;
            let Some(theirs) = self.waiting.get_mut(&starter) else { continue };
            let fits = |waiting: &Waiting| {
                self.working_in.get(&waiting.pool).copied().unwrap_or(0) < self.most_per_pool
            };
            let found = theirs.iter().position(fits).and_then(|at| theirs.remove(at));
            match theirs.is_empty() {
                true => drop(self.waiting.remove(&starter)),
                false => self.turns.push_back(starter),
            }
            if let Some(Waiting { task, pool }) = found {
                self.enter(task.clone(), pool);
                return Some(task);
            }
        }
        None
    }

    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    fn enter(&mut self, task: TaskId, pool: String) {
        if self.running.contains_key(&task) {
            return;
        }
        self.count(&pool, true);
        self.running.insert(task, Running { pool, counts: true });
    }

    fn count(&mut self, pool: &str, more: bool) {
        let in_pool = self.working_in.entry(pool.to_owned()).or_default();
        let change = |number: usize| if more { number + 1 } else { number.saturating_sub(1) };
        *in_pool = change(*in_pool);
        if *in_pool == 0 {
            self.working_in.remove(pool);
        }
        self.working = change(self.working);
    }

    fn forget_waiting(&mut self, task: &TaskId) {
        for theirs in self.waiting.values_mut() {
            theirs.retain(|waiting| waiting.task != *task);
        }
        self.waiting.retain(|_, theirs| !theirs.is_empty());
        let waiting = &self.waiting;
        self.turns.retain(|starter| waiting.contains_key(starter));
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::TaskId;

    use super::Line;

    fn drain(line: &mut Line) -> Vec<String> {
        std::iter::from_fn(|| line.next()).map(|task| task.to_string()).collect()
    }

    #[test]
    fn those_who_start_few_tasks_do_not_wait_for_those_who_start_many() {
        let mut line = Line::new(4, 9);
        for task in ["a1", "a2", "a3", "a4", "a5"] {
            line.wait(task.into(), "ana", "p");
        }
        line.wait("b1".into(), "ben", "p");

        assert_eq!(drain(&mut line), ["a1", "b1", "a2", "a3"]);
        assert_eq!(line.waiting(), 2);
    }

    #[test]
    fn a_task_that_waits_for_a_person_makes_room() {
        let mut line = Line::new(1, 9);
        line.wait("a".into(), "ana", "p");
        line.wait("b".into(), "ana", "p");
        assert_eq!(drain(&mut line), ["a"]);

        line.set_waits(&"a".into(), true);
        assert_eq!(drain(&mut line), ["b"]);
        // Both run now; neither leaves room until both are done.
        line.set_waits(&"a".into(), false);
        line.wait("c".into(), "ana", "p");
        line.leave(&"a".into());
        assert_eq!(drain(&mut line), [""; 0]);
        line.leave(&"b".into());
        assert_eq!(drain(&mut line), ["c"]);
    }

    #[test]
    fn a_full_pool_does_not_hold_up_another() {
        let mut line = Line::new(9, 1);
        line.wait("a1".into(), "ana", "p");
        line.wait("a2".into(), "ana", "p");
        line.wait("a3".into(), "ana", "q");

        assert_eq!(drain(&mut line), ["a1", "a3"]);
    }

    #[test]
    fn more_room_lets_more_run_and_less_room_ends_nobody() {
        let mut line = Line::new(1, 9);
        for task in ["a", "b", "c", "d"] {
            line.wait(task.into(), "ana", "p");
        }
        assert_eq!(drain(&mut line), ["a"]);
        line.set_room(3, 2);
        assert_eq!(drain(&mut line), ["b"]);
        line.set_room(1, 9);
        line.leave(&"a".into());
        assert_eq!(drain(&mut line), [""; 0]);
        line.leave(&"b".into());
        assert_eq!(drain(&mut line), ["c"]);
    }

    #[test]
    fn one_that_leaves_the_line_is_not_served() {
        let mut line = Line::new(1, 1);
        line.wait("a".into(), "ana", "p");
        line.wait("a".into(), "ana", "p");
        line.leave(&TaskId::new("a"));

        assert_eq!((drain(&mut line), line.waiting()), (vec![], 0));
    }
}
