//! `read_file`: lines of a text file, with their numbers.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{path, read, shown};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

/// As many as other agents give; most files of a program are shorter.
const LINES: usize = 2000;

/// A little less than the toolbox lets through, which would cut in the middle.
const OUTPUT_BYTES: usize = 48 * 1024;

/// Longer lines are of no use to a model: they are made by programs.
const LINE_BYTES: usize = 2000;

/// What is looked at to tell a text from something else: git does the same.
const SNIFFED: u64 = 8000;

pub struct ReadFile;

#[derive(Deserialize)]
struct Arguments {
    path: String,
    /// The first line, from 1.
    offset: Option<usize>,
    limit: Option<usize>,
}

impl Arguments {
    fn read(&self, real: &Path) -> Result<String, String> {
        let shown = real.display();
        let failed = |error: std::io::Error| format!("{shown}: {error}");
        let found = real.metadata().map_err(failed)?;
        if found.is_dir() {
            return Err(format!(
                "{shown} is a folder; `search_files` with mode `name` lists what is in it"
            ));
        }
        if !found.is_file() {
            return Err(format!("{shown} is no file"));
        }
        let size = found.len();
        let mut beginning = Vec::new();
        let file = File::open(real).map_err(failed)?;
        file.take(SNIFFED).read_to_end(&mut beginning).map_err(failed)?;
        if let Some(kind) = image(&beginning) {
            return Err(format!(
                "{shown} is an image ({kind}, {size} bytes); this tool reads text"
            ));
        }
        if beginning.contains(&0) {
            return Err(format!(
                "{shown} is no text ({size} bytes); use a command to look into it"
            ));
        }
        if beginning.is_empty() {
            return Ok(format!("{shown} is empty"));
        }
        self.lines(BufReader::new(File::open(real).map_err(failed)?), size).map_err(failed)
    }

    fn lines(&self, mut file: impl BufRead, size: u64) -> std::io::Result<String> {
        let first = self.offset.unwrap_or(1).max(1);
        let most = self.limit.unwrap_or(LINES).clamp(1, LINES);
        let mut text = String::new();
        let mut number = 0;
        while let Some(line) = next_line(&mut file)? {
            number += 1;
            if number < first {
                continue;
            }
            if number >= first + most || text.len() + line.len() > OUTPUT_BYTES {
                text.push_str(&format!(
                    "[… more follows; go on with offset {number}. The file has {size} bytes …]"
                ));
                return Ok(text);
            }
            text.push_str(&format!("{number:>6}\t{line}\n"));
        }
        if number < first {
            return Ok(format!("the file has only {number} lines"));
        }
        Ok(text)
    }
}

/// None at the end. However long a line is, only its beginning is kept.
fn next_line(file: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut kept = Vec::new();
    let mut length = 0;
    loop {
        let piece = file.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let line = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        kept.extend(line.iter().take(LINE_BYTES.saturating_sub(kept.len())));
        let used = line.len() + usize::from(end.is_some());
        length += used;
        file.consume(used);
        if end.is_some() {
            break;
        }
    }
    if length == 0 {
        return Ok(None);
    }
    let is_cut = length > kept.len() + 1;
    let text = String::from_utf8_lossy(&kept);
    let text = text.trim_end_matches('\r');
    Ok(Some(if is_cut { format!("{text} [… of {length} bytes …]") } else { text.to_owned() }))
}

fn image(beginning: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 4] =
        [(b"\x89PNG", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF8", "GIF"), (b"BM", "BMP")];
    let riff = beginning.starts_with(b"RIFF") && beginning.get(8..12) == Some(b"WEBP".as_slice());
    let known = kinds.into_iter().find(|(start, _)| beginning.starts_with(start));
    // Two letters alone begin many a text; a bitmap has zeros right behind.
    let known = known.filter(|(_, kind)| *kind != "BMP" || beginning.contains(&0));
    known.map(|(_, kind)| kind).or(riff.then_some("WebP"))
}

impl Tool for ReadFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "read_file".to_owned(),
            description: "Reads a text file, with a number in front of each line.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "absolute, or below the workspace" },
                    "offset": { "type": "integer", "description": "the first line, from 1" },
                    "limit": { "type": "integer", "description": "how many lines, at most 2000" },
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "path")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        true
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments: Arguments = match read("read_file", arguments) {
                Ok(arguments) => arguments,
                Err(failed) => return failed,
            };
            let cwd = context.cwd.clone();
            let reading = tokio::task::spawn_blocking(move || {
                path::real(&arguments.path, &cwd).and_then(|real| arguments.read(&real))
            });
            match reading.await.unwrap_or_else(|error| Err(error.to_string())) {
                Ok(text) => ToolResult::said(text),
                Err(why) => ToolResult::failed(why),
            }
        })
    }
}
