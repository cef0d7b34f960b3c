//! What Codex is extended by: MCP servers and plugins. An app-server of its own starts and lists them.
//!
//! It has a home without the user's login: nothing of theirs is renewed, and Codex asks nobody on the network about plugins.
//! A server that hangs holds up nothing else, because the other checks talk to another app-server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use ostler_codex::app_server::AppServer;
use ostler_codex::bare_client::folder_config;
use ostler_codex::config_layers::disabled_mcp_servers;
use ostler_codex::peer::{Event, Events};
use ostler_codex::protocol::notification::views::McpServerStatus;
use ostler_codex::protocol::request::account::{ConfigRead, PluginList, Plugins};
use ostler_codex::protocol::request::mcp::{McpServerSeen, McpServerStatusList};
use ostler_codex::protocol::request::thread::ThreadStart;
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::words::McpServerState;
use ostler_codex::protocol::{Notification, parse_notification};
use tokio::sync::watch;
use tokio::time::timeout;

use super::session::{ANSWER_DEADLINE, Greeted, Start, Unanswered, greet};

/// Codex gives a server ten seconds unless its config says more, and starts them side by side. Longer than this nobody waits.
const SERVERS_DEADLINE: Duration = Duration::from_secs(60);

/// Greeting, two short questions, and the servers twice: listed, and started for a thread.
pub(super) const DEADLINE: Duration = Duration::from_secs(180);

/// As in [`session`](super::session): a `.codex` above our folder is not that of a project. Plugins are what we came for.
const ARGUMENTS: [&str; 2] = ["-c", "project_root_markers=[]"];

/// Codex 0.166.0 fetches its own catalogue of plugins by git, also without a login; a look at the machine needs none.
const NO_FETCHING: (&str, &str) = ("GIT_ALLOW_PROTOCOL", "file");

/// More servers than this nobody has; a list without end is broken.
const MOST_PAGES: usize = 20;

pub(super) struct Extensions {
    pub(super) servers: Result<Vec<Server>, String>,
    pub(super) plugins: Result<Plugins, String>,
}

/// One MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) state: ServerState,
    /// It stands in no file of Codex's, because `ostler migrate` keeps it.
    pub(super) is_migrated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerState {
    Lists {
        tools: usize,
    },
    SwitchedOff,
    /// It starts, and has no tools.
    Empty,
    /// It wants a login of its own, which is not in our home.
    WantsLogin,
    Failed {
        why: String,
    },
}

/// Or why Codex does not start.
///
/// `migrated` are settings that Codex gets with each thread, by dotted key, with JSON text as values: servers that stand in no file of
/// its home.
pub(super) async fn talk(
    mut start: Start,
    migrated: &BTreeMap<String, String>,
) -> Result<Extensions, String> {
    let (name, value) = NO_FETCHING;
    start.environment.push((name.into(), value.into()));
    let given = overrides(migrated);
    let arguments = ARGUMENTS.into_iter().chain(given.iter().map(String::as_str));
    let mut greeted = greet(&start, &arguments.collect::<Vec<_>>()).await?;
    let Greeted { app_server, events, .. } = &mut greeted;
    let (told, heard) = watch::channel(Vec::new());
    let workspace = start.ground.workspace.display().to_string();
    let mut extensions = tokio::select! {
        extensions = ask(app_server, heard, &workspace) => Ok(extensions),
        // Ends only with the connection, and then every answer above is an error.
        () = listen(events, &told) => Err("the app-server ended meanwhile".to_owned()),
    };
    greeted.end().await;
    let servers = extensions.iter_mut().filter_map(|it| it.servers.as_mut().ok()).flatten();
    for server in servers {
        server.is_migrated = migrated.contains_key(&format!("mcp_servers.{}", server.name));
    }
    extensions
}

/// As Codex takes settings with its command: TOML. What is none was never given to a thread either.
fn overrides(migrated: &BTreeMap<String, String>) -> Vec<String> {
    let toml = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        toml::Value::try_from(value).ok()
    };
    let words = migrated.iter().filter_map(|(key, text)| Some((key, toml(text)?)));
    words.flat_map(|(key, value)| ["-c".to_owned(), format!("{key}={value}")]).collect()
}

type Heard = watch::Receiver<Vec<McpServerStatus>>;

async fn ask(app_server: &AppServer, heard: Heard, workspace: &str) -> Extensions {
    let plugins = app_server.call_within(&PluginList::default(), ANSWER_DEADLINE).await;
    let plugins = plugins.map_err(|error| Unanswered::new(error).into_words());
    Extensions { servers: servers(app_server, heard, workspace).await, plugins }
}

