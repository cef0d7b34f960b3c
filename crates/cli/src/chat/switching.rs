//! The switch of the runtime, on our settings and with our Codex: behind `/codex-runtime` and `ostler runtime`.

use ostler_agent::NOT_OFFERED;
use ostler_agent::api::credentials::codex_login_base_url;
use ostler_agent::runtime::{Asked, Runtime, Standing, Switch, Turn, switch};
use ostler_codex::binary::resolve;
use ostler_config::edit::choose_runtime;
use ostler_config::settings;

use crate::bench::Bench;
use crate::commands::migrate::{Wanted, overlay};
use crate::failure::Failure;
use crate::settings::{ConfigFile, unreadable};

/// Reads the settings anew: another chat may have changed them.
pub(crate) async fn switch_runtime(
    bench: &Bench,
    asked: Asked,
    turn: Turn,
) -> Result<Switch, Failure> {
    let file = ConfigFile::load(&bench.places)?;
    let agent = &file.config().agent;
    let standing = Standing { runtime: runtime_of(agent.runtime), provider: &agent.provider, turn };
    let look = async || {
        let found = resolve(&bench.settings(), &bench.cache, &bench.environment).await;
        found.map(|found| found.version).map_err(|error| Failure::from(error).message)
    };
    let persist = |runtime| write(&file, runtime).map_err(|failure| failure.message);
    let mut switch = switch(asked, standing, look, persist).await;
    if asked == Asked::Set(Runtime::CodexAppServer) && switch.success {
        // Also if it was on already: what is migrated may be old by now.
        let lines = [migrated(bench).await, login(bench), tools(agent.codex_tools)];
        switch.message = [vec![switch.message], lines.to_vec()].concat().join("\n");
    }
    Ok(switch)
}

/// Gives Codex its MCP servers. Whatever becomes of that, the runtime is switched.
async fn migrated(bench: &Bench) -> String {
    let Some(home) = bench.usual_codex_home() else {
        return "MCP servers were not migrated: there is no home folder".to_owned();
    };
    match overlay::run(bench, &home, Wanted::default(), false).await {
        Ok(report) => report.line(),
        Err(failure) => format!("MCP servers were not migrated: {}", failure.message),
    }
}

/// Whether Codex is logged in. It may need no login: its own settings can name a provider without one.
fn login(bench: &Bench) -> String {
    let Some(home) = bench.usual_codex_home() else {
        return "login: unknown, there is no home folder".to_owned();
    };
    match codex_login_base_url(&home) {
        Ok(_) => format!("login: Codex is logged in ({})", home.display()),
        Err(error) => format!("login: {error}"),
    }
}

/// What a conversation on Codex does not have of the agent's tools.
fn tools(choice: settings::CodexTools) -> String {
    match choice {
        settings::CodexTools::None => {
            "tools: Codex gets none of the agent's own (codex_tools in [agent])".to_owned()
        }
        settings::CodexTools::Mcp | settings::CodexTools::Dynamic => format!(
            "tools: Codex has its own commands and files, and gets the agent's tools but {}",
            NOT_OFFERED.join(", ")
        ),
    }
}

/// The word of the settings.
pub(crate) fn runtime_of(word: settings::Runtime) -> Runtime {
    match word {
        settings::Runtime::Auto => Runtime::Auto,
        settings::Runtime::CodexAppServer => Runtime::CodexAppServer,
    }
}

fn write(file: &ConfigFile, runtime: Runtime) -> Result<(), Failure> {
    let word = match runtime {
        Runtime::Auto => settings::Runtime::Auto,
        Runtime::CodexAppServer => settings::Runtime::CodexAppServer,
    };
    let new =
        choose_runtime(&file.text, word).map_err(|problem| unreadable(&file.place, &[problem]))?;
    file.replace(&new)
}
