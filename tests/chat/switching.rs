//! One conversation on both runtimes.

use rstest::rstest;

use crate::world::{Plan, World, outcome};
use crate::{conversation, text};

#[rstest]
fn a_conversation_moves_to_codex_and_back_and_nothing_is_lost(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &'static str,
) {
    let host = vec![
        conversation("third word", vec![text("Third answer.")]),
        conversation("first word", vec![text("First answer.")]),
    ];
    let codex = vec![
        conversation("fourth word", vec![text("Fourth answer.")]),
        conversation("second word", vec![text("Second answer.")]),
    ];
    let world = World::new(Plan { version, host, codex, ..Plan::default() });

    let first = world.ask("first word", &[]);
    let second = world.ask("second word", &["--resume", "last", "--runtime", "codex_app_server"]);
    let third = world.ask("third word", &["--resume", "last", "--runtime", "auto"]);
    let fourth = world.ask("fourth word", &["--resume", "last", "--runtime", "codex_app_server"]);

    let answers = [&first, &second, &third, &fourth].map(|it| it["final_response"].clone());
    assert_eq!(answers, ["First answer.", "Second answer.", "Third answer.", "Fourth answer."]);
    assert_eq!(second["thread"], fourth["thread"], "the thread goes on");
    // Each was told once what had been said on the other.
    let told = world.asked().last().unwrap()["input"].to_string();
    let codex = world.codex.requests().last().unwrap().json()["input"].to_string();
    for (said, on_codex_too) in [
        ("first word", true),
        ("First answer.", true),
        ("second word", true),
        ("Second answer.", true),
        ("third word", true),
        ("Third answer.", false),
        ("fourth word", false),
    ] {
        assert_eq!(codex.matches(said).count(), 1, "{said} in {codex}");
        assert_eq!(told.matches(said).count(), usize::from(on_codex_too), "{said} in {told}");
    }
    assert_eq!(world.kept().len(), 8);
    world.wait_until_no_codex_runs();
}

/// Wherever the next chat is begun, the conversation goes on where it was; in another folder only if that is named, and then with
/// a thread of Codex that works there.
#[test]
fn a_conversation_stays_in_its_folder_unless_another_is_named() {
    let word = |word: &str| conversation(word, vec![text(&format!("{word} done."))]);
    let codex = vec![word("third"), word("second"), word("first")];
    let host = vec![word("fourth")];
    let world = World::new(Plan { host, codex, ..Plan::default() });
    let other = world.path("elsewhere");
    std::fs::create_dir(&other).unwrap();
    let elsewhere = |question: &str, more: &[&str]| {
        let arguments = [&["chat", "-q", question, "--json", "--resume", "last"], more].concat();
        outcome(&world.command(&arguments).current_dir(&other).output().unwrap())
    };

    let first = world.ask("first", &["--runtime", "codex_app_server"]);
    let second = elsewhere("second", &[]);
    let fourth = elsewhere("fourth", &["--runtime", "auto"]);
    let named = ["--runtime", "codex_app_server", "--cwd", "."];
    let third = elsewhere("third", &named);

    assert_eq!(first["thread"], second["thread"]);
    assert_eq!(fourth["final_response"], "fourth done.", "{fourth}");
    let told = world.asked()[0].to_string();
    let (inn, other) = (world.path("inn"), other.display().to_string());
    assert!(told.contains(inn.to_str().unwrap()) && !told.contains(&other), "{told}");
    assert_eq!(third["final_response"], "third done.", "{third}");
    assert_ne!(third["thread"], first["thread"]);
    let told = world.codex.requests().last().unwrap().json().to_string();
    assert!(told.contains(&other) && told.contains("second done."), "{told}");
}
