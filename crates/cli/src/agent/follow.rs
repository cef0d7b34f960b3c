//! One turn of a task from afar: from the input of a key to the end of the turn that answers it, whatever becomes of the
//! daemon meanwhile. `ending` gathers what it came to.

mod ending;
mod patience;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_agent::Activity;
use ostler_agent::ports::{PortError, TaskEnded, TaskNews};
use ostler_model::ask::ToolCallAsk;
use ostler_model::task::{AskRecord, Cause, Intent, IntentState, NotDone, Partial, Receipt};
use ostler_model::thread::Update;
use ostler_model::{
    AskId, AskKind, Event, Failure, FailureClass, IntentId, TaskId, TaskState, TurnId, TurnResult,
};
use ostler_server::api::{Line, Receipts, TaskDetail};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::sleep;

use self::patience::Patience;
use super::activity::Stage;
use super::{Way, port_error, twice};
use crate::conversation;
use crate::tasks::{query, time, words};

/// How far the log of each task was read.
pub(super) type Seen = Arc<Mutex<HashMap<TaskId, u64>>>;

const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What is kept of a turn before it is known whose it is: Codex proves within its first words which input a turn has.
const MOST_EARLY: usize = 256;

pub(super) struct Follow {
    way: Arc<Way>,
    task: TaskId,
    key: String,
    intent: IntentId,
    seen: Seen,
    /// The last event that was told.
    after: u64,
    /// Our turn, and those by which Ostler went on with its work after a crash or a limit.
    turns: Vec<TurnId>,
    /// The log was read up to the beginning of ours. What began before it is nobody's here.
    has_begun: bool,
    /// Our turn is complete, and Codex goes on with its goal by itself.
    awaits_goal: Option<TurnResult>,
    /// The turn that runs, if it is not known to be ours, and what happened in it.
    early: Option<(TurnId, Vec<Activity>)>,
    /// Text that grew before we came, and the last event before it: what is older is told first.
    growing: Option<(u64, Vec<Partial>)>,
    stage: Stage,
    asked: HashSet<AskId>,
    /// Calls of our tools that the log has not told to be over.
    calls: Vec<(AskId, ToolCallAsk)>,
    /// The log's last event when we came. What it tells of up to there may be over long ago.
    came_at: u64,
    patience: Patience,
    news: mpsc::Sender<TaskNews>,
}

/// Why there is nothing more to tell.
enum Over {
    Ended(Box<TaskEnded>),
    /// Nobody listens.
    Unheard,
}

impl Follow {
    /// Finds what the key was given for.
    pub(super) async fn begin(
        way: &Arc<Way>,
        task: &TaskId,
        key: &str,
        seen: Seen,
        news: mpsc::Sender<TaskNews>,
    ) -> Result<Self, PortError> {
        let intent = intent(way, task, key).await?;
        let after = seen.lock().unwrap_or_else(PoisonError::into_inner).get(task).copied();
        Ok(Self {
            way: Arc::clone(way),
            task: task.clone(),
            key: key.to_owned(),
            intent: intent.id,
            seen,
            after: after.unwrap_or_default(),
            turns: Vec::new(),
            has_begun: false,
            awaits_goal: None,
            early: None,
            growing: None,
            stage: Stage::default(),
            asked: HashSet::new(),
            calls: Vec::new(),
            came_at: 0,
            patience: Patience::new(),
            news,
        })
    }

    pub(super) async fn run(mut self) {
        loop {
            let why = match self.read().await {
                Ok(Over::Ended(ended)) => {
                    self.note_seen();
                    return self.tell(TaskNews::Ended(ended)).await;
                }
                Ok(Over::Unheard) => return,
                Err(PortError::Unreachable(why) | PortError::InDoubt(why)) => why,
                Err(error) => return self.tell(TaskNews::Lost { why: error.to_string() }).await,
            };
            if !self.patience.missed() {
                return self.tell(TaskNews::Lost { why }).await;
            }
            tracing::debug!(why, task = %self.task, "the daemon went away; it is looked for");
            sleep(LOOK_AGAIN).await;
        }
    }

    fn note_seen(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(self.task.clone(), self.after);
    }

    /// On one connection. Some errors can pass.
    async fn read(&mut self) -> Result<Over, PortError> {
        // What came to its end while nobody listened needs no log.
        let intent = intent(&self.way, &self.task, &self.key).await?;
        if let Some(over) = self.moved(&intent.state).await? {
            return Ok(over);
        }
        let path = format!("/v1/tasks/{}/events?after={}&follow=true", self.task, self.after);
        let client = self.way.reopen().await?;
        let mut lines = client.lines(&path).await.map_err(port_error)?;
        loop {
            let Some(line) = lines.next::<Line>().await.map_err(port_error)? else {
                return Err(PortError::Unreachable("the daemon has ended".to_owned()));
            };
            self.patience.heard();
            if let Some(over) = self.line(line).await? {
                return Ok(over);
            }
            if self.news.is_closed() {
                return Ok(Over::Unheard);
            }
        }
    }

