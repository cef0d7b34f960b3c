//! `browser_vision`: a model looks at the page.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::session::{Action, Browsers, Outcome};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};
use crate::tools::media::{MediaFolder, Vision};
use crate::tools::{read, shown};

pub struct BrowserVision {
    browsers: Arc<Browsers>,
    vision: Vision,
    folder: MediaFolder,
}

#[derive(Deserialize)]
struct Arguments {
    question: String,
    #[serde(default)]
    annotate: bool,
}

impl BrowserVision {
    pub fn new(browsers: Arc<Browsers>, vision: Vision, folder: MediaFolder) -> Self {
        Self { browsers, vision, folder }
    }

    async fn look(&self, given: Arguments, context: &CallContext) -> Result<String, String> {
        // Without anybody to look there is no need for a picture.
        self.vision.check()?;
        let action = Action::Picture { annotate: given.annotate };
        let outcome = self.browsers.run(&context.conversation, action, &context.stop).await?;
        let Outcome::Picture(picture) = outcome else {
            return Err("the browser gave no picture of the page".to_owned());
        };
        let mut question = given.question;
        if !picture.legend.is_empty() {
            question.push_str("\n\nThe numbers in red on the picture mean:\n");
            question.push_str(&picture.legend);
        }
        let saved = self.folder.save("page", "png", picture.png.clone()).await?;
        let url = format!("data:image/png;base64,{}", data_encoding::BASE64.encode(&picture.png));
        let answer = self.vision.ask(&question, url, &context.stop).await?;
        let legend = match picture.legend.is_empty() {
            true => String::new(),
            false => format!("\n\nelements on the picture:\n{}", picture.legend),
        };
        Ok(format!("{answer}\n\npicture: {}{legend}", saved.display()))
    }
}

impl Tool for BrowserVision {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "browser_vision".to_owned(),
            description: "Takes a picture of the page as it looks now and asks a model that sees about it: for layout, charts, \
                captchas, what a snapshot does not tell. With `annotate` what can be acted on is framed and named as in the \
                snapshot."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "question": { "type": "string", "minLength": 1 },
                    "annotate": { "type": "boolean", "default": false },
                },
                "required": ["question"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "question")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        false
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let given = match read("browser_vision", arguments) {
                Ok(given) => given,
                Err(failed) => return failed,
            };
            match self.look(given, context).await {
                Ok(text) => ToolResult::said(text),
                Err(why) => ToolResult::failed(why),
            }
        })
    }
}
