//! A client for tests: calls with types, and waits that end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ostler_codex::app_server::AppServer;
use ostler_codex::peer::{Event, Events, PeerSettings};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::ask;
use ostler_codex::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use ostler_codex::protocol::request::thread::ThreadStart;
use ostler_codex::protocol::request::turn::TurnStart;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::turn::Turn;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::{Notification, parse_notification, parse_server_request};
use ostler_codex::transport::UnixSocket;
use ostler_codex::wire::{Call, RequestId};
use ostler_model::{Ask, Decision, ThreadId, TurnId};

/// No step of a test on a scripted model takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

pub struct Client {
    pub server: AppServer,
    events: Events,
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

impl Question {
    pub fn ask(&self) -> Ask {
        ask::ask(&parse_server_request(&self.call.method, self.call.params_json()))
    }
}

impl Client {
    pub async fn connect(socket: &Path, workspace: PathBuf) -> Result<Self> {
        Self::connect_with(socket, workspace, &PeerSettings::default()).await
    }

    pub async fn connect_with(
        socket: &Path,
        workspace: PathBuf,
        settings: &PeerSettings,
    ) -> Result<Self> {
        let hello = Initialize {
            client_info: ClientInfo {
                name: "ostler-tests".to_owned(),
                title: None,
                version: "0.0.0".to_owned(),
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
    ) -> Result<ThreadId> {
        let start = ThreadStart {
            cwd: Some(self.workspace.display().to_string()),
            sandbox: Some(sandbox),
            approval_policy: Some(policy),
            ..ThreadStart::default()
        };
        self.server.call(&start).await?.thread_id().cloned().context("a thread without an id")
    }

    pub async fn start_turn(&self, thread: &ThreadId, text: &str) -> Result<TurnId> {
        let input = vec![UserInput::Text(text.to_owned())];
        let started = self.server.call(&TurnStart::new(thread.clone(), input)).await?;
        started.turn.id.context("a turn without an id")
    }

    /// Reads on until Codex asks something.
    pub async fn question(&mut self) -> Result<Question> {
        loop {
            match self.next("a question").await? {
                Event::Request { id, call } => return Ok(Question { id, call }),
                Event::Notification(call) => {
                    if call.method.as_ref() == "turn/completed" {
                        bail!("the turn ended without a question: {}", call.params_json());
                    }
                    self.seen.push(call);
                }
                other => bail!("instead of a question: {other:?}"),
            }
        }
    }

    pub async fn answer(&self, question: &Question, decision: &Decision) -> Result<()> {
        let request = parse_server_request(&question.call.method, question.call.params_json());
        let answer = ask::answer(&request, decision, self.server.version())?;
        Ok(self.server.peer().answer(&question.id, &answer).await?)
    }

    /// Reads on until a notification is the one looked for, which is returned. A question on the way is an error.
    pub async fn until(
        &mut self,
        what: &str,
        mut found: impl FnMut(&Notification<'_>) -> bool,
    ) -> Result<Call> {
        loop {
            match self.next(what).await? {
                Event::Notification(call) => {
                    let is_it = found(&parse_notification(&call.method, call.params_json()));
                    self.seen.push(call.clone());
                    if is_it {
                        return Ok(call);
                    }
                }
                other => bail!("while waiting for {what}: {other:?}"),
            }
        }
    }

    /// Reads on to the end of a turn of this thread.
    pub async fn turn_end(&mut self, thread: &ThreadId) -> Result<Turn> {
        let ended = self
            .until("the turn's end", |notification| {
                matches!(notification, Notification::TurnCompleted(event) if event.thread_id == *thread)
            })
            .await?;
        match parse_notification(&ended.method, ended.params_json()) {
            Notification::TurnCompleted(event) => Ok(event.turn),
            other => bail!("{other:?}"),
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
    pub async fn next(&mut self, what: &str) -> Result<Event> {
        let next = tokio::time::timeout(PATIENCE, self.events.next()).await;
        next.with_context(|| format!("{what} did not come; seen: {:?}", self.methods()))?
            .with_context(|| format!("the stream ended before {what}"))
    }

    pub async fn close(self) {
        self.events.close().await;
    }

    fn methods(&self) -> Vec<&str> {
        self.seen.iter().map(|call| call.method.as_ref()).collect()
    }
}
