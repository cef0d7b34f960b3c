//! Whether the MCP servers of the Codex config start and list their tools.

use std::path::Path;

use super::check::{Check, Name};
use super::extensions::{Server, ServerState};
use super::page::count;

/// Codex repeats itself, and names types of its own, in the reasons of servers that speak HTTP.
const REASON_CHARS: usize = 240;

/// Behind it stands why.
const STARTUP: &str = "MCP startup failed: ";

pub(super) fn judge(servers: &Result<Vec<Server>, String>, config: &Path) -> Check {
    let servers = match servers {
        Ok(servers) => servers,
        Err(why) => {
            return Check::warning(Name::McpServers, format!("cannot be looked at: {why}"))
                .advise("run `codex mcp list`");
        }
    };
    if servers.is_empty() {
        return Check::ok(Name::McpServers, "none is configured");
    }
    let details = servers.iter().map(|server| {
        let whose = if server.is_migrated { " (migrated)" } else { "" };
        format!("{}{whose}: {}", server.name, words(server))
    });
    let details: Vec<String> = details.collect();
    let of = |wanted: fn(&ServerState) -> bool| {
        servers.iter().filter(|server| wanted(&server.state)).count()
    };
    let lists = of(|state| matches!(state, ServerState::Lists { .. }));
    let is_failed =
        |state: &ServerState| matches!(state, ServerState::Failed { .. } | ServerState::Empty);
    let failed = of(is_failed);
    let off = of(|state| *state == ServerState::SwitchedOff);
    let login = of(|state| *state == ServerState::WantsLogin);
    let mut found = vec![format!("{lists} of {} started and listed tools", servers.len() - off)];
    if off > 0 {
        found.push(format!("{off} switched off"));
    }
    if login > 0 {
        found.push(format!("{} a login", if login == 1 { "1 wants" } else { "some want" }));
    }
    let found = found.join("; ");
    if failed == 0 {
        return Check::ok(Name::McpServers, found).with_details(details);
    }
    let is_migrated = |server: &Server| is_failed(&server.state) && server.is_migrated;
    let migrated = match servers.iter().any(is_migrated) {
        true => " (what was migrated in its own file, and run `ostler migrate` again)",
        false => "",
    };
    Check::warning(Name::McpServers, found).with_details(details).advise(format!(
        "correct what failed in {}{migrated}, or switch it off with `enabled = false`; tasks run without its tools",
        config.display()
    ))
}

fn words(server: &Server) -> String {
    match &server.state {
        ServerState::Lists { tools } => count(*tools, "tool"),
        ServerState::SwitchedOff => "switched off".to_owned(),
        ServerState::Empty => {
            "lists no tools: it does not start, or has none; Codex does not say why".to_owned()
        }
        ServerState::WantsLogin => {
            "wants a login of its own, which is not tried here; `codex mcp list` shows it"
                .to_owned()
        }
        ServerState::Failed { why } => format!("failed: {}", short(why)),
    }
}

/// Without the types that Codex names in brackets, and without what every reason begins with.
fn short(why: &str) -> String {
    let mut why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(shorter) = without_types(&why) {
        why = shorter;
    }
    let why = why.split_once(STARTUP).map_or(why.as_str(), |(_, reason)| reason).to_owned();
    if why.chars().count() <= REASON_CHARS {
        return why;
    }
    // The beginning says what was done, the end what went wrong.
    let half = REASON_CHARS / 2;
    let start: String = why.chars().take(half).collect();
    let end: String = why.chars().skip(why.chars().count() - half).collect();
    format!("{start} … {end}")
}

/// The text without the first type in brackets; none if there is no such.
fn without_types(text: &str) -> Option<String> {
    let is_type = |(before, _): &(usize, &str)| {
        let inside = text.get(*before..).and_then(|rest| rest.split(']').next());
        inside.is_some_and(|inside| inside.contains("::"))
    };
    let (start, _) = text.match_indices(" [").find(is_type)?;
    let (_, after) = text.get(start..)?.split_once(']')?;
    Some(format!("{}{after}", text.get(..start)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, state: ServerState) -> Server {
        Server { name: name.to_owned(), state, is_migrated: false }
    }

    #[test]
    fn one_that_fails_is_a_warning_with_its_reason() {
        let config = Path::new("/h/config.toml");
        assert_eq!(judge(&Ok(vec![]), config), Check::ok(Name::McpServers, "none is configured"));
        let mut servers = vec![
            server("docs", ServerState::Lists { tools: 1 }),
            server("tiny", ServerState::Lists { tools: 3 }),
            server("off", ServerState::SwitchedOff),
            server("far", ServerState::WantsLogin),
        ];
        let well = [
            "docs: 1 tool",
            "tiny: 3 tools",
            "off: switched off",
            "far: wants a login of its own, which is not tried here; `codex mcp list` shows it",
        ];
        let well = well.map(str::to_owned).to_vec();
        let found = "2 of 3 started and listed tools; 1 switched off; 1 wants a login";
        let expected = Check::ok(Name::McpServers, found).with_details(well.clone());
        assert_eq!(judge(&Ok(servers.clone()), config), expected);

        servers.push(server("gone", ServerState::Failed { why: "No such\n file".to_owned() }));
        let found = "2 of 4 started and listed tools; 1 switched off; 1 wants a login";
        let advice = "correct what failed in /h/config.toml, or switch it off with `enabled = false`; \
                      tasks run without its tools";
        let details = [well, vec!["gone: failed: No such file".to_owned()]].concat();
        let expected = Check::warning(Name::McpServers, found).with_details(details).advise(advice);
        assert_eq!(judge(&Ok(servers), config), expected);
    }

    #[test]
    fn a_long_reason_keeps_its_beginning_and_its_end() {
        let shown = short(&format!("first {} last", "x ".repeat(500)));
        assert!(shown.starts_with("first x") && shown.ends_with("x last"), "{shown}");
        assert_eq!(shown.chars().count(), REASON_CHARS + 3);
        let types = "MCP client for `x` failed to start: MCP startup failed: Send message error Transport \
                     [a::B<c::D<E>>] error: [b::C] see [mcp_servers.x]";
        assert_eq!(short(types), "Send message error Transport error: see [mcp_servers.x]");
    }
}
