//! `image_generate`: an image by words, from nothing or from others.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoint::{Endpoint, Sent};
use super::files::MediaFolder;
use super::image::{Image, ImageSource};
use super::multipart::{Field, form};
use crate::input::kind_of;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};
use crate::tools::{read, shown};

/// Providers take up to about this many.
const MOST_IMAGES: usize = 16;

const UNSET: &str = "image_generate is not set up: nobody is named who makes images. Tell the user to set provider in [images] of \
    Ostler's config.toml to \"openai\" or to one of their [providers.NAME] that has /images/generations";

/// Who makes images.
#[derive(Debug, Clone)]
pub struct ImageSettings {
    pub endpoint: Endpoint,
    pub model: String,
}

pub struct ImageGenerate {
    settings: Option<ImageSettings>,
    source: ImageSource,
    folder: MediaFolder,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AspectRatio {
    #[default]
    Landscape,
    Portrait,
    Square,
}

#[derive(Deserialize)]
struct Arguments {
    prompt: String,
    #[serde(default)]
    aspect_ratio: AspectRatio,
    image_url: Option<String>,
    #[serde(default)]
    reference_image_urls: Vec<String>,
}

impl AspectRatio {
    /// What the models of OpenAI, and those who copy them, have.
    fn size(self) -> &'static str {
        match self {
            Self::Landscape => "1536x1024",
            Self::Portrait => "1024x1536",
            Self::Square => "1024x1024",
        }
    }
}

impl ImageGenerate {
    /// Without settings every call says what to set.
    pub fn new(settings: Option<ImageSettings>, source: ImageSource, folder: MediaFolder) -> Self {
        Self { settings, source, folder }
    }

    async fn make(&self, given: Arguments, context: &CallContext) -> Result<String, String> {
        let settings = self.settings.as_ref().ok_or(UNSET)?;
        let mut images = Vec::new();
        for url in given.image_url.iter().chain(&given.reference_image_urls) {
            images.push(self.source.image(url, &context.cwd).await?);
        }
        let size = given.aspect_ratio.size();
        let (path, sent) = match images.is_empty() {
            true => ("/images/generations", from_nothing(settings, &given.prompt, size)),
            false => ("/images/edits", from_images(settings, &given.prompt, size, images)),
        };
        let answer = settings.endpoint.post(path, sent, &context.stop).await?;
        let answer: Value = serde_json::from_slice(&answer)
            .map_err(|_| "the provider answered with something else than JSON")?;
        let image = self.image(&answer).await?;
        let extension = image.kind.rsplit('/').next().unwrap_or("png");
        let saved = self.folder.save("image", known(extension), image.bytes).await?;
        Ok(format!("image: {} ({size})", saved.display()))
    }

    /// In the answer itself, or where it points to.
    async fn image(&self, answer: &Value) -> Result<Image, String> {
        let none = || "the provider answered without an image".to_owned();
        let first = answer.pointer("/data/0").ok_or_else(none)?;
        if let Some(text) = first.get("b64_json").and_then(Value::as_str) {
            let bytes = data_encoding::BASE64.decode(text.as_bytes()).map_err(|_| none())?;
            let kind =
                kind_of(&bytes).ok_or("the provider answered with something else than an image")?;
            return Ok(Image { kind, bytes });
        }
        let url = first.get("url").and_then(Value::as_str).ok_or_else(none)?;
        self.source.image(url, std::path::Path::new("/")).await
    }
}

fn known(extension: &str) -> &'static str {
    match extension {
        "jpeg" => "jpg",
        "gif" => "gif",
        "webp" => "webp",
        _ => "png",
    }
}

fn from_nothing(settings: &ImageSettings, prompt: &str, size: &str) -> Sent {
    let body = json!({ "model": settings.model, "prompt": prompt, "size": size, "n": 1 });
    Sent { content_type: "application/json".to_owned(), body: body.to_string().into_bytes() }
}

fn from_images(settings: &ImageSettings, prompt: &str, size: &str, images: Vec<Image>) -> Sent {
    let text = |name, value: &str| Field::Text { name, value: value.to_owned() };
    let mut fields = vec![
        text("model", &settings.model),
        text("prompt", prompt),
        text("size", size),
        text("n", "1"),
    ];
    // One is the image that is changed; several are taken together.
    let name = if images.len() == 1 { "image" } else { "image[]" };
    fields.extend(images.into_iter().map(|it| Field::File {
        name,
        kind: it.kind,
        bytes: it.bytes,
    }));
    form(&fields, &format!("ostler-{}", uuid::Uuid::now_v7().simple()))
}

impl Tool for ImageGenerate {
    fn definition(&self) -> ToolDefinition {
        let image = "an address, a path that is absolute or below the workspace, or a `data:` URL";
        ToolDefinition {
            name: "image_generate".to_owned(),
            description: "Makes an image by a description, or changes the one of `image_url`, by the looks of others if wanted. \
                Gives the path of the file."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "prompt": { "type": "string", "minLength": 1 },
                    "aspect_ratio": {
                        "type": "string",
                        "enum": ["landscape", "portrait", "square"],
                        "default": "landscape",
                    },
                    "image_url": { "type": "string", "description": format!("the image to change: {image}") },
                    "reference_image_urls": {
                        "type": "array",
                        "items": { "type": "string" },
                        "maxItems": MOST_IMAGES - 1,
                        "description": format!("further images to go by, each {image}"),
                    },
                },
                "required": ["prompt"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "prompt")
    }

    /// It costs money: not many at once.
    fn only_reads(&self, _arguments: &Value) -> bool {
        false
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let given = match read("image_generate", arguments) {
                Ok(given) => given,
                Err(failed) => return failed,
            };
            match self.make(given, context).await {
                Ok(text) => ToolResult::said(text),
                Err(why) => ToolResult::failed(why),
            }
        })
    }
}
