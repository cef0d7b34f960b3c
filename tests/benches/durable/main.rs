//! The budgets of durable tasks, each with its figure: what a long turn costs on its whole way from Codex to the disk, what
//! it takes in memory, whether anything of it is lost, how fast an answer is, what a daemon costs that has much to do later,
//! and what 500 viewers of one task cost. Ratios of one run where there is something to compare with; absolute figures are this machine's.
//!
//! Start reading at [`main`], then `budgets` (what is measured), `round` (how), `world` (an engine here) and `fake` (a Codex in
//! another process).
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark speaks and fails by panicking"
)]

mod budgets;
mod daemon;
mod fake;
mod listed;
mod processes;
mod round;
#[path = "../../../crates/codex/benches/turn/mod.rs"]
mod turn;
mod viewers;
mod world;

/// This program is the benchmark, the fake Codex that a keeper starts, and each round of a measurement.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => println!("codex-cli 0.166.0"),
        ["app-server", .., address] => fake::serve(address),
        ["round", name, messages] => {
            let figures = round::run(name, messages.parse().unwrap());
            println!("{}", serde_json::to_string(&figures).unwrap());
        }
        // One part alone: `cargo bench -p ostler --bench durable -- viewers`.
        ["viewers", ..] => std::process::exit(i32::from(budgets::of(&[viewers::many]))),
        ["listed", ..] => std::process::exit(i32::from(budgets::of(&[listed::few_and_many]))),
        _ => {
            let clearly_missed = budgets::all();
            std::process::exit(i32::from(clearly_missed));
        }
    }
}
