//! `text_to_speech`: a text as sound, in a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_model::ask::{FileChangeAsk, FileChangeKind, FileDiff};
use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoint::{Endpoint, Sent};
use super::files::MediaFolder;
use crate::sandbox::Boundary;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};
use crate::tools::change::consent;
use crate::tools::{path, read, shown, whole_write};

const UNSET: &str = "text_to_speech is not set up: nobody is named who speaks. Tell the user to set provider in [speech] of Ostler's \
    config.toml to \"openai\" or to one of their [providers.NAME] that has /audio/speech";

/// Some minutes of speech; providers take about as much.
const MOST_CHARACTERS: usize = 4096;

const FORMATS: [&str; 6] = ["mp3", "wav", "opus", "flac", "aac", "pcm"];

/// Who speaks, and how.
#[derive(Debug, Clone)]
pub struct SpeechSettings {
    pub endpoint: Endpoint,
    pub model: String,
    pub voice: String,
    /// `mp3`, `wav`, `opus`, `flac` or `aac`.
    pub format: &'static str,
}

pub struct TextToSpeech {
    settings: Option<SpeechSettings>,
    folder: MediaFolder,
    boundary: Arc<Boundary>,
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
    output_path: Option<String>,
}

impl TextToSpeech {
    /// Without settings every call says what to set.
    pub fn new(
        settings: Option<SpeechSettings>,
        folder: MediaFolder,
        boundary: Arc<Boundary>,
    ) -> Self {
        Self { settings, folder, boundary }
    }

    async fn speak(&self, given: Arguments, context: &CallContext) -> Result<String, ToolResult> {
        let settings = self.settings.as_ref().ok_or_else(|| ToolResult::failed(UNSET))?;
        let named = match &given.output_path {
            None => None,
            // Before anything is paid for.
            Some(path) => Some(self.place(path, &given.text, context).await?),
        };
        let by_name = named.as_deref().and_then(Path::extension).and_then(|it| it.to_str());
        let by_name = FORMATS.into_iter().find(|format| Some(*format) == by_name);
        let format = by_name.unwrap_or(settings.format);
        let body = json!({
            "model": settings.model,
            "voice": settings.voice,
            "input": given.text,
            "response_format": format,
        });
        let body = body.to_string().into_bytes();
        let sent = Sent { content_type: "application/json".to_owned(), body };
        let spoken = settings.endpoint.post("/audio/speech", sent, &context.stop).await;
        let spoken = spoken.map_err(ToolResult::failed)?;
        if spoken.is_empty() {
            return Err(ToolResult::failed("the provider answered without a sound"));
        }
        let length = spoken.len();
        let saved = match named {
            Some(real) => written(real, spoken).await,
            None => self.folder.save("speech", format, spoken).await,
        };
        let saved = saved.map_err(ToolResult::failed)?;
        Ok(format!("audio: {} ({format}, {length} bytes)", saved.display()))
    }

    async fn place(
        &self,
        named: &str,
        text: &str,
        context: &CallContext,
    ) -> Result<PathBuf, ToolResult> {
        let real = path::real(named, &context.cwd).map_err(ToolResult::failed)?;
        let found = real.symlink_metadata().ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(ToolResult::failed(format!("{} is no file", real.display())));
        }
        let asked = || FileChangeAsk {
            files: vec![FileDiff {
                path: real.to_string_lossy().into_owned(),
                change: match found {
                    None => FileChangeKind::Add,
                    Some(_) => FileChangeKind::Update { moved_to: None },
                },
                diff: format!("(sound, of this text)\n{text}"),
            }],
            grant_root: None,
        };
        consent(&real, &self.boundary, context, asked).await?;
        Ok(real)
    }
}

async fn written(real: PathBuf, bytes: Vec<u8>) -> Result<PathBuf, String> {
    let writing = tokio::task::spawn_blocking(move || {
        let written = whole_write::write(&real, &bytes);
        written
            .map_err(|error| format!("{} was not written: {error}", real.display()))
            .map(|()| real)
    });
    writing.await.unwrap_or_else(|error| Err(error.to_string()))
}

impl Tool for TextToSpeech {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "text_to_speech".to_owned(),
            description: "Speaks a text and gives the path of the sound file. Outside of the workspace a person is asked first."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "text": { "type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS },
                    "output_path": {
                        "type": "string",
                        "description": "absolute, or below the workspace; its ending chooses the format. Without it the file is \
                            put into a folder of Ostler's",
                    },
                },
                "required": ["text"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "text")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        false
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let given = match read("text_to_speech", arguments) {
                Ok(given) => given,
                Err(failed) => return failed,
            };
            match self.speak(given, context).await {
                Ok(text) => ToolResult::said(text),
                Err(failed) => failed,
            }
        })
    }
}
