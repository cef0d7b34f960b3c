//! The tools with settings of a test's own, called as the loop calls them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_agent::Activity;
use ostler_agent::api::{
    Answer, ApiError, Call, KeySource, ModelApi, Piece, Provider, Question, Secret, Wire,
};
use ostler_agent::ports::{Asks, PortError};
use ostler_agent::sandbox::Confinement;
use ostler_agent::tool::{CallContext, ToolDefinition, ToolResult};
use ostler_agent::tools::{
    BrowserSettings, Endpoint, OutsideSettings, Toolbox, Vision, WebSettings, outside_tools,
};
use ostler_model::decision::Decision;
use ostler_model::task::{AskRecord, AskState, DecidedBy, DecisionRecord, Sandbox, SandboxMode};
use ostler_model::{Ask, AskId, TaskId};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const KEY: &str = "sk-very-secret-hay";

pub(crate) struct Set {
    pub(crate) folder: TempDir,
    toolbox: Toolbox,
    pub(crate) person: Arc<Person>,
}

/// Settings with nobody to ask, and nothing private allowed.
pub(crate) fn bare(folder: &TempDir) -> OutsideSettings {
    OutsideSettings {
        web: WebSettings {
            search: None,
            allowed_hosts: Vec::new(),
            timeout: Duration::from_secs(20),
            most_bytes: 200_000,
        },
        browser: BrowserSettings {
            program: None,
            launcher: Vec::new(),
            environment: BTreeMap::new(),
            profiles: folder.path().join("browser"),
            sandbox: true,
            timeout: Duration::from_secs(20),
        },
        vision: Vision::new(Arc::new(|| Ok(Arc::new(Nobody))), None),
        images: None,
        speech: None,
        media: folder.path().join("media"),
    }
}

/// A provider at this place, with a key.
pub(crate) fn provider(base_url: String) -> Provider {
    Provider {
        base_url,
        wire: Wire::Responses,
        key: key(),
        issuer: String::new(),
        headers: Vec::new(),
        proxy: None,
    }
}

pub(crate) fn endpoint(base_url: String) -> Endpoint {
    Endpoint::new(Ok(provider(base_url)))
}

pub(crate) fn key() -> KeySource {
    KeySource::Given { name: "MY_KEY".to_owned(), fetch: Arc::new(|| Some(Secret::new(KEY))) }
}

impl Set {
    pub(crate) fn new(change: impl FnOnce(&mut OutsideSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let mut settings = bare(&folder);
        change(&mut settings);
        let cwd = folder.path().join("work").canonicalize().unwrap();
        let sandbox = Sandbox { mode: SandboxMode::WorkspaceWrite, ..Sandbox::default() };
        let confinement = Confinement { sandbox, cwd, ..Confinement::default() };
        let boundary = Arc::new(confinement.resolve());
        let toolbox = Toolbox::new(outside_tools(settings, &boundary));
        Self { folder, toolbox, person: Arc::default() }
    }

    /// With pages of this server allowed.
    pub(crate) fn reaching(hosts: &[&str]) -> Self {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        Self::new(|settings| settings.web.allowed_hosts = hosts)
    }

    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        self.toolbox.definitions()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let context = CallContext {
            conversation: "conversation".to_owned(),
            call: "call".to_owned(),
            cwd: self.work(),
            asks: self.person.clone(),
            stop: CancellationToken::new(),
        };
        let call =
            Call { id: "call".to_owned(), tool: tool.to_owned(), arguments: arguments.to_string() };
        self.toolbox.run(&call, &context).await
    }

    pub(crate) async fn said(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(!result.is_error, "{}", result.content);
        result.content
    }

    pub(crate) async fn failed(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(result.is_error, "{}", result.content);
        result.content
    }
}

/// A model that nobody may ask.
struct Nobody;

impl ModelApi for Nobody {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        _: &'a (dyn Fn(Piece) + Send + Sync),
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, ApiError>> {
        panic!("asked {question:?}")
    }
}

/// Says no to everything, and remembers what it was.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) asked: Mutex<Vec<Ask>>,
}

impl Asks for Person {
    fn open<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a str,
        ask: Ask,
    ) -> BoxFuture<'a, Result<AskRecord, PortError>> {
        self.asked.lock().unwrap().push(ask.clone());
        let by = DecidedBy::Person { name: "ada".into(), surface: "test".into() };
        let decision = DecisionRecord { decision: Decision::Deny, by, reason: None, at: 0 };
        let record = AskRecord {
            id: AskId::new("ask"),
            task: TaskId::new("task"),
            agent: None,
            source: None,
            content: ask,
            digest: String::new(),
            opened_at: 0,
            state: AskState::Open,
            decision: Some(decision),
            closed: None,
        };
        Box::pin(async move { Ok(record) })
    }

    fn decision<'a>(&'a self, _: &'a AskId) -> BoxFuture<'a, Result<DecisionRecord, PortError>> {
        Box::pin(std::future::pending())
    }

    fn withdraw<'a>(&'a self, _: &'a AskId) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn show(&self, _: Activity) {}
}
