//! A server that Codex reaches over HTTP.

use serde_json::Value;
use toml::Value as Toml;

use super::process::is_secret_header;
use super::{Refusal, Work};
use crate::migrate::pieces::{Piece, is_variable, names, pieces, variable_name};
use crate::migrate::secret::looks_secret;

/// Where Codex puts the value of a variable.
#[derive(Clone, Copy)]
enum Place<'h> {
    /// Behind `Bearer` of the `Authorization` header.
    Bearer,
    /// A header of this name, whole.
    Header(&'h str),
}

impl Work<'_> {
    pub(super) fn address(&mut self, url: &str) -> Result<(), Refusal> {
        let found = pieces(url).map_err(|foreign| self.foreign("url", foreign))?;
        if names(&found).next().is_some() {
            return Err(Refusal::PlaceholderAddress);
        }
        // It may stand there without its `https://`.
        let parts = url.split(['/', '?', '&', '=']);
        if parts.chain([url]).any(|part| looks_secret(part, self.shapes)) {
            return Err(Refusal::SecretAddress);
        }
        self.table.insert("url".to_owned(), Toml::String(url.to_owned()));
        self.took("url", "url", None);
        let (mut fixed, mut referred) = (toml::Table::new(), toml::Table::new());
        for (name, value) in self.texts("headers")? {
            self.header(&name, &value, &mut fixed, &mut referred)?;
        }
        self.named_headers(&mut referred)?;
        if !fixed.is_empty() {
            self.table.insert("http_headers".to_owned(), Toml::Table(fixed));
        }
        if !referred.is_empty() {
            self.table.insert("env_http_headers".to_owned(), Toml::Table(referred));
        }
        for key in ["args", "env", "env_vars", "cwd"] {
            if self.server.keys.contains_key(key) {
                self.skip(key, "belongs to a command, and this server has an address");
            }
        }
        Ok(())
    }

    fn header(
        &mut self,
        name: &str,
        value: &str,
        fixed: &mut toml::Table,
        referred: &mut toml::Table,
    ) -> Result<(), Refusal> {
        let key = format!("{}.{name}", self.server.written("headers"));
        let bearer = match name.eq_ignore_ascii_case("authorization") {
            true => bearer_token(value),
            false => None,
        };
        let found =
            pieces(bearer.unwrap_or(value)).map_err(|foreign| self.foreign("headers", foreign))?;
        let place = if bearer.is_some() { Place::Bearer } else { Place::Header(name) };
        if let [Piece::Variable { name: variable, default }] = found.as_slice() {
            let variable = variable.clone();
            self.refers_to(&variable);
            let secret = default.as_ref().filter(|default| {
                bearer.is_some() || is_secret_header(name, default.as_str(), self)
            });
            if secret.is_some() {
                self.store(&variable, bearer.unwrap_or(value));
            }
            let note = default.as_ref().map(|_| match self.secrets.contains_key(&variable) {
                true => format!("its default is stored as {variable}"),
                false => "its default is left out".to_owned(),
            });
            self.refer(&key, place, variable, note, referred);
            return Ok(());
        }
        let varies = names(&found).next().is_some();
        if !varies && !is_secret_header(name, value, self) {
            fixed.insert(name.to_owned(), Toml::String(value.to_owned()));
            self.note_as(&key, "http_headers", None);
            return Ok(());
        }
        let wanted = if bearer.is_some() { "token" } else { name };
        let wanted = variable_name(&[&self.name, wanted]);
        let variable = self.variable_for(&wanted, bearer.unwrap_or(value), &key);
        let what = match place {
            Place::Bearer => " to what stands behind `Bearer`",
            Place::Header(_) => " to the whole header",
        };
        let what = self.kept_apart(&variable, what);
        self.refer(&key, place, variable, Some(what), referred);
        Ok(())
    }

    /// A token that somebody wrote where its variable should be named is no name.
    fn names_variable(&self, written: &str) -> bool {
        is_variable(written) && !looks_secret(written, self.shapes)
    }

    fn refer(
        &mut self,
        key: &str,
        place: Place<'_>,
        variable: String,
        note: Option<String>,
        referred: &mut toml::Table,
    ) {
        match place {
            Place::Bearer => {
                self.table.insert("bearer_token_env_var".to_owned(), Toml::String(variable));
                self.note_as(key, "bearer_token_env_var", note);
            }
            Place::Header(header) => {
                referred.insert(header.to_owned(), Toml::String(variable));
                self.note_as(key, "env_http_headers", note);
            }
        }
    }

    /// What the file itself takes from the environment, in Codex's own words.
    fn named_headers(&mut self, referred: &mut toml::Table) -> Result<(), Refusal> {
        if let Some(Value::String(variable)) = self.server.keys.get("bearer_token_env_var") {
            match self.names_variable(variable) && !self.table.contains_key("bearer_token_env_var")
            {
                true => {
                    let variable = variable.clone();
                    self.refers_to(&variable);
                    self.table.insert("bearer_token_env_var".to_owned(), Toml::String(variable));
                    self.took("bearer_token_env_var", "bearer_token_env_var", None);
                }
                false => self.skip(
                    "bearer_token_env_var",
                    "is no name of a variable, or there is a header for it",
                ),
            }
        }
        for (header, variable) in self.texts("env_http_headers")? {
            let key = format!("env_http_headers.{header}");
            match self.names_variable(&variable) {
                true => {
                    self.refers_to(&variable);
                    referred.insert(header, Toml::String(variable));
                    self.note_as(&key, "env_http_headers", None);
                }
                false => self.skip_as(&key, "is no name of a variable"),
            }
        }
        Ok(())
    }
}

fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}
