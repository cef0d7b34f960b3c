//! One turn, from the greeting to its end, shown as it happens.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use ostler_codex::app_server::AppServer;
use ostler_codex::peer::{Event, Events, PeerSettings};
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::ask;
use ostler_codex::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use ostler_codex::protocol::request::thread::ThreadStart;
use ostler_codex::protocol::request::turn::TurnStart;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::{
    ItemBody, Notification, ServerRequest, parse_notification, parse_server_request,
};
use ostler_codex::transport::UnixSocket;
use ostler_codex::wire::{Call, RequestId};
use ostler_model::{AskKind, Decision, ItemId, ThreadId};

use super::answers::Answers;
use super::incoming::{Incoming, gone};
use super::stage::Stage;
use crate::conversation::{FileShown, Screen, Shown, translate};
use crate::failure::{Exit, Failure};

/// JSON-RPC's code for a method that we do not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// A command may end after its turn (up to 0.142.5 even a fast one does, by about 100 ms).
const LATE_COMMANDS: Duration = Duration::from_secs(5);

/// How the turn ended, counted from what Codex told.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) status: String,
    pub(super) commands_run: usize,
    pub(super) denied: usize,
}

pub(super) async fn play(
    stage: &Stage,
    socket: &Path,
    prompt: &str,
    answers: &mut Answers,
    screen: &mut Screen,
) -> Result<Outcome, Failure> {
    let socket = UnixSocket::connect(socket).await.map_err(|error| failed(&error))?;
    let (server, events) = AppServer::greet(socket, &hello(), &PeerSettings::default())
        .await
        .map_err(|error| failed(&error))?;
    screen.step(format!("connected to Codex {}", server.version()));
    screen.show(&Shown::Prompt { text: prompt.to_owned() });
    let thread = start_thread(stage, &server).await?;
    let input = vec![UserInput::Text(prompt.to_owned())];
    server.call(&TurnStart::new(thread.clone(), input)).await.map_err(|error| failed(&error))?;
    let mut turn = Turn { server, thread, files: HashMap::new(), running: HashSet::new() };
    turn.watch(events, answers, screen).await
}

fn hello() -> Initialize {
    Initialize {
        client_info: ClientInfo {
            name: "ostler".to_owned(),
            title: Some("Ostler".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        capabilities: Capabilities::default(),
    }
}

async fn start_thread(stage: &Stage, server: &AppServer) -> Result<ThreadId, Failure> {
    let start = ThreadStart {
        cwd: Some(stage.workspace().display().to_string()),
        sandbox: Some(SandboxMode::WorkspaceWrite),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        ..ThreadStart::default()
    };
    let opened = server.call(&start).await.map_err(|error| failed(&error))?;
    opened
        .thread_id()
        .cloned()
        .ok_or_else(|| Failure::new(Exit::Failed, "codex started a thread without an id"))
}

struct Turn {
    server: AppServer,
    thread: ThreadId,
    /// The diffs of file changes that have begun: an approval request names only the item.
    files: HashMap<ItemId, Vec<FileShown>>,
    /// Commands that have begun and not ended.
    running: HashSet<ItemId>,
}

impl Turn {
    async fn watch(
        &mut self,
        events: Events,
        answers: &mut Answers,
        screen: &mut Screen,
    ) -> Result<Outcome, Failure> {
        let mut incoming = Incoming::new(events);
        let mut outcome = Outcome::default();
        let mut ended = None;
        loop {
            let event = match ended {
                None => incoming.next().await,
                Some(_) if self.running.is_empty() => break,
                Some(deadline) => match tokio::time::timeout_at(deadline, incoming.next()).await {
                    Ok(event) => event,
                    Err(_) => break,
                },
            };
            match event {
                Some(Event::Notification(call)) => {
                    if self.notification(&call, &mut outcome, screen) {
                        ended = Some(tokio::time::Instant::now() + LATE_COMMANDS);
                    }
                }
                Some(Event::Request { id, call }) => {
                    let asked = Asked { id, call };
                    self.request(asked, &mut incoming, &mut outcome, answers, screen).await?;
                }
                Some(Event::Oddity(oddity)) => {
                    screen.show(&Shown::Warning {
                        text: format!("codex said something odd: {oddity}"),
                    });
                }
                Some(Event::Closed(closed)) => return Err(gone(&closed.to_string())),
                None => break,
            }
        }
        incoming.close().await;
        Ok(outcome)
    }

    /// True when this was the end of our turn.
    fn notification(&mut self, call: &Call, outcome: &mut Outcome, screen: &mut Screen) -> bool {
        let notification = parse_notification(&call.method, call.params_json());
        match &notification {
            Notification::ItemStarted(event) => match &event.item.body {
                ItemBody::CommandExecution(_) => {
                    self.running.insert(event.item.id.clone());
                }
                ItemBody::FileChange(change) => {
                    self.files.insert(event.item.id.clone(), translate::files(change));
                }
                _ => {}
            },
            Notification::ItemCompleted(event) => {
                if let ItemBody::CommandExecution(command) = &event.item.body {
                    self.running.remove(&event.item.id);
                    outcome.commands_run += usize::from(command.exit_code.is_some());
                }
            }
            _ => {}
        }
        if let Some(shown) = translate::notification(&notification) {
            screen.show(&shown);
        }
        match notification {
            Notification::TurnCompleted(event) if event.thread_id == self.thread => {
                outcome.status = translate::turn_status(&event.turn);
                true
            }
            _ => false,
        }
    }

    async fn request(
        &mut self,
        Asked { id, call }: Asked,
        incoming: &mut Incoming,
        outcome: &mut Outcome,
        answers: &mut Answers,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let request = parse_server_request(&call.method, call.params_json());
        let mut asked = ask::ask(&request);
        if let (AskKind::FileChange(change), Some(item)) = (&mut asked.kind, &asked.item) {
            let known = self.files.get(item).into_iter().flatten();
            change.files = known.map(translate::file_diff).collect();
        }
        if asked.offers.is_empty() {
            screen
                .show(&Shown::Warning { text: format!("the demo cannot answer {}", call.method) });
            return self.refuse(&id, &call.method).await;
        }
        screen.show(&translate::ask(&asked));
        let (decision, by) = tokio::select! {
            biased;
            decided = answers.decide(&asked, screen) => decided,
            dismissed = incoming.until_dismissed(&id) => {
                // The cursor stands behind the question.
                screen.prompt("\n");
                dismissed?;
                let (decision, by) = ("answered elsewhere".to_owned(), "codex".to_owned());
                screen.show(&Shown::Answer { decision, by });
                return Ok(());
            }
        };
        if matches!(decision, Decision::Deny | Decision::Cancel) {
            outcome.denied += 1;
        }
        screen.show(&Shown::Answer { decision: translate::decision(&decision), by });
        self.answer(&id, &request, &decision).await
    }

    async fn answer(
        &self,
        id: &RequestId,
        request: &ServerRequest<'_>,
        decision: &Decision,
    ) -> Result<(), Failure> {
        let answer = ask::answer(request, decision, self.server.version());
        let answer = answer.map_err(|error| failed(&error))?;
        self.server.peer().answer(id, &answer).await.map_err(|error| failed(&error))
    }

    async fn refuse(&self, id: &RequestId, method: &str) -> Result<(), Failure> {
        let message = format!("this client does not handle {method}");
        let refused = self.server.peer().refuse(id, METHOD_NOT_FOUND, &message).await;
        refused.map_err(|error| failed(&error))
    }
}

/// A question of Codex's.
struct Asked {
    id: RequestId,
    call: Call,
}

fn failed(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Failed, error.to_string())
}
