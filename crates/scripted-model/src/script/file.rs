//! The TOML form of a script. It is our own format, so an unknown field is an error and not tolerated.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::{
    Answer, Call, Conversation, Pace, Payload, Phase, Plays, Script, ScriptError, Usage, check,
};
use crate::fault::Fault;

/// Reads and checks a script; every error names its line.
pub(super) fn parse(text: &str) -> Result<Script, ScriptError> {
    let file: FileScript = toml::from_str(text).map_err(|error| {
        let (line, column) = position(text, error.span().unwrap_or_default().start);
        ScriptError::Unreadable { line, column, message: error.message().to_owned() }
    })?;
    let lines = Lines::of(&file, text);
    let script = file.into_script(text)?;
    check::problem(&script).map_or(Ok(script), |problem| {
        Err(ScriptError::Senseless {
            line: lines.of_place(problem.place),
            message: problem.message,
        })
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileScript {
    #[serde(default)]
    pace: Pace,
    fallback: Option<Spanned<FileAnswer>>,
    #[serde(default)]
    conversation: Vec<Spanned<FileConversation>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileConversation {
    #[serde(rename = "match")]
    prompt: String,
    #[serde(default)]
    answer: Vec<Spanned<FileAnswer>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileAnswer {
    reasoning: Option<String>,
    text: Option<String>,
    #[serde(default)]
    deltas: u64,
    #[serde(default)]
    delta_bytes: usize,
    phase: Option<Phase>,
    #[serde(default)]
    calls: Vec<Spanned<FileCall>>,
    patch: Option<String>,
    #[serde(default)]
    events: Vec<String>,
    #[serde(default)]
    usage: Usage,
    pace: Option<Pace>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    fault: Option<Fault>,
    times: Option<Spanned<u32>>,
    #[serde(default)]
    repeat: bool,
    until: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCall {
    tool: String,
    namespace: Option<String>,
    id: Option<String>,
    arguments: Option<toml::Table>,
    arguments_text: Option<String>,
    input: Option<String>,
}

impl FileScript {
    fn into_script(self, text: &str) -> Result<Script, ScriptError> {
        let conversations = self
            .conversation
            .into_iter()
            .map(|conversation| conversation.into_inner().into_conversation(text))
            .collect::<Result<_, _>>()?;
        let fallback = match self.fallback {
            Some(answer) => Some(answer.into_inner().into_answer(text)?),
            None => None,
        };
        Ok(Script { conversations, fallback, pace: self.pace })
    }
}

impl FileConversation {
    fn into_conversation(self, text: &str) -> Result<Conversation, ScriptError> {
        let answers = self
            .answer
            .into_iter()
            .map(|answer| answer.into_inner().into_answer(text))
            .collect::<Result<_, _>>()?;
        Ok(Conversation { prompt: self.prompt, answers })
    }
}

impl FileAnswer {
    fn into_answer(self, text: &str) -> Result<Answer, ScriptError> {
        let plays = match self.until {
            Some(until) => Plays::Until(until),
            None => plays(self.times, self.repeat, text)?,
        };
        let mut calls = self
            .calls
            .into_iter()
            .map(|call| into_call(call, text))
            .collect::<Result<Vec<_>, _>>()?;
        calls.extend(self.patch.map(Call::apply_patch));
        Ok(Answer {
            reasoning: self.reasoning,
            text: self.text,
            deltas: self.deltas,
            delta_bytes: self.delta_bytes,
            phase: self.phase,
            calls,
            events: self.events,
            usage: self.usage,
            pace: self.pace,
            headers: self.headers.into_iter().collect(),
            fault: self.fault,
            plays,
        })
    }
}

fn plays(times: Option<Spanned<u32>>, repeat: bool, text: &str) -> Result<Plays, ScriptError> {
    let Some(times) = times else {
        return Ok(if repeat { Plays::Forever } else { Plays::Once });
    };
    let span = times.span();
    if repeat {
        return Err(senseless(
            text,
            span,
            "`repeat` plays this answer for ever; remove `times` or `repeat`",
        ));
    }
    NonZeroU32::new(times.into_inner()).map(Plays::Times).ok_or_else(|| {
        senseless(
            text,
            span,
            "`times = 0` never plays this answer; remove the answer or count from 1",
        )
    })
}

fn into_call(call: Spanned<FileCall>, text: &str) -> Result<Call, ScriptError> {
    let span = call.span();
    let call = call.into_inner();
    let payload = match (call.arguments, call.arguments_text, call.input) {
        (None, None, None) => Payload::Arguments(Value::Object(serde_json::Map::new())),
        (Some(arguments), None, None) => Payload::Arguments(table_to_json(arguments)),
        (None, Some(arguments), None) => Payload::ArgumentsText(arguments),
        (None, None, Some(input)) => Payload::Input(input),
        _ => {
            return Err(senseless(
                text,
                span,
                "a call takes one of `arguments`, `arguments_text` and `input`; remove the others",
            ));
        }
    };
    Ok(Call { tool: call.tool, namespace: call.namespace, id: call.id, payload })
}

fn table_to_json(table: toml::Table) -> Value {
    let fields = table.into_iter().map(|(name, value)| (name, value_to_json(value)));
    Value::Object(fields.collect())
}

/// JSON has no dates and no infinite numbers: a date becomes its text, an infinite number `null`.
fn value_to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(values) => Value::Array(values.into_iter().map(value_to_json).collect()),
        toml::Value::Table(table) => table_to_json(table),
    }
}

/// Where each part of a script begins.
struct Lines {
    fallback: usize,
    conversations: Vec<(usize, Vec<usize>)>,
}

impl Lines {
    fn of(file: &FileScript, text: &str) -> Self {
        let line = |span: Range<usize>| position(text, span.start).0;
        let conversations = file.conversation.iter().map(|conversation| {
            let answers = conversation.get_ref().answer.iter();
            let answers = answers.map(|answer| line(answer.span())).collect();
            (line(conversation.span()), answers)
        });
        Self {
            fallback: file.fallback.as_ref().map_or(1, |answer| line(answer.span())),
            conversations: conversations.collect(),
        }
    }

    fn of_place(&self, place: check::Place) -> usize {
        let known = match place {
            check::Place::Script => None,
            check::Place::Fallback => Some(self.fallback),
            check::Place::Conversation(conversation) => {
                self.conversations.get(conversation).map(|(line, _)| *line)
            }
            check::Place::Answer(conversation, answer) => self
                .conversations
                .get(conversation)
                .and_then(|(_, answers)| answers.get(answer).copied()),
        };
        known.unwrap_or(1)
    }
}

fn senseless(text: &str, span: Range<usize>, message: &str) -> ScriptError {
    ScriptError::Senseless { line: position(text, span.start).0, message: message.to_owned() }
}

/// Line and column of a byte, both counted from 1.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&letter| letter != '\n').count() + 1;
    (line, column)
}
