//! The page itself: files that were built before and are part of this program.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::guard::Need;
use crate::problem::{Problem, Trouble};
use crate::table::Routes;

include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// The names of files have a digest in them: what is called so stays so.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(crate) fn page_table<S: Clone + Send + Sync + 'static>() -> Routes<S> {
    Routes::new().get("/", Need::Open, index).get("/login", Need::Open, index).get(
        "/assets/{file}",
        Need::Open,
        asset,
    )
}

/// The same for both: what stands behind the # is the page's own business.
async fn index() -> Result<Response, Problem> {
    let text = file("/").ok_or_else(|| {
        Problem::new(Trouble::NotFound, "this ostler was built without its page")
            .hint("the command line does all that the page does")
    })?;
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    Ok((kind, text).into_response())
}

async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    let found = file(&format!("/assets/{name}"));
    let bytes =
        found.ok_or_else(|| Problem::new(Trouble::NotFound, "the page has no such file"))?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(&name)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_EVER));
    Ok((headers, bytes).into_response())
}

fn file(address: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(own, _)| *own == address).map(|(_, bytes)| *bytes)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
