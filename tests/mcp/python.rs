//! The official Python client, installed below `target/` when it is not there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::world::World;

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Plays a story of `client.py`, and gives what it tells.
pub(crate) fn story(world: &World, words: [&str; 4], more: &[(&str, String)]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/mcp/client.py");
    let mut command = Command::new(python());
    world.at_home(command.arg(script).args(words));
    command.env("OSTLER", env!("CARGO_BIN_EXE_ostler")).env("INN", world.path("inn"));
    for (name, value) in more {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words:?}\n{out}\n{errors}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}\n{errors}"))
}

fn python() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-python");
        let noted = folder.join("requirements.txt");
        if fs::read_to_string(&noted).is_ok_and(|text| text == REQUIREMENTS) {
            return folder.join("bin/python");
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        run(
            Command::new("python3").args(["-m", "venv"]).arg(&folder),
            "python3 with venv is needed: apt-get install python3-venv",
        );
        let wanted = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/mcp/requirements.txt");
        let install =
            ["install", "--quiet", "--disable-pip-version-check", "--requirement", wanted];
        run(
            Command::new(folder.join("bin/pip")).args(install),
            "the MCP client of Python cannot be installed",
        );
        // Last, so that what was cut off is made anew.
        fs::write(&noted, REQUIREMENTS).unwrap();
        folder.join("bin/python")
    })
}

fn run(command: &mut Command, otherwise: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{otherwise}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{otherwise}: {errors}");
}
