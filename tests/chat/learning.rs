//! Counters, and what is looked back at.

use ostler_scripted_model::Conversation;
use rstest::rstest;
use serde_json::json;

use crate::migrated::tool_with;
use crate::world::{Plan, World};
use crate::{call, conversation, exec, text};

const REVIEW: &str = "Look back at the conversation above";

/// What the review does: it remembers something and says so.
fn remembers() -> Conversation {
    let entry = json!({ "action": "add", "target": "user", "content": "Likes short answers." });
    conversation(REVIEW, vec![call("memory", entry), text("Kept one thing.")])
}

fn learns() -> Conversation {
    let content =
        "---\nname: feeding\ndescription: How horses are fed here\n---\n\nOats first, then hay.\n";
    let skill = json!({ "action": "create", "name": "feeding", "content": content });
    conversation(REVIEW, vec![call("skill_manage", skill), text("Learnt to feed.")])
}

#[rstest]
#[case::own("auto", "0.166.0")]
#[case::codex("codex_app_server", "0.130.0")]
#[case::codex_142("codex_app_server", "0.142.5")]
#[case::codex_166("codex_app_server", "0.166.0")]
fn the_memory_is_looked_at_when_its_interval_is_reached_across_restarts(
    #[case] runtime: &'static str,
    #[case] version: &'static str,
) {
    let talk = || vec![text("One."), text("Two."), text("Three.")];
    let plain = || vec![conversation("word", talk())];
    let host = [vec![remembers()], plain()].concat();
    let agent = "memory_nudge_interval = 2\nskill_nudge_interval = 0";
    let world = World::new(Plan { version, host, codex: plain(), agent, ..Plan::default() });
    let profile = world.path("o/state/agent/memories/USER.md");
    let reviews = |world: &World| {
        world.asked().iter().filter(|it| it["input"].to_string().contains(REVIEW)).count()
    };

    world.ask("word one", &["--runtime", runtime]);
    assert_eq!(world.state()["counters"]["user_turns"], 1);
    assert_eq!((reviews(&world), profile.exists()), (0, false), "below the threshold");

    world.ask("word two", &["--resume", "last"]);
    let text = std::fs::read_to_string(&profile).unwrap();
    assert!(text.contains("Likes short answers."), "{text}");
    assert_eq!(reviews(&world), 2, "the review asked, ran its tool, and asked again");
    let state = world.state();
    let counters = (&state["counters"]["user_turns"], &state["counters"]["turns_since_memory"]);
    assert_eq!(counters, (&json!(2), &json!(0)));

    world.ask("word three", &["--resume", "last"]);
    assert_eq!(reviews(&world), 2, "it begins anew");
    // A review leaves no message behind.
    let kept = world.kept();
    assert!(kept.iter().all(|it| !it.body.contains(REVIEW)), "{kept:?}");
    assert_eq!(kept.len(), 6, "{kept:?}");
}

#[rstest]
#[case::own("auto")]
#[case::codex("codex_app_server")]
fn skills_are_looked_at_when_tools_were_used(#[case] runtime: &'static str) {
    let host_turn = vec![call("read_file", json!({ "path": "hay.txt" })), text("Fed.")];
    let host = vec![learns(), conversation("feed", host_turn)];
    let codex = vec![conversation("feed", vec![exec("cat hay.txt"), text("Fed.")])];
    let agent = "memory_nudge_interval = 0\nskill_nudge_interval = 1";
    let world = World::new(Plan { host, codex, agent, ..Plan::default() });
    std::fs::write(world.path("inn/hay.txt"), "oats\n").unwrap();

    let found = world.ask("feed", &["--runtime", runtime]);

    assert_eq!(found["completed"], true, "{found}");
    let skill = std::fs::read_to_string(world.path("o/state/agent/skills/feeding/SKILL.md"));
    assert!(skill.unwrap().contains("Oats first"));
    assert_eq!(world.state()["counters"]["iterations_since_skills"], 0);
}

