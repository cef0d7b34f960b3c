//! Which models a provider has, for people who choose one.

use std::time::Duration;

use serde_json::Value;

use super::http::{Http, describe};
use super::patience::Patience;
use super::provider::{CODEX_BACKEND, Provider};
use super::reading::{number_at, text_at};

/// A person waits for it.
const DEADLINE: Duration = Duration::from_secs(10);

/// OpenAI's list of some hundred models has 20 KB; ChatGPT's, with the instructions of each, 200.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// ChatGPT's servers tell a client only of models that its version knows. It is a Codex's version that they mean.
const FOR_CHATGPT: &str = "/models?client_version=0.166.0";

/// Asks the provider. The error is for people.
pub async fn list_models(provider: &Provider) -> Result<Vec<String>, String> {
    let path = if provider.issuer == CODEX_BACKEND { FOR_CHATGPT } else { "/models" };
    let http =
        Http::new(provider, &Patience::default(), path).map_err(|error| error.to_string())?;
    let work = async {
        let credential = provider.credential().await.map_err(|error| error.to_string())?;
        let response = http.get(&credential).send().await.map_err(|error| describe(&error))?;
        if !response.status().is_success() {
            return Err(format!("the provider answers with status {}", response.status().as_u16()));
        }
        let mut response = response;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| describe(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return Err("the list has no end".to_owned());
            }
        }
        Ok(models_in(&String::from_utf8_lossy(&bytes)))
    };
    let found = tokio::time::timeout(DEADLINE, work).await;
    let found = found.map_err(|_| format!("nothing came within {} s", DEADLINE.as_secs()))??;
    match found.is_empty() {
        true => Err("the provider names none".to_owned()),
        false => Ok(found),
    }
}

/// The models of a list: as OpenAI's API has it, as ChatGPT's servers have it, and as Codex keeps it in `models_cache.json`. Those
/// that are not meant to be chosen are left out; the provider's own order goes before the alphabet.
pub fn models_in(text: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(text).unwrap_or_default();
    let all = ["models", "data"].into_iter().find_map(|name| list.get(name)?.as_array());
    let mut found: Vec<(u64, String)> = Vec::new();
    for model in all.into_iter().flatten() {
        let name = text_at(model, "/slug").or_else(|| text_at(model, "/id"));
        let is_hidden = matches!(text_at(model, "/visibility"), Some("hide" | "hidden" | "none"));
        if let Some(name) = name.filter(|name| !name.is_empty() && !is_hidden) {
            found.push((number_at(model, "/priority").unwrap_or(u64::MAX), name.to_owned()));
        }
    }
    found.sort();
    let mut names: Vec<String> = found.into_iter().map(|(_, name)| name).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::models_in;

    #[test]
    fn every_kind_of_list_is_read_and_what_is_hidden_is_left_out() {
        let openai = r#"{"object":"list","data":[{"id":"b"},{"id":"a"},{"id":""},{}]}"#;
        assert_eq!(models_in(openai), ["a", "b"]);
        let chatgpt = r#"{"models":[{"slug":"old","priority":9,"visibility":"list"},
            {"slug":"inner","priority":1,"visibility":"hide"},{"slug":"new","priority":2},{"slug":"also","priority":2}]}"#;
        assert_eq!(models_in(chatgpt), ["also", "new", "old"]);
        assert_eq!([models_in("no list"), models_in("[]")], [Vec::<String>::new(), Vec::new()]);
    }
}
