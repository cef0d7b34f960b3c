//! An agent in a folder of its own.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ostler_agent::api::{Answer, ApiError, Call, Finish, ModelApi, Piece, Question};
use ostler_agent::ports::{Asks, PortError, Taken, TaskEnded, TaskNews, Tasks};
use ostler_agent::sandbox::Confinement;
use ostler_agent::tool::ToolResult;
use ostler_agent::tools::WriteApproval;
use ostler_agent::{Activity, Agent, Clock, Controls, Intervals, KitSettings, Parts, Runtime};
use ostler_agent::{
    CodexCompaction, CodexTools, ReviewTelling, Settings, TurnOutcome, UserInput, Which,
};
use ostler_model::task::{AskRecord, DecisionRecord, TaskSettings};
use ostler_model::usage::Tokens;
use ostler_model::{Ask, AskId, Failure, FailureClass, Input, ItemId, TaskId};
use ostler_store::Conversations;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) enum Reply {
    Answer(Box<Answer>),
    Fails(FailureClass),
    /// Until the turn is stopped.
    Hangs {
        said: &'static str,
    },
}

/// Plays replies, and keeps what it was asked.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) replies: Mutex<VecDeque<Reply>>,
    pub(crate) questions: Mutex<Vec<Question>>,
    /// What a surface does while the model thinks.
    pub(crate) meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl ModelApi for Model {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        hear: &'a (dyn Fn(Piece) + Send + Sync),
        stop: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, ApiError>> {
        Box::pin(async move {
            self.questions.lock().unwrap().push(question.clone());
            if let Some(meanwhile) = self.meanwhile.lock().unwrap().take() {
                meanwhile();
            }
            // Where a program may be killed.
            tokio::task::yield_now().await;
            let reply = self.replies.lock().unwrap().pop_front().unwrap();
            match reply {
                Reply::Answer(answer) => {
                    hear(Piece::Text(answer.text.clone()));
                    Ok(*answer)
                }
                Reply::Fails(class) => Err(ApiError::Failed {
                    failure: Failure::new(class, "it failed"),
                    code: None,
                    param: None,
                    partial: None,
                }),
                Reply::Hangs { said } => {
                    stop.cancelled().await;
                    let partial = Answer { text: said.to_owned(), ..Answer::default() };
                    Err(ApiError::Interrupted { partial: Box::new(partial) })
                }
            }
        })
    }
}

/// A daemon whose tasks end as they are told to.
#[derive(Default)]
pub(crate) struct Daemon {
    pub(crate) ends: Mutex<VecDeque<TaskEnded>>,
    /// What was asked of it, in words.
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) inputs: Mutex<Vec<Input>>,
    pub(crate) settings: Mutex<Vec<TaskSettings>>,
    /// Tasks that are gone.
    pub(crate) gone: Mutex<Vec<TaskId>>,
    pub(crate) is_away: Mutex<bool>,
    /// So many inputs are taken without a word.
    pub(crate) silences: Mutex<u32>,
    /// So many wishes to stop are not heard.
    pub(crate) deaf_to_stops: Mutex<u32>,
    /// The next turn ends when something is asked that begins so.
    pub(crate) ends_after: Mutex<Option<&'static str>>,
    held: Mutex<Option<Held>>,
    /// What became of words for the turn that runs.
    pub(crate) taken: Mutex<VecDeque<Taken>>,
    keys: Mutex<Vec<String>>,
}

/// A turn that has not ended.
struct Held {
    until: &'static str,
    ended: Option<TaskEnded>,
    news: mpsc::Sender<TaskNews>,
}

impl Daemon {
    fn note(&self, what: String) {
        let mut held = self.held.lock().unwrap();
        if let Some(Held { ended: Some(ended), news, .. }) =
            held.take_if(|held| what.starts_with(held.until))
        {
            news.try_send(TaskNews::Ended(Box::new(ended))).unwrap();
        }
        self.asked.lock().unwrap().push(what);
    }

    fn answers(&self) -> Result<(), PortError> {
        let mut silences = self.silences.lock().unwrap();
        if *silences > 0 {
            *silences -= 1;
            return Err(PortError::InDoubt("it did not answer".to_owned()));
        }
        Ok(())
    }

