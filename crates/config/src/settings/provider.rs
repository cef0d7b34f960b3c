//! `[providers.NAME]`: where models are, and where their keys are. A key itself never stands in the file.

use std::path::PathBuf;

use crate::section::section;
use crate::value::words::words;
use crate::value::{Address, EnvironmentName, Headers, Invocation};

words! {
    /// The API that a provider speaks.
    Wire {
        /// OpenAI's Responses API.
        Responses = "responses",
        /// Chat Completions.
        Chat = "chat",
    }
}

section! {
    /// A provider of models for the agent's own loop, as many as you like, each by a name of your choice. `openai` (key in
    /// `OPENAI_API_KEY`) and `codex` (Codex's own login) are there without being written; a section of the same name
    /// replaces them. Each says in exactly one way where its key is, and never the key itself.
    Provider = "providers", _at;

    /// Where its API begins.
    base_url: Option<Address> = None;
    /// The API that it speaks: OpenAI's Responses API, or Chat Completions.
    wire: Wire = Wire::Responses;
    /// The variable that has the key.
    key_env: Option<EnvironmentName> = None;
    /// The file that has the key, and nothing else. Others must not be able to read it.
    key_file: Option<PathBuf> = None;
    /// The program that prints the key.
    key_command: Option<Invocation> = None;
    /// Whether the login of Codex is used. It is only read: Codex alone renews it.
    codex_login: bool = false;
    /// Further headers of each request, each with the variable that has its value.
    headers: Headers = Headers::default();
    refused "key": "name where it is instead, with key_env, key_file or key_command";
    refused "api_key": "name where it is instead, with key_env, key_file or key_command";
    refused "token": "name where it is instead, with key_env, key_file or key_command";
}

impl Provider {
    /// What holds without a section.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (base_url, key_env, codex_login) = match name {
            "openai" => ("https://api.openai.com/v1", Some("OPENAI_API_KEY"), false),
            // So for a login with ChatGPT; whoever reads the login knows better.
            "codex" => ("https://chatgpt.com/backend-api/codex", None, true),
            _ => return None,
        };
        Some(Self {
            base_url: Some(Address::known(base_url)),
            wire: Wire::Responses,
            key_env: key_env.map(EnvironmentName::known),
            key_file: None,
            key_command: None,
            codex_login,
            headers: Headers::default(),
        })
    }

    /// The names of those that are there without being written.
    pub const BUILT_IN: [&'static str; 2] = ["openai", "codex"];

    /// `is_given` says whether a key stands in the file, also if its value is wrong.
    pub(crate) fn check(&self, is_given: impl Fn(&str) -> bool) -> Result<(), String> {
        if !is_given("base_url") {
            return Err("has no base_url; write where its API begins".to_owned());
        }
        let login = is_given("codex_login") && self.codex_login;
        let ways = ["key_env", "key_file", "key_command"].into_iter().filter(|key| is_given(key));
        match ways.count() + usize::from(login) {
            1 => Ok(()),
            0 => Err("has no key; write one of key_env, key_file, key_command and codex_login = true".to_owned()),
            _ => Err("says more than once where its key is; keep one of key_env, key_file, key_command and codex_login".to_owned()),
        }
    }
}

/// Names that can be typed and stand in a header without quotes.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