    async fn line(&mut self, line: Line) -> Result<Option<Over>, PortError> {
        match line {
            Line::Now(now) => {
                for ask in now.asks {
                    self.ask(ask).await;
                }
                self.came_at = now.task.last_seq;
                self.growing = Some((now.task.last_seq, now.partials));
                self.catch_up().await;
            }
            Line::Partials { partials } => {
                self.growing = Some((self.after, partials));
                self.catch_up().await;
            }
            Line::Grown(piece) if self.may_be_ours(&piece.turn) => {
                let activity = self.stage.grown(&piece);
                self.of_turn(&piece.turn, activity).await;
            }
            Line::Event { seq, event, .. } => {
                let over = self.event(*event).await?;
                self.after = seq;
                self.catch_up().await;
                self.tell_calls().await;
                return Ok(over);
            }
            Line::Gap { to, why, .. } => {
                self.after = self.after.max(to);
                let text = format!("a part of what happened is not told: {why}");
                self.tell_all([Activity::Note(text)]).await;
            }
            Line::Grown(_) | Line::Viewers { .. } | Line::Wire { .. } | Line::WireLost { .. } => {}
        }
        Ok(None)
    }

    async fn event(&mut self, event: Event) -> Result<Option<Over>, PortError> {
        match event {
            Event::IntentMoved { intent, to } if intent == self.intent => self.moved(&to).await,
            Event::Thread { agent, update } => {
                self.note_call(&update);
                match agent {
                    None => self.update(*update).await,
                    Some(_) => Ok(None),
                }
            }
            // Its goal was stopped between two turns.
            Event::State { to, .. } if to.is_over() && self.awaits_goal.is_some() => {
                let Some(result) = self.awaits_goal.take() else { return Ok(None) };
                let last = self.last_of_goal(result).await?;
                self.ended(Some(last), None).await.map(Some)
            }
            // Not of what the task was given before.
            Event::State { to, cause, .. }
                if matches!(to, TaskState::Queued | TaskState::Parked) && self.concerns(&cause) =>
            {
                let why = format!("{}: {}", words::state(to), words::cause(&cause, time::now()));
                self.tell(TaskNews::Waits { why }).await;
                Ok(None)
            }
            Event::AskOpened { ask, .. } | Event::AskReturned { ask } => {
                let record: AskRecord = self.get(&format!("/v1/asks/{ask}")).await?;
                if record.state.takes_a_decision() {
                    self.ask(record).await;
                }
                Ok(None)
            }
            Event::AutoReview { turn: Some(turn), review, .. } => {
                if self.may_be_ours(&turn) {
                    self.of_turn(&turn, [Activity::Note(review.describe())]).await;
                }
                Ok(None)
            }
            Event::AskDecided { ask, decision } => {
                let said = conversation::words::decision(&decision.decision);
                self.ask_over(ask, format!("{said}, by {}", decision.by.describe())).await;
                Ok(None)
            }
            Event::AskClosed { ask, how } => {
                self.ask_over(ask, words::ask_closed(&how)).await;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Whether the task changed its state for our input, or since our turn has begun.
    fn concerns(&self, cause: &Cause) -> bool {
        match cause {
            Cause::Submitted { intent } => *intent == self.intent,
            _ => self.has_begun,
        }
    }

    async fn update(&mut self, update: Update) -> Result<Option<Over>, PortError> {
        match &update {
            Update::TurnBegan { turn } => {
                if self.turns.contains(turn) {
                    self.has_begun = true;
                } else if self.has_begun {
                    // While ours is not over, what follows it by itself goes on with its work.
                    self.turns.push(turn.clone());
                } else if self.turns.is_empty() {
                    self.early = Some((turn.clone(), Vec::new()));
                }
                Ok(None)
            }
            Update::InputTaken { input, turn } if input.as_str() == self.intent.as_str() => {
                self.has_begun = true;
                self.is_ours(turn.clone()).await;
                Ok(None)
            }
            Update::TurnEnded { result } if self.turns.contains(&result.turn) => {
                let result = (**result).clone();
                self.turn_ended(result).await
            }
            _ => {
                let turn = update.turn().or(self.turns.last()).cloned();
                if let Some(turn) = turn.filter(|turn| self.may_be_ours(turn)) {
                    let activities = self.stage.update(&update);
                    self.of_turn(&turn, activities).await;
                }
                Ok(None)
            }
        }
    }

    /// What became of the input.
    async fn moved(&mut self, state: &IntentState) -> Result<Option<Over>, PortError> {
        match state {
            IntentState::Pending | IntentState::Sent { .. } => Ok(None),
            IntentState::Done { receipt: Receipt::Taken { turn } } => {
                self.is_ours(turn.clone()).await;
                match self.results().await?.into_iter().find(|known| known.turn == *turn) {
                    // What followed it by itself is in the log.
                    Some(result) if result.failure().is_none() => self.turn_ended(result).await,
                    Some(result) if self.detail().await?.task.state.is_over() => {
                        let last = self.last_of(&result).await?;
                        self.ended(Some(last), None).await.map(Some)
                    }
                    _ => Ok(None),
                }
            }
            IntentState::Done { .. } => self.ended(None, None).await.map(Some),
            IntentState::NotDone { why: NotDone::Withdrawn { .. } } => {
                self.withdrawn().await.map(Some)
            }
            IntentState::NotDone { why } => {
                let failure = match why {
                    NotDone::Refused { failure } => failure.clone(),
                    other => Failure::new(
                        FailureClass::BadRequest,
                        words::intent(&IntentState::NotDone { why: other.clone() }),
                    ),
                };
                self.ended(None, Some(failure)).await.map(Some)
            }
            IntentState::Unknown { why } => {
                let failure = Failure::new(FailureClass::ServerGone, why.clone());
                self.ended(None, Some(failure)).await.map(Some)
            }
        }
    }

    async fn is_ours(&mut self, turn: TurnId) {
        let early = self.early.take();
        if self.turns.contains(&turn) {
            return;
        }
        self.turns.push(turn.clone());
        if let Some((_, activities)) = early.filter(|(known, _)| *known == turn) {
            self.tell_all(activities).await;
        }
    }

    /// A turn that failed is not the end if the task goes on by itself: after a crash, or when a limit has passed.
    async fn turn_ended(&mut self, result: TurnResult) -> Result<Option<Over>, PortError> {
        let task = self.detail().await?.task;
        // Codex goes on with its goal, or has already begun the turn that ends it.
        let has_begun_another = task.turn.as_ref().is_some_and(|turn| *turn != result.turn);
        let goal = task.goal.as_ref();
        let goal_goes_on = goal.is_some_and(|goal| goal.is_open() || has_begun_another);
        if !task.state.is_over() && (result.failure().is_some() || goal_goes_on) {
            self.awaits_goal = result.failure().is_none().then_some(result);
            return Ok(None);
        }
        // One that answered another input is not the answer to ours.
        let result = match self.awaits_goal.take() {
            Some(ours) if !result.inputs.is_empty() => ours,
            _ => result,
        };
        let last = self.last_of_goal(result).await?;
        self.ended(Some(last), None).await.map(Some)
    }

    async fn detail(&self) -> Result<TaskDetail, PortError> {
        self.get(&format!("/v1/tasks/{}", self.task)).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, PortError> {
        twice!(self.way, client => client.get(path))
    }

    async fn ask(&mut self, record: AskRecord) {
        if self.asked.insert(record.id.clone()) {
            self.tell_all([Activity::Asked(Box::new(record))]).await;
        }
    }

    async fn ask_over(&mut self, ask: AskId, how: String) {
        if self.asked.remove(&ask) {
            self.tell_all([Activity::AskOver { ask, how }]).await;
        }
    }

    /// A call of a tool of ours that begins or is over.
    fn note_call(&mut self, update: &Update) {
        match update {
            Update::AskOpened { ask, content } => {
                if let AskKind::ToolCall(call) = &content.kind {
                    self.calls.push((ask.clone(), call.clone()));
                }
            }
            Update::AskClosed { ask, .. } => self.calls.retain(|(known, _)| known != ask),
            _ => {}
        }
    }

    /// Those that are not over.
    async fn tell_calls(&mut self) {
        if self.after >= self.came_at {
            for (_, call) in std::mem::take(&mut self.calls) {
                self.tell(TaskNews::Call(call)).await;
            }
        }
    }

    async fn catch_up(&mut self) {
        let Some((_, texts)) = self.growing.take_if(|(seq, _)| *seq <= self.after) else { return };
        for text in texts {
            if self.may_be_ours(&text.turn) {
                let activity = self.stage.whole(&text);
                self.of_turn(&text.turn, activity).await;
            }
        }
    }

    fn may_be_ours(&self, turn: &TurnId) -> bool {
        let is_early = self.early.as_ref().is_some_and(|(known, _)| known == turn);
        is_early || self.turns.contains(turn)
    }

    async fn of_turn(&mut self, turn: &TurnId, activities: impl IntoIterator<Item = Activity>) {
        if self.turns.contains(turn) {
            return self.tell_all(activities).await;
        }
        if let Some((_, early)) = self.early.as_mut().filter(|(known, _)| known == turn) {
            early.extend(activities);
            early.truncate(MOST_EARLY);
        }
    }

    async fn tell_all(&self, activities: impl IntoIterator<Item = Activity>) {
        for activity in activities {
            self.tell(TaskNews::Activity(activity)).await;
        }
    }

    /// Whoever does not listen any more misses nothing.
    async fn tell(&self, news: TaskNews) {
        drop(self.news.send(news).await);
    }
}

pub(super) async fn intent(way: &Way, task: &TaskId, key: &str) -> Result<Intent, PortError> {
    let path = format!("/v1/tasks/{task}/receipts?key={}", query(key));
    let found: Receipts = twice!(way, client => client.get(&path))?;
    let missing = || PortError::NotFound(format!("{task} was given nothing under the key {key:?}"));
    found.intents.into_iter().next().ok_or_else(missing)
}
