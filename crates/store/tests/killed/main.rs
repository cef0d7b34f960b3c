//! Processes that are killed while they write, and a disk that is full: each needs a process of its own, so this test has no
//! harness. `cargo test` starts it without words; it starts itself again with the name of a part to play.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and its parts speak with each other over pipes"
)]

mod chats;
mod full_disk;
mod rounds;
mod samples;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["part:commit", path, round] => rounds::commit_until_killed(path, round.parse().unwrap()),
        ["part:chat", path, who] => chats::append_until_killed(path, who),
        ["part:hold", path] => chats::hold_until_killed(path),
        ["part:full-disk", folder] => full_disk::on_a_small_disk(folder),
        // Whatever cargo was told is for tests with a harness, except a list of tests: there are none to list.
        words if words.contains(&"--list") => {}
        _ => {
            rounds::every_acknowledged_commit_outlives_a_kill();
            full_disk::a_full_disk_loses_nothing_that_was_acknowledged();
            chats::two_chats_that_are_killed_lose_nothing_and_write_nothing_twice();
            chats::a_hold_dies_with_its_process();
            println!("test result: ok. 4 passed");
        }
    }
}
