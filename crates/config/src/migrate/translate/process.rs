//! A server that Codex starts.

use std::collections::BTreeSet;

use serde_json::Value;
use toml::Value as Toml;

use super::{Refusal, Work, as_text};
use crate::migrate::launch::Launch;
use crate::migrate::pieces::{Piece, is_variable, names, pieces, variable_name};
use crate::migrate::secret::{
    hides_secret, is_secret, is_secret_of_flag, looks_secret, names_secret,
};

/// Variables that Codex gives every server anyway.
const GIVEN: [&str; 8] = ["HOME", "PATH", "LANG", "SHELL", "TERM", "USER", "LOGNAME", "TMPDIR"];

impl Work<'_> {
    pub(super) fn process(&mut self, command: &str) -> Result<(), Refusal> {
        let mut launch = Launch::default();
        launch.words.push(self.placed("command", command)?);
        let arguments = self.arguments()?;
        let mut flag = None;
        for (at, argument) in arguments.iter().enumerate() {
            let word = self.argument(at, argument, flag)?;
            launch.words.push(word);
            let is_flag = argument.starts_with('-') && !argument.contains('=');
            flag = is_flag.then_some(argument.as_str());
        }
        let folder = self.text("cwd")?;
        if let Some(folder) = &folder {
            launch.folder = Some(self.placed("cwd", folder)?);
        }
        let mut fixed = toml::Table::new();
        for (name, value) in self.texts("env")? {
            self.environment(&name, &value, &mut fixed, &mut launch)?;
        }
        for name in self.named_variables() {
            self.refers_to(&name);
        }
        self.put_together(&launch, command, &arguments, folder.as_deref());
        if !fixed.is_empty() {
            self.table.insert("env".to_owned(), Toml::Table(fixed));
        }
        let passed: BTreeSet<&str> = self
            .variables
            .iter()
            .map(|variable| variable.name.as_str())
            .filter(|name| !GIVEN.contains(name))
            .collect();
        let passed: Vec<Toml> =
            passed.into_iter().map(|name| Toml::String(name.to_owned())).collect();
        if !passed.is_empty() {
            self.table.insert("env_vars".to_owned(), Toml::Array(passed));
        }
        for key in ["headers", "env_http_headers", "bearer_token_env_var"] {
            if self.server.keys.contains_key(key) {
                self.skip(key, "belongs to an address, and this server has a command");
            }
        }
        Ok(())
    }

    fn put_together(
        &mut self,
        launch: &Launch,
        command: &str,
        arguments: &[String],
        folder: Option<&str>,
    ) {
        let text = |text: &str| Toml::String(text.to_owned());
        let by_shell = launch.is_needed().then(|| "a shell puts the variables in".to_owned());
        let (program, words) = match launch.is_needed() {
            true => launch.command(),
            false => (command.to_owned(), arguments.to_vec()),
        };
        self.table.insert("command".to_owned(), text(&program));
        let words: Vec<Toml> = words.iter().map(|word| text(word)).collect();
        if !words.is_empty() {
            self.table.insert("args".to_owned(), Toml::Array(words));
        }
        if let (Some(folder), false) = (folder, launch.is_needed()) {
            self.table.insert("cwd".to_owned(), text(folder));
        }
        let became = |plain| if launch.is_needed() { "args" } else { plain };
        self.took("command", became("command"), by_shell.clone());
        if self.server.keys.contains_key("args") && self.server.written("args") == "args" {
            self.took("args", "args", by_shell.clone());
        }
        if folder.is_some() {
            self.took("cwd", became("cwd"), by_shell);
        }
    }

    fn arguments(&mut self) -> Result<Vec<String>, Refusal> {
        match self.server.keys.get("args") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(words)) => {
                let words: Option<Vec<String>> = words.iter().map(as_text).collect();
                words.ok_or_else(|| Refusal::NotTexts(self.server.written("args").to_owned()))
            }
            Some(Value::String(word)) => Ok(vec![word.clone()]),
            Some(_) => Err(Refusal::NotTexts(self.server.written("args").to_owned())),
        }
    }

    /// A text in which `~` and placeholders may stand.
    fn placed(&mut self, key: &'static str, text: &str) -> Result<Vec<Piece>, Refusal> {
        let text = match text.strip_prefix("~/") {
            Some(rest) => format!("${{HOME}}/{rest}"),
            None => text.to_owned(),
        };
        let found = pieces(&text).map_err(|foreign| self.foreign(key, foreign))?;
        let judge = |name: &str, value: &str| is_secret(name, value, self.shapes);
        if hides_secret("", &found, &judge) {
            return Err(Refusal::SecretPlace(key));
        }
        names(&found).for_each(|name| self.refers(name));
        Ok(found)
    }

    /// One argument; a secret in it is taken from the environment when the server starts.
    fn argument(
        &mut self,
        at: usize,
        written: &str,
        flag: Option<&str>,
    ) -> Result<Vec<Piece>, Refusal> {
        let named = written.strip_prefix('-').and_then(|_| written.split_once('='));
        let (before, name, value) = match (named, flag) {
            (Some((name, value)), _) => (format!("{name}="), name, value),
            (None, Some(flag)) if !written.starts_with('-') => (String::new(), flag, written),
            _ => (String::new(), "", written),
        };
        let name = name.trim_start_matches('-');
        let whole = pieces(written).map_err(|foreign| self.foreign("args", foreign))?;
        let found = pieces(value).map_err(|foreign| self.foreign("args", foreign))?;
        let judge = |name: &str, value: &str| is_secret_of_flag(name, value, self.shapes);
        if !hides_secret(name, &found, &judge) && !hides_secret("", &whole, &judge) {
            names(&whole).for_each(|name| self.refers(name));
            return Ok(whole);
        }
        let place = format!("{}[{at}]", self.server.written("args"));
        let wanted = match found.as_slice() {
            // Only what stands for it when it is not set is left out.
            [Piece::Variable { name, .. }] => name.clone(),
            _ if name.is_empty() => variable_name(&[&self.name, "argument"]),
            _ => variable_name(&[&self.name, name]),
        };
        let variable = self.variable_for(&wanted, value, &place);
        let mut word = Vec::new();
        if !before.is_empty() {
            word.push(Piece::Text(before));
        }
        word.push(Piece::Variable { name: variable, default: None });
        Ok(word)
    }

    fn environment(
        &mut self,
        name: &str,
        value: &str,
        fixed: &mut toml::Table,
        launch: &mut Launch,
    ) -> Result<(), Refusal> {
        let key = format!("{}.{name}", self.server.written("env"));
        let found = pieces(value).map_err(|foreign| self.foreign("env", foreign))?;
        let judge = |name: &str, value: &str| is_secret(name, value, self.shapes);
        let is_fixed = names(&found).next().is_none();
        if !is_variable(name) {
            self.skip_as(&key, "is no name of a variable");
        } else if hides_secret(name, &found, &judge) {
            let variable = self.variable_for(name, value, &key);
            if variable != name {
                launch.set.push((
                    name.to_owned(),
                    vec![Piece::Variable { name: variable.clone(), default: None }],
                ));
            }
            let what = match is_fixed {
                true => "",
                false => " to all of it, with its placeholders filled in",
            };
            let what = self.kept_apart(&variable, what);
            self.note_as(&key, "env_vars", what);
        } else if is_fixed {
            fixed.insert(name.to_owned(), Toml::String(value.to_owned()));
            self.note_as(&key, "env", None);
        } else {
            names(&found).for_each(|name| self.refers(name));
            if found.as_slice() != [Piece::Variable { name: name.to_owned(), default: None }] {
                launch.set.push((name.to_owned(), found));
            }
            self.note_as(&key, "env_vars", None);
        }
        Ok(())
    }

    /// `env_vars` of the file itself.
    fn named_variables(&mut self) -> Vec<String> {
        let Some(value) = self.server.keys.get("env_vars") else { return Vec::new() };
        let found: Option<Vec<String>> = value.as_array().and_then(|names| {
            let names = names.iter().map(|name| {
                let name = name.as_str().or_else(|| name.get("name")?.as_str())?;
                (is_variable(name) && !looks_secret(name, self.shapes)).then(|| name.to_owned())
            });
            names.collect()
        });
        match found {
            Some(found) => {
                self.took("env_vars", "env_vars", None);
                found
            }
            None => {
                self.skip("env_vars", "is no list of names of variables");
                Vec::new()
            }
        }
    }

    pub(super) fn note_as(
        &mut self,
        key: &str,
        became: &'static str,
        note: impl Into<Option<String>>,
    ) {
        let (key, note) = (key.to_owned(), note.into());
        self.keys.push(super::KeyNote { key, became: Some(became), note });
    }

    pub(super) fn skip_as(&mut self, key: &str, why: &str) {
        let (key, note) = (key.to_owned(), Some(why.to_owned()));
        self.keys.push(super::KeyNote { key, became: None, note });
    }
}

/// Whether a header is to be kept out of the file.
pub(super) fn is_secret_header(name: &str, value: &str, work: &Work<'_>) -> bool {
    is_secret(name, value, work.shapes) || (names_secret(name) && !value.is_empty())
}
