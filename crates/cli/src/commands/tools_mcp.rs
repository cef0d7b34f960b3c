//! `ostler tools-mcp`: the agent's own tools for Codex, by MCP on stdin and stdout.
//!
//! Codex starts it for each thread, with little of the environment: who it is for stands in `OSTLER_CONVERSATION` and `OSTLER_TASK`, which are
//! let through by name (`env_vars`). Nothing is opened before a tool needs it, so that the greeting is answered at once.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ostler_agent::api::Call as ToolCall;
use ostler_agent::ports::Asks;
use ostler_agent::tool::CallContext;
use ostler_agent::{Offer, OfferSettings, Offered};
use ostler_server::mcp::{Call, Hints, McpTool, ToolAnswer, ToolTable};
use serde_json::{Map, Value};

use super::mcp::serve_here;
use crate::agent::{HostAsks, Way, confinement, memory_approval, outside};
use crate::bench::Bench;
use crate::daemon::{ReachArguments, VERSION};
use crate::failure::Failure;
use crate::places;
use crate::terminal::Output;

const SERVER: &str = "ostler-tools";

const INSTRUCTIONS: &str = "\
What the host agent knows: memory is what it remembers of its user, skills_list and skill_view are what it has learnt to do, session_search \
finds what was said in earlier conversations, todo is the list of this one. web_* and browser_* reach the web, vision_analyze sees, \
image_generate and text_to_speech make files; one that is not set up says so.";

/// The conversation for which Codex works.
const CONVERSATION: &str = "OSTLER_CONVERSATION";

/// The task that Codex works on.
const TASK: &str = "OSTLER_TASK";

#[derive(Debug, Args)]
#[command(after_help = "\
`ostler migrate` registers it with Codex. By hand, in Codex's config.toml:
  [mcp_servers.ostler-tools]
  command = \"ostler\"
  args = [\"tools-mcp\"]
  env_vars = [\"OSTLER_HOME\", \"OSTLER_CONVERSATION\", \"OSTLER_TASK\"]")]
pub(crate) struct ToolsMcpArguments {
    #[command(flatten)]
    reach: ReachArguments,
}

/// What every call is given.
struct Server {
    offered: Offered,
    conversation: String,
    cwd: PathBuf,
    asks: Arc<dyn Asks>,
}

pub(crate) fn run(arguments: &ToolsMcpArguments, output: Output) -> Result<ExitCode, Failure> {
    let bench = Bench::lay_out(output)?;
    let (places, config) = (&bench.places, bench.config.config());
    places::private_folder(&places.state)?;
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let outside = (outside(&bench, config, None)?, confinement(&bench, config, &cwd));
    let named = |name: &str| places::variable(name).map(|it| it.to_string_lossy().into_owned());
    let conversation = named(CONVERSATION).or_else(|| named(TASK));
    let way = Arc::new(Way::new(places.clone(), arguments.reach.clone()));
    let show = |_| tracing::info!("a person is asked; `ostler asks` shows it");
    let server = Arc::new(Server {
        offered: Offered::new(OfferSettings {
            home: places.state.join("agent"),
            conversations: places.state.join("conversations.db"),
            conversation: conversation.clone(),
            memory_approval: memory_approval(config),
            outside: Some(outside),
        }),
        conversation: conversation.unwrap_or_else(|| format!("tools-mcp-{}", std::process::id())),
        cwd,
        asks: Arc::new(HostAsks::new(way, Box::new(show))),
    });
    let mut table = ToolTable::new(SERVER, VERSION, INSTRUCTIONS);
    for (definition, offer) in server.offered.all() {
        let schema = match definition.parameters {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        let (name, server) = (definition.name.clone(), server.clone());
        table.add(McpTool {
            output: None,
            name: definition.name,
            title: None,
            description: definition.description,
            schema,
            hints: hints(offer),
            call: Arc::new(move |call| {
                let (name, server) = (name.clone(), server.clone());
                Box::pin(async move { server.call(&name, call).await })
            }),
        });
    }
    serve_here(table, None)
}

impl Server {
    async fn call(&self, tool: &str, call: Call) -> ToolAnswer {
        // Another name for each: a question that is asked again is another question here.
        let id = format!("mcp-{}", jiff::Timestamp::now().as_nanosecond());
        let arguments = Value::Object(call.arguments).to_string();
        let context = CallContext {
            conversation: self.conversation.clone(),
            call: id.clone(),
            cwd: self.cwd.clone(),
            asks: self.asks.clone(),
            stop: call.stop,
        };
        let wish = ToolCall { id, tool: tool.to_owned(), arguments };
        let result = self.offered.run(&wish, &context).await;
        match result.is_error {
            true => ToolAnswer::failed(result.content),
            false => ToolAnswer::said(result.content),
        }
    }
}

fn hints(offer: Offer) -> Hints {
    let Offer { only_reads, destroys, repeats, open_world, .. } = offer;
    Hints { only_reads, destroys, repeats, open_world }
}
