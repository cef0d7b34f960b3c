//! Reading the web: what may be reached, how a page is fetched, what of it is text, and who searches.

mod charset;
mod extract;
mod fetch;
mod guard;
mod readable;
mod render;
mod search;
mod tree;

pub use extract::WebExtract;
pub use fetch::{FetchError, Fetched, Fetcher};
pub use guard::{Guard, Lookup, Refused};
pub use search::{SearchKind, SearchSettings, WebSearch};
