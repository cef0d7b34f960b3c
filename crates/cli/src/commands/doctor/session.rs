//! One short talk with an app-server, for all that only Codex itself can tell.
//!
//! No thread is started: that would write to the user's `config.toml`, which is linked into the home of this Codex.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ostler_codex::app_server::{AppServer, CallError};
use ostler_codex::config_layers::{Layer, layers};
use ostler_codex::peer::{Event, Events, PeerSettings, RequestError};
use ostler_codex::protocol::notification::views::ConfigWarning;
use ostler_codex::protocol::request::account::{AccountRead, AccountState, ConfigRead};
use ostler_codex::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use ostler_codex::protocol::{Notification, parse_notification};
use ostler_codex::transport::{StdioChild, StdioStart};
use semver::Version;
use tokio::time::timeout;

use super::check::{Check, Name};
use super::config::CodexConfig;
use super::sandbox::{self, Trial};

/// Codex greets after 0.4 s with a fresh home, and was seen to take two seconds on a loaded machine.
const GREETING_DEADLINE: Duration = Duration::from_secs(15);

/// Both questions are answered from memory within 20 ms.
pub(super) const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// Codex ends within 0.1 s of its stdin; then it is killed.
const END_DEADLINE: Duration = Duration::from_secs(2);

/// Beyond what all the deadlines of a talk can take together.
pub(super) const TALK_DEADLINE: Duration = Duration::from_secs(100);

/// Codex fetches its list of plugins from the network when it starts; a look at the machine needs none, and must not
/// leave half of it behind. And it takes a `.codex` above the folder it runs in for that of a project: ours runs below
/// the user's state folder, and their `.codex` is not the home that it was given.
const ARGUMENTS: [&str; 4] = ["-c", "features.plugins=false", "-c", "project_root_markers=[]"];

/// What the talk is had with.
pub(super) struct Start {
    pub(super) codex: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Where the sandbox is tried.
    pub(super) ground: Ground,
    pub(super) bubblewrap: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) workspace: PathBuf,
    pub(super) outside: PathBuf,
}

pub(super) enum Session {
    NotStarted { why: String },
    Talked(Box<Talk>),
}

pub(super) struct Talk {
    pub(super) greeted_after: Duration,
    pub(super) version: Version,
    pub(super) account: Result<AccountState, Unanswered>,
    pub(super) config: CodexConfig,
    pub(super) sandbox: Result<Trial, String>,
}

/// A question without the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// Codex answered with an error of its own.
    Refused(String),
    /// No answer came, or none that can be read.
    Lost(String),
}

impl Unanswered {
    /// Codex's own words where it has some, without the method and the number around them.
    pub(super) fn new(error: CallError) -> Self {
        match error {
            CallError::Request { source: RequestError::Rpc(rpc), .. } => Self::Refused(rpc.message),
            other => Self::Lost(other.to_string()),
        }
    }

    pub(super) fn into_words(self) -> String {
        let (Self::Refused(words) | Self::Lost(words)) = self;
        words
    }
}

/// An app-server that has greeted, and the process it is.
pub(super) struct Greeted {
    pub(super) app_server: AppServer,
    pub(super) events: Events,
    child: StdioChild,
}

impl Greeted {
    pub(super) async fn end(mut self) {
        self.events.close().await;
        // How it ends is not what we came for; a child that does not is killed here.
        drop(self.child.wait(END_DEADLINE).await);
    }
}

/// Starts Codex with these arguments, or says why it does not start.
pub(super) async fn greet(start: &Start, arguments: &[&str]) -> Result<Greeted, String> {
    let spawned = StdioStart {
        codex: start.codex.clone(),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: start.environment.clone(),
        working_directory: start.ground.workspace.clone(),
    }
    .spawn();
    let (transport, mut child) = spawned.map_err(|error| error.to_string())?;
    let (hello, settings) = (hello(), PeerSettings::default());
    let greeted = timeout(GREETING_DEADLINE, AppServer::greet(transport, &hello, &settings));
    match greeted.await {
        Ok(Ok((app_server, events))) => Ok(Greeted { app_server, events, child }),
        Ok(Err(error)) => Err(format!("{error} ({})", how_it_ended(&mut child).await)),
        Err(_) => Err(format!("it did not greet within {} s", GREETING_DEADLINE.as_secs())),
    }
}

pub(super) async fn talk(start: Start) -> Session {
    let begun = Instant::now();
    let mut greeted = match greet(&start, &ARGUMENTS).await {
        Ok(greeted) => greeted,
        Err(why) => return Session::NotStarted { why },
    };
    let Greeted { app_server, events, .. } = &mut greeted;
    let greeted_after = begun.elapsed();
    let mut warnings = Vec::new();
    let (account, read, sandbox) = tokio::select! {
        answers = ask(app_server, &start) => answers,
        // Ends only with the connection, and then every answer above is an error.
        () = collect(events, &mut warnings) => {
            let gone = || "the app-server ended meanwhile".to_owned();
            (Err(Unanswered::Lost(gone())), Err(gone()), Err(gone()))
        }
    };
    let version = app_server.version().semver().clone();
    greeted.end().await;
    Session::Talked(Box::new(Talk {
        greeted_after,
        version,
        account,
        config: CodexConfig { read, warnings },
        sandbox,
    }))
}

pub(super) fn judge_start(session: &Session, codex: &Path, expected: &Version) -> Check {
    match session {
        Session::NotStarted { why } => {
            Check::problem(Name::AppServer, format!("does not start: {why}"))
                .advise(format!("run `{} app-server` to see what it says", codex.display()))
        }
        Session::Talked(talk) => {
            let found = format!("greets after {} ms", talk.greeted_after.as_millis());
            if talk.version == *expected {
                return Check::ok(Name::AppServer, found);
            }
            let found = format!("{found}, but as Codex {} and not {expected}", talk.version);
            Check::warning(Name::AppServer, found).advise("run `ostler codex check`")
        }
    }
}

type Answers =
    (Result<AccountState, Unanswered>, Result<Vec<Layer>, String>, Result<Trial, String>);

async fn ask(app_server: &AppServer, start: &Start) -> Answers {
    let account = AccountRead { refresh_token: false };
    let account = app_server.call_within(&account, ANSWER_DEADLINE).await.map_err(Unanswered::new);
    let config = ConfigRead { include_layers: true, cwd: None };
    let config = app_server.call_within(&config, ANSWER_DEADLINE).await;
    let config = config.map(|state| layers(&state));
    let config = config.map_err(|error| Unanswered::new(error).into_words());
    let Ground { workspace, outside } = &start.ground;
    let bubblewrap = start.bubblewrap.clone();
    let sandbox = sandbox::attempt(app_server, workspace, outside, bubblewrap).await;
    (account, config, Ok(sandbox))
}

/// Reads on, as every connection needs, and keeps what Codex has to say about its configuration.
async fn collect(events: &mut Events, warnings: &mut Vec<ConfigWarning>) {
    while let Some(event) = events.next().await {
        if let Event::Notification(call) = event
            && let Notification::ConfigWarning(warning) =
                parse_notification(&call.method, call.params_json())
        {
            warnings.push(warning);
        }
    }
}

async fn how_it_ended(child: &mut StdioChild) -> String {
    match child.wait(END_DEADLINE).await {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    }
}

fn hello() -> Initialize {
    Initialize {
        client_info: ClientInfo {
            name: "ostler".to_owned(),
            title: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        capabilities: Capabilities::default(),
    }
}