async fn servers(
    app_server: &AppServer,
    heard: Heard,
    workspace: &str,
) -> Result<Vec<Server>, String> {
    let words = |error| Unanswered::new(error).into_words();
    let config = ConfigRead { include_layers: false, cwd: None };
    let config = app_server.call_within(&config, ANSWER_DEADLINE).await.map_err(words)?;
    let disabled = disabled_mcp_servers(&config);
    let mut seen = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let page = McpServerStatusList { cursor: cursor.take(), limit: None };
        let page = app_server.call_within(&page, SERVERS_DEADLINE).await.map_err(words)?;
        seen.extend(page.data);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let is_unclear = |server: &&McpServerSeen| {
        !disabled.contains(&server.name) && server.tools.is_empty() && server.tools_error.is_none()
    };
    let unclear: BTreeSet<String> =
        seen.iter().filter(is_unclear).map(|server| server.name.clone()).collect();
    let reasons = if unclear.is_empty() {
        Vec::new()
    } else {
        reasons(app_server, heard, workspace, &unclear).await
    };
    Ok(seen.into_iter().map(|server| judged(server, &disabled, &reasons)).collect())
}

fn judged(
    server: McpServerSeen,
    disabled: &BTreeSet<String>,
    reasons: &[McpServerStatus],
) -> Server {
    let reason = reasons.iter().rev().find(|reason| reason.name == server.name);
    let failed = reason.filter(|reason| reason.status == Some(McpServerState::Failed));
    let why = server
        .tools_error
        .or_else(|| failed.map(|failed| failed.error.clone().unwrap_or_default()));
    let state = if disabled.contains(&server.name) {
        ServerState::SwitchedOff
    } else if !server.tools.is_empty() {
        ServerState::Lists { tools: server.tools.len() }
    } else if server.auth_status.as_deref() == Some("notLoggedIn") {
        ServerState::WantsLogin
    } else {
        match why {
            Some(why) => ServerState::Failed { why },
            None => ServerState::Empty,
        }
    };
    Server { name: server.name, state, is_migrated: false }
}

/// Before 0.166.0 the list does not tell why a server has no tools. A thread starts them, too, and then Codex says so. It is a
/// thread that may only read: for another one Codex would note in the user's config that its folder is trusted.
async fn reasons(
    app_server: &AppServer,
    mut heard: Heard,
    workspace: &str,
    names: &BTreeSet<String>,
) -> Vec<McpServerStatus> {
    let start = ThreadStart {
        cwd: Some(workspace.to_owned()),
        sandbox: Some(SandboxMode::ReadOnly),
        ephemeral: Some(true),
        config: Some(folder_config(Path::new(workspace))),
        ..ThreadStart::default()
    };
    if let Err(error) = app_server.call_within(&start, ANSWER_DEADLINE).await {
        tracing::debug!(%error, "no thread, so no reasons");
        return Vec::new();
    }
    let is_settled = |heard: &Vec<McpServerStatus>| {
        let over = |status: &McpServerStatus| status.status != Some(McpServerState::Starting);
        let settled = |name: &String| heard.iter().any(|told| told.name == *name && over(told));
        names.iter().all(settled)
    };
    // What is not told by then is told as unknown.
    drop(timeout(SERVERS_DEADLINE, heard.wait_for(is_settled)).await);
    heard.borrow().clone()
}

/// Reads on, as every connection needs, and keeps what Codex says of servers that start.
async fn listen(events: &mut Events, told: &watch::Sender<Vec<McpServerStatus>>) {
    while let Some(event) = events.next().await {
        if let Event::Notification(call) = event
            && let Notification::McpServerStatusUpdated(status) =
                parse_notification(&call.method, call.params_json())
        {
            told.send_modify(|all| all.push(status));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::overrides;

    #[test]
    fn what_was_migrated_is_given_as_toml() {
        let table = r#"{"command": "a \"b\"", "args": ["x"], "env_vars": ["HAY"], "tool_timeout_sec": 30.0}"#;
        let given = overrides(&[("mcp_servers.hay".to_owned(), table.to_owned())].into());
        let written = given[1].parse::<toml::Table>().unwrap();
        let wanted = "[mcp_servers.hay]\ncommand = 'a \"b\"'\nargs = ['x']\nenv_vars = ['HAY']\ntool_timeout_sec = 30.0";
        assert_eq!((given[0].as_str(), written), ("-c", wanted.parse().unwrap()));
        assert!(!given[1].contains('\n'), "{given:?}");
    }
}
