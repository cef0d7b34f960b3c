//! What goes into the turn: the prompt, what was piped in, images, a schema.

use std::path::Path;

use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::thread::TurnInput;
use serde_json::Value;

use super::arguments::RunArguments;
use crate::failure::{Exit, Failure};
use crate::prompt::{self, Prompt, existing};
use crate::terminal::Output;

/// The prompt as it is shown, and the input of the turn. None if there is none, which is enough to join a turn.
pub(super) async fn read(
    arguments: &RunArguments,
    output: Output,
) -> Result<Option<(String, TurnInput)>, Failure> {
    let Prompt { shown, text } = match prompt::read(arguments.prompt.as_deref(), output).await? {
        Some(prompt) => prompt,
        None if arguments.image.is_empty() => return Ok(None),
        None => {
            return Err(Failure::new(Exit::Usage, "an image needs a prompt that says what to do"));
        }
    };
    let mut parts = vec![UserInput::Text(text)];
    for image in &arguments.image {
        let path = existing(image, "the image")?.display().to_string();
        parts.push(UserInput::LocalImage { path });
    }
    let output_schema = arguments.output_schema.as_deref().map(schema).transpose()?;
    let input = TurnInput { output_schema, ..TurnInput::message(parts) };
    input.check()?;
    Ok(Some((shown, input)))
}

fn schema(path: &Path) -> Result<Value, Failure> {
    let text = prompt::file(path, "the output schema")?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} is no JSON schema: {error}", path.display());
        Failure::new(Exit::Usage, message)
    })
}