/// On real Codex, whichever way it gets our tools.
#[rstest]
fn codex_is_not_reminded_of_a_memory_that_it_keeps_by_itself(
    #[values("mcp", "dynamic")] tools: &'static str,
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let mare = json!({ "action": "add", "target": "user", "content": "Ada rides a bay mare." });
    let remembers_itself = match tools {
        "mcp" => tool_with(version, "ostler_tools", "memory", mare),
        _ => call("memory", mare),
    };
    let codex = vec![conversation("who rides", vec![remembers_itself, text("Ada does.")])];
    let host = vec![remembers()];
    let agent =
        format!("codex_tools = {tools:?}\nmemory_nudge_interval = 1\nskill_nudge_interval = 0");
    let world = World::new(Plan { version, host, codex, agent: agent.leak(), ..Plan::default() });
    assert!(world.run(&["migrate"]).status.success());

    let found = world.ask("who rides", &["--runtime", "codex_app_server"]);

    assert_eq!(found["final_response"], "Ada does.", "{found}");
    let text = std::fs::read_to_string(world.path("o/state/agent/memories/USER.md")).unwrap();
    assert!(text.contains("Ada rides a bay mare."), "{text}");
    assert_eq!(world.state()["counters"]["turns_since_memory"], 0);
    assert_eq!(world.host.requests_seen(), 0, "nobody had to remind it");
}

/// The review has only memory and skills, whatever its model calls.
#[test]
fn a_review_is_denied_everything_else() {
    let sneaks = conversation(
        REVIEW,
        vec![call("terminal", json!({ "command": "touch sneaked" })), text("Nothing to save.")],
    );
    let host = vec![sneaks, conversation("word", vec![text("One.")])];
    let agent = "memory_nudge_interval = 1\nskill_nudge_interval = 0";
    let world = World::new(Plan { host, agent, ..Plan::default() });

    world.ask("word", &[]);

    assert!(!world.path("inn/sneaked").exists());
    let last = world.asked().pop().unwrap()["input"].to_string();
    assert!(last.contains("function_call_output"), "the review was told: {last}");
}

/// A conversation on Codex needs no key of its own. Its reviews ask with the login of Codex, and without one they stay due.
#[test]
fn a_review_without_a_key_asks_with_the_login_of_codex_or_stays_due() {
    let codex = vec![conversation("word", vec![text("One."), text("Two."), text("Three.")])];
    let agent = "memory_nudge_interval = 1\nskill_nudge_interval = 0";
    let world = World::new(Plan { host: vec![remembers()], codex, agent, ..Plan::default() });
    let chat = |more: &[&str]| {
        let mut command = world.command(&[&["chat", "-q", "word"][..], more].concat());
        let done = command.env_remove("INN_KEY").output().unwrap();
        let errors = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.success(), "{errors}");
        // Notes are broken into lines.
        errors.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let first = chat(&["--runtime", "codex_app_server"]);
    assert!(first.contains("nobody can be asked for it: INN_KEY is not set"), "{first}");
    assert_eq!(world.state()["counters"]["turns_since_memory"], 1);

    // A key that nobody takes: the review fails, says so, and stays due.
    let base_url = format!("{}/v1", world.host.base_url().trim_end_matches("/v1"));
    world.set(&format!(
        "[providers.codex]\nbase_url = {base_url:?}\nwire = \"responses\"\ncodex_login = true\n"
    ));
    let login = world.path("home/auth.json");
    std::fs::write(&login, r#"{"OPENAI_API_KEY": "sk-of-the-login"}"#).unwrap();
    world.host.demand_key("sk-another");
    let second = chat(&["--resume", "last"]);
    assert!(second.contains("is tried again after the next turn"), "{second}");
    assert_eq!(world.state()["counters"]["turns_since_memory"], 1, "due after the next turn");

    world.host.demand_key("sk-of-the-login");
    chat(&["--resume", "last"]);
    let profile = std::fs::read_to_string(world.path("o/state/agent/memories/USER.md")).unwrap();
    assert!(profile.contains("Likes short answers."), "{profile}");
    assert_eq!(world.state()["counters"]["turns_since_memory"], 0);
}
