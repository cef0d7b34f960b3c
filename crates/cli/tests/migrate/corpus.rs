//! Other people's files through migrate, migrate, undo.

use std::fs;
use std::path::Path;

use ostler_config::migrate::take_out;

use crate::world::{World, refusal, report};

fn files() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/configs");
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    let many =
        (0..3000).map(|at| format!("[projects.\"/work/{at}\"]\ntrust_level = \"trusted\"\n\n"));
    files.push(("ok-huge.toml".to_owned(), many.collect::<String>().into_bytes()));
    files.sort();
    files
}

/// One world for all: a file is gone from our books when it is undone.
fn through(part: usize, parts: usize) {
    let world = World::new("0.166.0");
    let files = files();
    assert!(files.len() >= 60, "{}", files.len());
    for (name, bytes) in files.into_iter().skip(part).step_by(parts) {
        fs::write(world.config(), &bytes).unwrap();
        let first = world.write();
        if name.starts_with("bad-") {
            let why = refusal(&first);
            assert!(why.contains("config.toml"), "{name}: {why}");
            assert_eq!(fs::read(world.config()).unwrap(), bytes, "{name}");
            assert_eq!(world.home(), ["config.toml"], "{name}");
            continue;
        }
        let told = report(&first);
        let servers = told["servers"].as_array().unwrap();
        // Where the file has servers of all these names, there is nothing to write.
        if servers.iter().all(|server| server["state"] == "theirs") {
            assert_eq!(told["written"], false, "{name}: {first:?}");
            assert_eq!(fs::read(world.config()).unwrap(), bytes, "{name}");
            continue;
        }
        assert_eq!(told["written"], true, "{name}: {first:?}");
        let written = fs::read(world.config()).unwrap();
        assert_ne!(written, bytes, "{name}");
        assert!(!String::from_utf8_lossy(&written).contains("not-to-be-copied"), "{name}");
        let second = world.write();
        assert_eq!(report(&second)["written"], false, "{name}: {second:?}");
        assert_eq!(fs::read(world.config()).unwrap(), written, "{name}");
        let undone = world.undo();
        assert_eq!(report(&undone)["written"], true, "{name}: {undone:?}");
        let expected = match name.contains("our-block") {
            // What an Ostler had written before, of which nothing is known any more, goes as well.
            true => take_out(std::str::from_utf8(&bytes).unwrap()).unwrap().text.into_bytes(),
            false => bytes,
        };
        assert_eq!(fs::read(world.config()).unwrap(), expected, "{name}");
        assert_eq!(report(&world.undo())["written"], false, "{name}");
        assert_eq!(world.home(), ["config.toml"], "{name}");
    }
}

#[test]
fn every_file_comes_back_byte_for_byte_first_half() {
    through(0, 2);
}

#[test]
fn every_file_comes_back_byte_for_byte_second_half() {
    through(1, 2);
}
