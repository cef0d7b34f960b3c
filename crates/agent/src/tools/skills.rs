//! `skills_list`, `skill_view`, `skill_manage`: what the agent knows how to do.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::skills::rules::sentence;
use crate::skills::{
    MOST_CHARACTERS, MOST_DESCRIPTION, Origin, SKILL_FILE, SkillChange, SkillError, Skills, Viewed,
};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};

const ACTIONS: &str = "create: a new skill from `content`. patch: replace `old_string` by `new_string` in SKILL.md, or in \
     `file_path`. edit: all of SKILL.md anew from `content`. delete: the whole skill. write_file: `file_content` to `file_path`. \
     remove_file: `file_path`.";

/// All three for one session, which share what was viewed in it.
pub fn skill_tools(skills: &Arc<Skills>, origin: Origin) -> [Arc<dyn Tool>; 3] {
    let viewed = Arc::new(Viewed::default());
    let (skills, seen) = (Arc::clone(skills), Arc::clone(&viewed));
    [
        Arc::new(SkillsList { skills: Arc::clone(&skills) }),
        Arc::new(SkillView { skills: Arc::clone(&skills), viewed: seen }),
        Arc::new(SkillManage { skills, viewed, origin }),
    ]
}

pub struct SkillsList {
    skills: Arc<Skills>,
}

pub struct SkillView {
    skills: Arc<Skills>,
    viewed: Arc<Viewed>,
}

pub struct SkillManage {
    skills: Arc<Skills>,
    viewed: Arc<Viewed>,
    origin: Origin,
}

#[derive(Deserialize)]
struct ListArguments {
    #[serde(default)]
    category: Option<String>,
}

#[derive(Deserialize)]
struct ViewArguments {
    name: String,
    #[serde(default)]
    file_path: Option<String>,
}

#[derive(Deserialize)]
struct ManageArguments {
    action: String,
    name: String,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    old_string: Option<String>,
    #[serde(default)]
    new_string: Option<String>,
    #[serde(default)]
    file_path: Option<String>,
    #[serde(default)]
    file_content: Option<String>,
    #[serde(default)]
    absorbed_into: Option<String>,
}

impl Tool for SkillsList {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "skills_list".to_owned(),
            description: "List the skills: their names, and when to use each. Read one with skill_view before you follow it."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "category": { "type": "string", "description": "Only skills of this category." },
                },
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        word(arguments, "category")
    }

    fn only_reads(&self, _: &Value) -> bool {
        true
    }

    fn call<'a>(&'a self, arguments: Value, _: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments: ListArguments = match parsed(arguments, "skills_list") {
                Ok(arguments) => arguments,
                Err(wrong) => return wrong,
            };
            let skills = Arc::clone(&self.skills);
            blocking(move || {
                let mut index = skills.index();
                if let Some(category) = &arguments.category {
                    index.cards.retain(|card| card.category.as_ref() == Some(category));
                }
                // Not how to make one: who is told this may have no tool for it.
                let none = match &arguments.category {
                    Some(category) => format!("There are no skills of the category {category}."),
                    None => "There are no skills yet.".to_owned(),
                };
                Ok(if index.cards.is_empty() { none } else { index.prompt() })
            })
            .await
        })
    }
}

impl Tool for SkillView {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "skill_view".to_owned(),
            description:
                "Read a skill: its SKILL.md with a list of its other files, or one of these files."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "As skills_list has it." },
                    "file_path": { "type": "string", "description": "Such as references/hosts.md. SKILL.md without it." },
                },
                "required": ["name"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        format!("{} {}", word(arguments, "name"), word(arguments, "file_path"))
            .trim_end()
            .to_owned()
    }

    fn only_reads(&self, _: &Value) -> bool {
        true
    }

    fn call<'a>(&'a self, arguments: Value, _: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let ViewArguments { name, file_path } = match parsed(arguments, "skill_view") {
                Ok(arguments) => arguments,
                Err(wrong) => return wrong,
            };
            let (skills, viewed) = (Arc::clone(&self.skills), Arc::clone(&self.viewed));
            blocking(move || {
                let path = file_path.as_deref().unwrap_or(SKILL_FILE);
                let shown = skills.view(&name, path, &viewed)?;
                let mut text = shown.text;
                if shown.is_cut {
                    text += "\n\n(cut: the file goes on)";
                }
                if path == SKILL_FILE && !shown.files.is_empty() {
                    text += &format!(
                        "\n\nFiles of this skill, for skill_view: {}",
                        shown.files.join(", ")
                    );
                }
                Ok(text)
            })
            .await
        })
    }
}

