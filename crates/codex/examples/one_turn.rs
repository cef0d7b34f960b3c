//! One turn of Codex from a program: `cargo run -p ostler-codex --example one_turn -- PATH_TO_CODEX FOLDER "PROMPT"`.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program of its own")]

use std::sync::Arc;

use ostler_codex::driver::{ChildConnector, Driver, DriverSettings, ThreadOptions};
use ostler_codex::peer::PeerSettings;
use ostler_codex::thread::settings::ThreadSettings;
use ostler_codex::thread::{Decided, Decider, TurnInput};
use ostler_codex::transport::StdioStart;
use ostler_model::Decision;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [codex, folder, prompt] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "three words")?;
    let start = StdioStart {
        codex: codex.into(),
        arguments: Vec::new(),
        environment: std::env::vars_os().collect(),
        working_directory: folder.clone().into(),
    };
    let connector = Arc::new(ChildConnector::new(start, PeerSettings::default()));
    let (driver, _task) = Driver::start(connector, DriverSettings::default()).await?;
    let (thread, updates) =
        driver.start_thread(ThreadSettings::new(folder), ThreadOptions::default()).await?;
    drop(updates); // Or read them, to show what happens while it happens.
    thread
        .decide_with(Decider::new(|_id, ask| async move {
            let reason = format!("this example approves nothing, not even {:?}", ask.kind);
            Ok(Decided { decision: Decision::Deny, by: "the example".into(), reason: Some(reason) })
        }))
        .await;
    let outcome = thread.run(TurnInput::text(prompt)).await.map_err(|failure| failure.message)?;
    println!("{:?}\n{}", outcome.result.end, outcome.result.final_answer.unwrap_or_default());
    Ok(())
}
