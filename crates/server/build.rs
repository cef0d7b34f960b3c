//! Takes the built page (`web/dist`) into the program. Where it is not there, the program has none and says so.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told where to write by the environment"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = vec![("/".to_owned(), dist.join("index.html"))];
    let mut assets: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(dist.join("assets")).into_iter().flatten() {
        assets.push(entry?.path());
    }
    assets.sort();
    for path in assets {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push((format!("/assets/{name}"), path));
    }
    files.retain(|(_, path)| path.is_file());
    let rows: Vec<String> = files
        .iter()
        .map(|(address, path)| format!("    ({address:?}, include_bytes!({path:?})),\n"))
        .collect();
    let text = format!("const FILES: &[(&str, &[u8])] = &[\n{}];\n", rows.concat());
    let out = std::env::var_os("OUT_DIR").ok_or("cargo tells where to write")?;
    Ok(fs::write(Path::new(&out).join("page_files.rs"), text)?)
}