impl Tool for SkillManage {
    fn definition(&self) -> ToolDefinition {
        let text = |what: &str| json!({ "type": "string", "description": what });
        ToolDefinition {
            name: "skill_manage".to_owned(),
            description: format!(
                "Create and improve skills: what you have learned about how a kind of work is done here, for later \
                 conversations. Prefer patching a skill that is there over a new one; a skill is about a class of work, not one \
                 event. SKILL.md begins with a head of `---`, `name: <the skill's name>`, `description: <when to use it, at most \
                 {MOST_DESCRIPTION} characters>`, `---`, then the steps; at most {MOST_CHARACTERS} characters. Long details go \
                 into files below references/, templates/, scripts/ or assets/. {}",
                sentence(self.origin)
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {
                        "type": "string",
                        "enum": ["create", "patch", "edit", "delete", "write_file", "remove_file"],
                        "description": ACTIONS,
                    },
                    "name": text("The skill: a-z, 0-9, dot, dash, underscore; at most 64."),
                    "category": text("Of a new skill, if it belongs to a group of skills."),
                    "content": text("The whole SKILL.md, for create and edit."),
                    "old_string": text("For patch: text that is in the file exactly once."),
                    "new_string": text("For patch: what stands there instead; empty to remove it."),
                    "file_path": text("Such as references/hosts.md."),
                    "file_content": text("For write_file."),
                    "absorbed_into": text("For delete: the skill that now says what this one said."),
                },
                "required": ["action", "name"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        let words = ["action", "name", "file_path"].map(|name| word(arguments, name));
        words.join(" ").trim_end().to_owned()
    }

    fn only_reads(&self, _: &Value) -> bool {
        false
    }

    fn call<'a>(&'a self, arguments: Value, _: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments: ManageArguments = match parsed(arguments, "skill_manage") {
                Ok(arguments) => arguments,
                Err(wrong) => return wrong,
            };
            let name = arguments.name.clone();
            let change = match change(arguments) {
                Ok(change) => change,
                Err(why) => return ToolResult::failed(why),
            };
            let (skills, viewed) = (Arc::clone(&self.skills), Arc::clone(&self.viewed));
            let origin = self.origin;
            blocking(move || skills.change(&name, &change, origin, &viewed)).await
        })
    }
}

fn change(arguments: ManageArguments) -> Result<SkillChange, String> {
    let ManageArguments { action, category, content, old_string, new_string, file_path, .. } =
        arguments;
    let need = |value: Option<String>, name: &str| {
        value.ok_or_else(|| format!("`{name}` is missing, which {action} needs"))
    };
    Ok(match action.as_str() {
        "create" => SkillChange::Create {
            category: category.filter(|category| !category.is_empty()),
            content: need(content, "content")?,
        },
        "patch" => SkillChange::Patch {
            path: file_path.unwrap_or_else(|| SKILL_FILE.to_owned()),
            old: need(old_string, "old_string")?,
            new: need(new_string, "new_string")?,
        },
        "edit" => SkillChange::Edit { content: need(content, "content")? },
        "delete" => SkillChange::Delete {
            absorbed_into: arguments.absorbed_into.filter(|other| !other.is_empty()),
        },
        "write_file" => SkillChange::WriteFile {
            path: need(file_path, "file_path")?,
            content: need(arguments.file_content, "file_content")?,
        },
        "remove_file" => SkillChange::RemoveFile { path: need(file_path, "file_path")? },
        other => {
            return Err(format!(
                "there is no action {other:?}; use create, patch, edit, delete, write_file or remove_file"
            ));
        }
    })
}

fn parsed<T: for<'a> Deserialize<'a>>(arguments: Value, tool: &str) -> Result<T, ToolResult> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolResult::failed(format!("the arguments of {tool} are not right: {error}"))
    })
}

async fn blocking(
    work: impl FnOnce() -> Result<String, SkillError> + Send + 'static,
) -> ToolResult {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(said)) => ToolResult::said(said),
        Ok(Err(error)) => ToolResult::failed(error.to_string()),
        Err(error) => ToolResult::failed(format!("the skills cannot be used: {error}")),
    }
}

fn word(arguments: &Value, name: &str) -> String {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
