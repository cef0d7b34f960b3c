//! The runtime is switched inside of a chat, at a real terminal.

use ostler_testkit::Terminal;

use crate::world::{Plan, World};
use crate::{conversation, text};

fn chat(world: &World) -> Terminal {
    let mut command = world.command(&["chat"]);
    command.env("TERM", "xterm");
    Terminal::run(command).unwrap()
}

/// Codex would ask its own provider, with an account that nobody chose for this conversation.
#[test]
fn a_switch_that_has_no_effect_sends_codex_nothing() {
    let host = vec![conversation("hello", vec![text("Host answers.")])];
    let codex = vec![conversation("hello", vec![text("Codex answers.")])];
    let agent = "provider = \"local\"";
    let world = World::new(Plan { host, codex, agent, ..Plan::default() });
    let base_url = format!("{}/v1", world.host.base_url().trim_end_matches("/v1"));
    world.set(&format!("[providers.local]\nbase_url = {base_url:?}\nkey_env = \"INN_KEY\""));
    let mut terminal = chat(&world);
    terminal.wait_for("/help lists the commands", 1).unwrap();

    terminal.type_in("/codex-runtime on\r").unwrap();
    terminal.wait_for("no effect while agent.provider is", 1).unwrap();
    terminal.wait_for("tools: Codex has its own", 1).unwrap();
    terminal.type_in("hello\r").unwrap();
    terminal.wait_for("Host answers.", 1).unwrap();
    terminal.type_in("\u{4}").unwrap();

    // The turn may be in its last step still, which is then stopped: both ends are well.
    assert!([0, 130].contains(&terminal.exit_code().unwrap()), "{}", terminal.shown());
    assert_eq!((world.codex.requests_seen(), world.host.requests_seen()), (0, 1));
    assert_eq!(world.state()["runtime"], "auto");
}

#[test]
fn a_switch_holds_for_the_next_conversation_of_the_same_chat() {
    let codex = vec![conversation("hello", vec![text("Codex answers.")])];
    let world = World::new(Plan { codex, ..Plan::default() });
    let mut terminal = chat(&world);
    terminal.wait_for("/help lists the commands", 1).unwrap();

    terminal.type_in("/codex-runtime on\r").unwrap();
    terminal.wait_for("this conversation goes on with it", 1).unwrap();
    terminal.type_in("/reset\r").unwrap();
    terminal.wait_for("Runtime: codex app-server", 1).unwrap();
    terminal.type_in("hello\r").unwrap();
    terminal.wait_for("Codex answers.", 1).unwrap();
    terminal.type_in("\u{4}").unwrap();

    // The turn may be in its last step still, which is then stopped: both ends are well.
    assert!([0, 130].contains(&terminal.exit_code().unwrap()), "{}", terminal.shown());
    assert_eq!(world.host.requests_seen(), 0);
    world.wait_until_no_codex_runs();
}
