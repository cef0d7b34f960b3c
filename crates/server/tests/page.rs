//! The page that is built in is the page whose source is here, and small enough.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What a page may weigh, scripts and styles together, as it is served.
const MOST_BYTES: u64 = 300_000;

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
}

/// All that the page is built from, as `web/README.md` says.
fn sources() -> Vec<String> {
    let single = [
        "index.html",
        "package-lock.json",
        "package.json",
        "svelte.config.js",
        "tsconfig.json",
        "vite.config.ts",
    ];
    let mut names: Vec<String> = single.map(str::to_owned).to_vec();
    let mut folders = vec!["public".to_owned(), "src".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(web().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(name),
                false => names.push(name),
            }
        }
    }
    names.sort();
    names
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_built_page_belongs_to_its_source() {
    let mut list = String::new();
    for name in sources() {
        list.push_str(&format!("{}  {name}\n", hex(&fs::read(web().join(&name)).unwrap())));
    }
    let stamp = fs::read_to_string(web().join("dist/SOURCES.sha256")).unwrap();
    assert_eq!(
        stamp.trim(),
        hex(list.as_bytes()),
        "run `npm install --no-save && npm run build` in web/"
    );
}

#[test]
fn the_page_is_small() {
    let assets = fs::read_dir(web().join("dist/assets")).unwrap();
    let bytes: u64 = assets.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!((1..=MOST_BYTES).contains(&bytes), "{bytes} bytes");
}
