//! A client that does nothing by itself: every call, wait and answer is the caller's, and every wait ends.
//!
//! For whoever wants to see how a Codex behaves, step by step: the compatibility suite and the tests. Work goes through
//! [`driver`](crate::driver), which forgets nothing and comes back after a loss.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_model::{Ask, Decision, ThreadId, TurnId};
use thiserror::Error;
use tokio::time::timeout;

use crate::app_server::{AppServer, CallError, HandshakeError};
use crate::folder_trust;
use crate::peer::{AnswerError, Event, Events, PeerSettings};
use crate::protocol::approval_policy::ApprovalPolicy;
use crate::protocol::ask;
use crate::protocol::config_overrides::ConfigOverrides;
use crate::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use crate::protocol::request::thread::ThreadStart;
use crate::protocol::request::turn::TurnStart;
use crate::protocol::settings::SandboxMode;
use crate::protocol::turn::Turn;
use crate::protocol::user_input::UserInput;
use crate::protocol::{Notification, parse_notification, parse_server_request};
use crate::transport::{ConnectError, UnixSocket};
use crate::wire::{Call, RequestId};

/// No step on a scripted model takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

pub struct Client {
    pub server: AppServer,
    events: Events,
    /// Where threads are started.
    workspace: PathBuf,
    /// Every notification so far, in order.
    pub seen: Vec<Call>,
}

/// A question of Codex that waits for an answer.
#[derive(Debug)]
pub struct Question {
    pub id: RequestId,
    pub call: Call,
}

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("cannot connect: {0}")]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the answer could not be sent: {0}")]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Refused(#[from] ask::AnswerError),
    #[error("codex named no id of the {0}")]
    NoId(&'static str),
    #[error("{what} did not come; seen: {seen}")]
    TimedOut { what: String, seen: String },
    #[error("the connection ended before {what}")]
    Ended { what: String },
    #[error("instead of {what}: {came}")]
    Unexpected { what: String, came: String },
}

/// What a thread in this folder is told, so that Codex starts no program of the folder and writes nothing about it.
pub fn folder_config(folder: &Path) -> ConfigOverrides {
    let verdicts = folder_trust::verdicts(&folder.to_string_lossy(), None);
    [(folder_trust::KEY.to_owned(), verdicts)].into_iter().collect()
}

impl Question {
    pub fn ask(&self) -> Ask {
        ask::ask(&parse_server_request(&self.call.method, self.call.params_json()))
    }
}

impl Client {
    pub async fn connect(socket: &Path, workspace: PathBuf) -> Result<Self, ClientError> {
        Self::connect_with(socket, workspace, &PeerSettings::default()).await
    }

    pub async fn connect_with(
        socket: &Path,
        workspace: PathBuf,
        settings: &PeerSettings,
    ) -> Result<Self, ClientError> {
        let hello = Initialize {
            client_info: ClientInfo {
                name: "ostler".to_owned(),
                title: None,
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            capabilities: Capabilities { experimental_api: true, ..Capabilities::default() },
        };
        let transport = UnixSocket::connect(socket).await?;
        let (server, events) = AppServer::greet(transport, &hello, settings).await?;
        Ok(Self { server, events, workspace, seen: Vec::new() })
    }

    /// Starts a thread in the workspace.
    pub async fn start_thread(
        &self,
        sandbox: SandboxMode,
        policy: ApprovalPolicy,
    ) -> Result<ThreadId, ClientError> {
        let start = ThreadStart {
            cwd: Some(self.workspace.display().to_string()),
            sandbox: Some(sandbox),
            approval_policy: Some(policy),
            config: Some(folder_config(&self.workspace)),
            ..ThreadStart::default()
        };
        let opened = self.server.call(&start).await?;
        opened.thread_id().cloned().ok_or(ClientError::NoId("thread"))
    }

    pub async fn start_turn(&self, thread: &ThreadId, text: &str) -> Result<TurnId, ClientError> {
        let input = vec![UserInput::Text(text.to_owned())];
        let started = self.server.call(&TurnStart::new(thread.clone(), input)).await?;
        started.turn.id.ok_or(ClientError::NoId("turn"))
    }

    /// Reads on until Codex asks something.
    pub async fn question(&mut self) -> Result<Question, ClientError> {
        const WHAT: &str = "a question";
        loop {
            match self.next(WHAT).await? {
                Event::Request { id, call } => return Ok(Question { id, call }),
                Event::Notification(call) => {
                    if call.method.as_ref() == "turn/completed" {
                        let came = format!("the turn ended: {}", call.params_json());
                        return Err(ClientError::Unexpected { what: WHAT.to_owned(), came });
                    }
                    self.seen.push(call);
                }
                other => return Err(unexpected(WHAT, &other)),
            }
        }
    }

    pub async fn answer(
        &self,
        question: &Question,
        decision: &Decision,
    ) -> Result<(), ClientError> {
        let request = parse_server_request(&question.call.method, question.call.params_json());
        let answer = ask::answer(&request, decision, self.server.version())?;
        Ok(self.server.peer().answer(&question.id, &answer).await?)
    }

    /// Reads on until a notification is the one looked for, which is returned. A question on the way is an error.
    pub async fn until(
        &mut self,
        what: &str,
        mut found: impl FnMut(&Notification<'_>) -> bool,
    ) -> Result<Call, ClientError> {
        loop {
            match self.next(what).await? {
                Event::Notification(call) => {
                    let is_it = found(&parse_notification(&call.method, call.params_json()));
                    self.seen.push(call.clone());
                    if is_it {
                        return Ok(call);
                    }
                }
                other => return Err(unexpected(what, &other)),
            }
        }
    }

    /// Reads on to the end of a turn of this thread.
    pub async fn turn_end(&mut self, thread: &ThreadId) -> Result<Turn, ClientError> {
        const WHAT: &str = "the turn's end";
        let is_it = |notification: &Notification<'_>| matches!(notification, Notification::TurnCompleted(event) if event.thread_id == *thread);
        let ended = self.until(WHAT, is_it).await?;
        match parse_notification(&ended.method, ended.params_json()) {
            Notification::TurnCompleted(event) => Ok(event.turn),
            other => {
                let came = format!("{other:?}");
                Err(ClientError::Unexpected { what: WHAT.to_owned(), came })
            }
        }
    }

    /// What is read from the notifications seen so far.
    pub fn seen<T>(&self, mut pick: impl FnMut(Notification<'_>) -> Option<T>) -> Vec<T> {
        let calls = self.seen.iter();
        calls
            .filter_map(|call| pick(parse_notification(&call.method, call.params_json())))
            .collect()
    }

    /// The next event, whatever it is.
    pub async fn next(&mut self, what: &str) -> Result<Event, ClientError> {
        let what = || what.to_owned();
        match timeout(PATIENCE, self.events.next()).await {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(ClientError::Ended { what: what() }),
            Err(_) => {
                let seen: Vec<&str> = self.seen.iter().map(|call| call.method.as_ref()).collect();
                Err(ClientError::TimedOut { what: what(), seen: seen.join(", ") })
            }
        }
    }

    pub async fn close(self) {
        self.events.close().await;
    }
}

fn unexpected(what: &str, event: &Event) -> ClientError {
    ClientError::Unexpected { what: what.to_owned(), came: format!("{event:?}") }
}