    fn is_there(&self) -> Result<(), PortError> {
        match *self.is_away.lock().unwrap() {
            true => Err(PortError::Unreachable("nobody listens".to_owned())),
            false => Ok(()),
        }
    }
}

impl Tasks for Daemon {
    fn start<'a>(
        &'a self,
        settings: TaskSettings,
        input: Input,
        key: &'a str,
    ) -> BoxFuture<'a, Result<TaskId, PortError>> {
        Box::pin(async move {
            self.is_there()?;
            self.note(format!("start {key}"));
            let mut keys = self.keys.lock().unwrap();
            if !keys.iter().any(|known| known == key) {
                keys.push(key.to_owned());
                self.inputs.lock().unwrap().push(input);
                self.settings.lock().unwrap().push(settings);
            }
            self.answers()?;
            let number = keys.iter().position(|known| known == key).unwrap() + 1;
            Ok(TaskId::new(format!("task{number}")))
        })
    }

    fn send<'a>(
        &'a self,
        task: &'a TaskId,
        input: Input,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            if self.gone.lock().unwrap().contains(task) {
                return Err(PortError::NotFound(task.to_string()));
            }
            self.is_there()?;
            self.note(format!("send {task} {key}"));
            self.inputs.lock().unwrap().push(input);
            self.answers()
        })
    }

    fn steer<'a>(
        &'a self,
        task: &'a TaskId,
        text: String,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.is_there()?;
            self.note(format!("steer {task} {text} {key}"));
            Ok(())
        })
    }

    fn taken<'a>(
        &'a self,
        _task: &'a TaskId,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Taken, PortError>> {
        Box::pin(async move { Ok(self.taken.lock().unwrap().pop_front().unwrap_or(Taken::Never)) })
    }

    fn interrupt<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            {
                let mut deaf = self.deaf_to_stops.lock().unwrap();
                if *deaf > 0 {
                    *deaf -= 1;
                    return Err(PortError::Unreachable("it is being replaced".to_owned()));
                }
            }
            self.note(format!("interrupt {task}"));
            Ok(())
        })
    }

    fn follow<'a>(
        &'a self,
        task: &'a TaskId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<mpsc::Receiver<TaskNews>, PortError>> {
        Box::pin(async move {
            self.is_there()?;
            self.note(format!("follow {task} {key}"));
            let (news, told) = mpsc::channel(4);
            if let Some(until) = self.ends_after.lock().unwrap().take() {
                let ended = self.ends.lock().unwrap().pop_front();
                *self.held.lock().unwrap() = Some(Held { until, ended, news });
                return Ok(told);
            }
            let ended = self.ends.lock().unwrap().pop_front();
            if let Some(ended) = ended {
                news.send(TaskNews::Ended(Box::new(ended))).await.unwrap();
            }
            Ok(told)
        })
    }

    fn take_call<'a>(
        &'a self,
        _task: &'a TaskId,
        call: &'a ItemId,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { Err(PortError::NotFound(call.to_string())) })
    }

    fn finish_call<'a>(
        &'a self,
        _task: &'a TaskId,
        call: &'a ItemId,
        _result: ToolResult,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { Err(PortError::NotFound(call.to_string())) })
    }

    fn release<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.note(format!("release {task}"));
            Ok(())
        })
    }

    fn remove<'a>(&'a self, _task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }
}

struct NobodyAsks;

