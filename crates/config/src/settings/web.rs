//! `[web]`: what the agent's tools may fetch, and who searches for them.

use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use crate::value::words::words;
use crate::value::{Address, EnvironmentName, Invocation, MEBIBYTE, Size, seconds};

words! {
    /// Who searches the web.
    Search {
        /// A SearXNG of one's own.
        Searxng = "searxng",
        /// Brave's API.
        Brave = "brave",
        /// Tavily's API.
        Tavily = "tavily",
        /// Anything that takes `q` and `limit` and answers with results as JSON.
        Json = "json",
    }
}

section! {
    /// The web for the agent's tools `web_search` and `web_extract`, for its browser, and for every address that a model names.
    /// Only the public internet is reached: what a name means is looked at, and private addresses are refused.
    Web = "web", _at;

    /// Who answers `web_search`: a SearXNG at `search_url` (with `json` among its formats), Brave or Tavily with your key, or any
    /// other place at `search_url` that takes `q` and `limit` and answers with a list of results as JSON.
    search: Option<Search> = None;
    /// Where the search is. Brave and Tavily have their own place; SearXNG and `"json"` need one.
    search_url: Option<Address> = None;
    /// The variable that has the key of the search.
    search_key_env: Option<EnvironmentName> = None;
    /// The file that has the key of the search, and nothing else. It is used where no variable is named.
    search_key_file: Option<PathBuf> = None;
    /// The program that prints the key of the search. It is used where neither a variable nor a file is named.
    search_key_command: Option<Invocation> = None;
    /// Hosts that may be reached although they are not on the public internet, as they stand in an address, with the port if only that one
    /// is meant: `"wiki.internal"`, `"localhost:8080"`.
    allowed_hosts: Vec<String> = Vec::new();
    /// How long a page may take, with all that it redirects to.
    timeout: Duration = seconds(30), 1..=600;
    /// How long a page may be.
    max_page: Size = Size::from_bytes(5 * MEBIBYTE), 1_024..=104_857_600;
}
