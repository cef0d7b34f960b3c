//! `web_search`: by whoever the operator has chosen.

use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Url, redirect};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::ThroughProxy;
use crate::api::credentials::{Credential, KeySource};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};
use crate::tools::{read, shown};

const RESULTS: usize = 5;
const MOST_RESULTS: usize = 100;

/// Of one answer: a hundred results with long excerpts have some 200 KiB.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Excerpts are for choosing; the page itself is for reading.
const EXCERPT: usize = 400;

const UNSET: &str = "web_search is not set up: nobody is named who searches. Tell the user that `search` in [web] of Ostler's \
    config.toml takes \"searxng\" (with search_url), \"brave\" or \"tavily\" (with search_key_env), or \"json\" (with \
    search_url). A page whose address is known can be read without it, by `web_extract`";

/// Who searches, and how they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    Searxng,
    Brave,
    Tavily,
    /// Anybody who takes `q` and `limit` and answers with a list of results as JSON.
    Json,
}

#[derive(Debug, Clone)]
pub struct SearchSettings {
    pub kind: SearchKind,
    /// Where it is, if not at its usual place. SearXNG and others have none.
    pub base_url: Option<String>,
    pub key: KeySource,
    pub proxy: Option<ThroughProxy>,
    pub timeout: Duration,
}

pub struct WebSearch {
    settings: Option<SearchSettings>,
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
    limit: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
struct Hit {
    title: String,
    url: String,
    excerpt: String,
}

impl SearchKind {
    fn usual_place(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com/res/v1"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Searxng | Self::Json => None,
        }
    }

    /// How many results one question brings, and how many questions are worth it.
    fn pages(self) -> (usize, usize) {
        match self {
            Self::Searxng => (10, 10),
            Self::Brave => (20, 5),
            Self::Tavily => (20, 1),
            Self::Json => (MOST_RESULTS, 1),
        }
    }
}

impl WebSearch {
    /// Without settings every call says what to set.
    pub fn new(settings: Option<SearchSettings>) -> Self {
        Self { settings }
    }

    async fn search(&self, query: &str, limit: usize) -> Result<String, String> {
        let settings = self.settings.as_ref().ok_or(UNSET)?;
        let base = settings.base_url.as_deref().or_else(|| settings.kind.usual_place());
        let base = base.ok_or(
            "web_search is not set up: the user must write where the search is, as search_url in [web] of Ostler's config.toml",
        )?;
        let client = client(settings)?;
        let credential = settings.key.fetch().await.map_err(|error| error.to_string())?;
        let (each, most_pages) = settings.kind.pages();
        let mut hits: Vec<Hit> = Vec::new();
        for page in 0..most_pages {
            let wanted = limit.saturating_sub(hits.len()).min(each);
            if wanted == 0 {
                break;
            }
            let asked = Asked { kind: settings.kind, base, query, wanted, page };
            let request = asked.request(&client, &credential)?;
            let answer = answer(request, &credential, &settings.key).await?;
            let found = hits_in(&answer);
            let before = hits.len();
            for hit in found {
                if hits.iter().all(|known| known.url != hit.url) {
                    hits.push(hit);
                }
            }
            if hits.len() == before {
                break;
            }
        }
        hits.truncate(limit);
        Ok(list(query, &hits))
    }
}

struct Asked<'a> {
    kind: SearchKind,
    base: &'a str,
    query: &'a str,
    wanted: usize,
    page: usize,
}

impl Asked<'_> {
    fn request(
        &self,
        client: &reqwest::Client,
        credential: &Credential,
    ) -> Result<RequestBuilder, String> {
        let base = self.base.trim_end_matches('/');
        let at = |path: &str| {
            Url::parse(&format!("{base}{path}"))
                .map_err(|_| format!("{base:?} is no address; write another search_url in [web]"))
        };
        let (wanted, page) = (self.wanted.to_string(), self.page.to_string());
        let bearer = |request| with_key(request, credential, AUTHORIZATION, "Bearer ");
        Ok(match self.kind {
            SearchKind::Searxng => {
                let mut url = at("/search")?;
                let page = (self.page + 1).to_string();
                url.query_pairs_mut().extend_pairs([
                    ("q", self.query),
                    ("format", "json"),
                    ("pageno", &page),
                ]);
                bearer(client.get(url))
            }
            SearchKind::Brave => {
                let mut url = at("/web/search")?;
                url.query_pairs_mut().extend_pairs([
                    ("q", self.query),
                    ("count", &wanted),
                    ("offset", &page),
                    ("text_decorations", "false"),
                ]);
                let name = HeaderName::from_static("x-subscription-token");
                with_key(client.get(url), credential, name, "")
            }
            SearchKind::Tavily => {
                let body = json!({ "query": self.query, "max_results": self.wanted }).to_string();
                let request = client.post(at("/search")?).body(body);
                bearer(request.header("content-type", "application/json"))
            }
            SearchKind::Json => {
                let mut url = at("")?;
                url.query_pairs_mut().extend_pairs([("q", self.query), ("limit", &wanted)]);
                bearer(client.get(url))
            }
        })
    }
}