impl Asks for NobodyAsks {
    fn open<'a>(
        &'a self,
        _conversation: &'a str,
        _key: &'a str,
        _cwd: &'a str,
        _ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        Box::pin(async { Err(PortError::Unreachable("nobody listens".to_owned())) })
    }

    fn decision<'a>(&'a self, _ask: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        Box::pin(async { Err(PortError::Unreachable("nobody listens".to_owned())) })
    }

    fn withdraw<'a>(&'a self, _ask: &'a AskId) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn show(&self, _activity: Activity) {}
}

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) model: Arc<Model>,
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) context_window: u64,
    pub(crate) iterations: u32,
    pub(crate) intervals: Intervals,
    pub(crate) default_model: String,
    pub(crate) default_effort: String,
    pub(crate) review_model: Option<String>,
    /// A program that is told of good turns.
    pub(crate) memory_sync: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(replies: Vec<Reply>) -> Self {
        let model = Model { replies: Mutex::new(replies.into()), ..Model::default() };
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("inn")).unwrap();
        let daemon = Arc::default();
        Self {
            folder,
            model: Arc::new(model),
            daemon,
            context_window: 100_000,
            iterations: 20,
            intervals: Intervals { memory: 0, skills: 0 },
            default_model: "oats".to_owned(),
            default_effort: "medium".to_owned(),
            review_model: None,
            memory_sync: None,
        }
    }

    pub(crate) async fn open(&self, which: Which, runtime: Option<Runtime>) -> Agent {
        let cwd = self.folder.path().join("inn");
        let path = self.folder.path().join("conversations.db");
        let conversations = Conversations::open(path).await.unwrap();
        let settings = Settings {
            runtime,
            model: None,
            default_model: self.default_model.clone(),
            effort: None,
            default_effort: Some(self.default_effort.clone()),
            cwd: cwd.clone(),
            context_window: self.context_window,
            iterations: self.iterations,
            full_percent: 75,
            intervals: self.intervals,
            review_model: self.review_model.clone(),
            review_telling: ReviewTelling::OneLine,
            codex_compaction: CodexCompaction::Native,
            codex_tools: CodexTools::Mcp,
            codex: TaskSettings::in_folder(cwd.display().to_string()),
            memory_sync: self.memory_sync.clone(),
            identity: Some("You are the stable's clerk.".to_owned()),
            day: "2026-11-16".to_owned(),
            new_id: Some("0198-talk".to_owned()),
        };
        let kit = KitSettings {
            home: self.folder.path().join("agent"),
            confinement: Confinement { cwd, ..Confinement::default() },
            launcher: Vec::new(),
            bubblewraps: Vec::new(),
            environment: BTreeMap::new(),
            delegated: TaskSettings::default(),
            memory_approval: WriteApproval::NotNeeded,
            outside: None,
        };
        let parts = Parts {
            api: self.model.clone(),
            review_api: Ok(self.model.clone()),
            tasks: self.daemon.clone(),
            asks: Arc::new(NobodyAsks),
            conversations,
            later: Arc::new(|_| {}),
            clock: Clock::new(|| 1_000),
        };
        Agent::open(settings, kit, parts, which).await.unwrap()
    }

    /// What the model was shown, question by question, as role and text.
    pub(crate) fn shown(&self) -> Vec<Vec<(String, String)>> {
        let questions = self.model.questions.lock().unwrap();
        let text = |question: &Question| {
            let entries = question.history.iter().map(|entry| &entry.message);
            let line = |message: &ostler_model::Message| {
                let role = serde_json::to_value(message.role).unwrap().as_str().unwrap().to_owned();
                (role, message.content.clone().unwrap_or_default())
            };
            entries.map(line).collect()
        };
        questions.iter().map(text).collect()
    }

    pub(crate) fn inn(&self) -> PathBuf {
        self.folder.path().join("inn")
    }
}

pub(crate) async fn say(agent: &mut Agent, text: &str) -> TurnOutcome {
    agent.turn(UserInput::text(text), &Controls::default(), &|_| {}).await
}

pub(crate) fn answer(text: &str) -> Answer {
    let tokens = Tokens { input: 100, output: 10, ..Tokens::default() };
    Answer { text: text.to_owned(), tokens: Some(tokens), ..Answer::default() }
}

pub(crate) fn says(text: &str) -> Reply {
    Reply::Answer(Box::new(answer(text)))
}

pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Reply {
    let call = |(id, tool, arguments): &(&str, &str, &str)| Call {
        id: (*id).to_owned(),
        tool: (*tool).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    let calls = calls.iter().map(call).collect();
    Reply::Answer(Box::new(Answer { calls, finish: Finish::ToolCalls, ..answer("") }))
}

pub(crate) fn roles(outcome: &TurnOutcome) -> Vec<String> {
    let role = |message: &ostler_model::Message| {
        serde_json::to_value(message.role).unwrap().as_str().unwrap().to_owned()
    };
    outcome.messages.iter().map(role).collect()
}
