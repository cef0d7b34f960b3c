//! What a person would read of a page, as text with the marks of Markdown. Pure.

use std::time::Instant;

use reqwest::Url;

use super::render::Render;
use super::tree::{NodeId, ROOT, Tree};

/// A page without what stands around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) title: String,
    pub(super) text: String,
}

/// A main part with less text than this is a frame for something that scripts fill in.
const LEAST_MAIN: usize = 200;

/// None if the page takes too long to read.
pub(super) fn readable(html: &str, base: &Url, deadline: Instant) -> Option<Readable> {
    let tree = Tree::parse(html, deadline)?;
    let base = own_base(&tree, base);
    let title = title(&tree);
    let render = Render { tree: &tree, base: &base };
    let main = main_part(&tree);
    let mut text = main.map(|id| render.page(id)).unwrap_or_default();
    if text.chars().count() < LEAST_MAIN {
        let whole = render.page(body(&tree));
        // What is left out around a main part can be all there is.
        if whole.chars().count() > 2 * text.chars().count() {
            text = whole;
        }
    }
    Some(Readable { title, text })
}

fn first(tree: &Tree, name: &str) -> Option<NodeId> {
    tree.below(ROOT).find(|id| tree.name(*id) == name)
}

fn body(tree: &Tree) -> NodeId {
    first(tree, "body").unwrap_or(ROOT)
}

fn own_base(tree: &Tree, base: &Url) -> Url {
    let named = first(tree, "base").and_then(|id| tree.attribute(id, "href"));
    named.and_then(|href| base.join(href).ok()).unwrap_or_else(|| base.clone())
}

fn title(tree: &Tree) -> String {
    let of = |name: &str| {
        let text = first(tree, name).map(|id| tree.text_below(id)).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let title = of("title");
    if title.is_empty() { of("h1") } else { title }
}

/// What the page itself calls its main part; or its only article.
fn main_part(tree: &Tree) -> Option<NodeId> {
    let is_main =
        |id: &NodeId| tree.name(*id) == "main" || tree.attribute(*id, "role") == Some("main");
    if let Some(main) = tree.below(ROOT).find(is_main) {
        return Some(main);
    }
    let mut articles = tree.below(ROOT).filter(|id| tree.name(*id) == "article");
    match (articles.next(), articles.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
#[path = "readable_tests.rs"]
mod tests;
