//! Questions as things to show: all that a person must see to answer.

use ostler_model::ask::{CommandAsk, ElicitationWant, Permissions};
use ostler_model::{Ask, AskId, AskKind};

use super::super::shown::{AskShown, DetailShown};
use super::super::words;
use super::item::files;

pub(crate) fn ask(id: &AskId, ask: &Ask) -> AskShown {
    shown_of("Codex", id, ask)
}

/// A question of the host agent's own tools.
pub(crate) fn agents_ask(id: &AskId, ask: &Ask) -> AskShown {
    shown_of("The agent", id, ask)
}

fn shown_of(who: &str, id: &AskId, ask: &Ask) -> AskShown {
    let mut shown = AskShown {
        id: id.to_string(),
        reason: ask.reason.clone(),
        choices: ask.offers.iter().map(words::decision).collect(),
        ..AskShown::default()
    };
    let what = match &ask.kind {
        AskKind::Command(command) => {
            shown.command.clone_from(&command.command);
            shown.cwd.clone_from(&command.cwd);
            command_details(command, &mut shown.details);
            match (command.writes_to_running, &command.network, &command.command) {
                (true, ..) => "Codex asks to type into a running command",
                (_, Some(_), _) => "Codex asks to connect to the network",
                _ => "Codex asks to run a command",
            }
        }
        AskKind::FileChange(change) => {
            shown.files = files(&change.files);
            if let Some(root) = &change.grant_root {
                let text = format!("{root}, for the rest of the session");
                shown.details.push(DetailShown::new("makes writable", text));
            }
            "Codex asks to change files"
        }
        AskKind::Permissions(wanted) => {
            shown.cwd.clone_from(&wanted.cwd);
            permissions(&wanted.wanted, &mut shown.details);
            // A part of them can be granted by number.
            for (number, detail) in shown.details.iter_mut().enumerate() {
                detail.name = format!("{} {}", number + 1, detail.name);
            }
            "Codex asks for more permissions"
        }
        AskKind::UserInput(input) => {
            for question in &input.questions {
                shown.details.push(DetailShown::new(&question.header, &question.text));
            }
            if let Some(ms) = input.resolves_itself_after_ms {
                let text = format!("in {} s, if you do not answer", ms.div_ceil(1000));
                shown.details.push(DetailShown::new("goes on alone", text));
            }
            "Codex asks you a question"
        }
        AskKind::Elicitation(elicitation) => {
            shown.details.push(DetailShown::new("server", &elicitation.server));
            shown.details.push(DetailShown::new("says", &elicitation.message));
            match &elicitation.want {
                ElicitationWant::ToolApproval { tool: _, description, arguments } => {
                    let more = [("tool", description), ("arguments", arguments)];
                    for (name, text) in more {
                        let text = text.iter().map(|text| DetailShown::new(name, text));
                        shown.details.extend(text);
                    }
                    "Codex asks to call a tool"
                }
                ElicitationWant::Form(_) => "a tool asks you to fill in a form",
                ElicitationWant::Url(url) => {
                    shown.details.push(DetailShown::new("open", url));
                    "a tool asks you to open an address"
                }
                ElicitationWant::Other(_) => "a tool asks you something new",
            }
        }
        AskKind::ToolCall(_) => "Codex asks for a tool of ours",
        AskKind::TokenRefresh { .. } => "Codex asks for fresh tokens",
        AskKind::Continue { why } => {
            shown.details.push(DetailShown::new("why", why));
            "the task stopped: shall it go on?"
        }
        AskKind::Other { name } => {
            shown.details.push(DetailShown::new("request", name));
            "Codex asks something new"
        }
    };
    shown.what = match what.strip_prefix("Codex ") {
        Some(wish) => format!("{who} {wish}"),
        None => what.to_owned(),
    };
    shown
}

fn command_details(command: &CommandAsk, details: &mut Vec<DetailShown>) {
    if let Some(target) = &command.network {
        let protocol = target.protocol.as_deref().map(|word| format!(" ({word})"));
        let text = format!("{}{}", target.host, protocol.unwrap_or_default());
        details.push(DetailShown::new("network", text));
    }
    if let Some(extra) = &command.extra {
        permissions(extra, details);
    }
    if command.command.is_some() && command.network.is_none() {
        details.push(DetailShown::new("runs", command.sandboxing.describe()));
    }
}

/// One line for each thing that would be widened.
fn permissions(wanted: &Permissions, details: &mut Vec<DetailShown>) {
    if wanted.network == Some(true) {
        details.push(DetailShown::new("network", "all of it"));
    }
    for (name, list) in [("read", &wanted.read), ("write", &wanted.write), ("rule", &wanted.rules)]
    {
        details.extend(list.iter().map(|item| DetailShown::new(name, item)));
    }
}