fn with_key(
    request: RequestBuilder,
    credential: &Credential,
    name: HeaderName,
    before: &str,
) -> RequestBuilder {
    let Some(key) = &credential.key else { return request };
    match HeaderValue::try_from(format!("{before}{}", key.expose())) {
        Ok(mut value) => {
            value.set_sensitive(true);
            request.header(name, value)
        }
        Err(_) => request,
    }
}

fn client(settings: &SearchSettings) -> Result<reqwest::Client, String> {
    // It fails only if somebody has chosen a provider before, and that one is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
        .timeout(settings.timeout)
        // A key is never carried to where somebody else points.
        .redirect(redirect::Policy::none())
        .no_proxy();
    if let Some(proxy) = &settings.proxy {
        let wrong = "the proxy has no address that can be used";
        builder = builder.proxy(proxy.proxy().ok_or(wrong)?);
    }
    builder.build().map_err(|error| format!("HTTP cannot be spoken: {error}"))
}

async fn answer(
    request: RequestBuilder,
    credential: &Credential,
    key: &KeySource,
) -> Result<Value, String> {
    let failed = |error: reqwest::Error| crate::api::described(&error);
    let mut response = request.header(ACCEPT, "application/json").send().await.map_err(failed)?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        body.extend_from_slice(&piece);
        if body.len() > MOST_BYTES {
            return Err(format!("the search answered with more than {MOST_BYTES} bytes"));
        }
    }
    if !status.is_success() {
        let said: String = String::from_utf8_lossy(&body).chars().take(300).collect();
        let said = credential.key.as_ref().map_or_else(|| said.clone(), |key| key.hide_in(&said));
        let advice = match status.as_u16() {
            401 | 403 => format!(" ({})", key.advice()),
            _ => String::new(),
        };
        return Err(format!("the search answered {status}{advice}: {}", said.trim()));
    }
    serde_json::from_slice(&body).map_err(|_| {
        "the search answered with something else than JSON; SearXNG needs `json` among its formats".to_owned()
    })
}

/// Wherever the list is, and however its fields are called.
fn hits_in(answer: &Value) -> Vec<Hit> {
    let places =
        ["/web/results", "/results", "/items", "/data", "/organic", "/organic_results", ""];
    let list = places.iter().find_map(|place| answer.pointer(place).and_then(Value::as_array));
    let text = |hit: &Value, names: &[&str]| {
        let found = names.iter().find_map(|name| hit.get(name).and_then(Value::as_str));
        found.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let hit = |hit: &Value| Hit {
        title: text(hit, &["title", "name"]),
        url: text(hit, &["url", "link", "href"]),
        excerpt: text(hit, &["content", "snippet", "description", "excerpt", "text"]),
    };
    list.into_iter().flatten().map(hit).filter(|hit| !hit.url.is_empty()).collect()
}

fn list(query: &str, hits: &[Hit]) -> String {
    if hits.is_empty() {
        return format!("nothing was found for {query:?}");
    }
    let lines = hits.iter().enumerate().map(|(index, hit)| {
        let title = if hit.title.is_empty() { &hit.url } else { &hit.title };
        let excerpt: String = hit.excerpt.chars().take(EXCERPT).collect();
        let excerpt = if excerpt.is_empty() { excerpt } else { format!("\n   {excerpt}") };
        format!("{}. {title}\n   {}{excerpt}", index + 1, hit.url)
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl Tool for WebSearch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "web_search".to_owned(),
            description: "Searches the web and gives titles, addresses and short excerpts. Read what looks right with \
                `web_extract`."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "minLength": 1 },
                    "limit": { "type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": RESULTS },
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        }
    }

    fn preview(&self, arguments: &Value) -> String {
        shown(arguments, "query")
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        true
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let arguments: Arguments = match read("web_search", arguments) {
                Ok(arguments) => arguments,
                Err(failed) => return failed,
            };
            let limit = arguments.limit.unwrap_or(RESULTS).clamp(1, MOST_RESULTS);
            let found = tokio::select! {
                found = self.search(arguments.query.trim(), limit) => found,
                () = context.stop.cancelled() => Err("the turn was stopped; nothing was searched".to_owned()),
            };
            match found {
                Ok(list) => ToolResult::said(list),
                Err(why) => ToolResult::failed(why),
            }
        })
    }
}
