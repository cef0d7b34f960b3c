//! A tree as text: blocks with a line between them, and what runs inside of a line.

use reqwest::Url;

use super::tree::{NodeId, Tree};

pub(super) struct Render<'p> {
    pub(super) tree: &'p Tree,
    pub(super) base: &'p Url,
}

/// Deeper than any page that a person wrote; what is below is read as plain text.
const DEEPEST: usize = 150;

/// No part of what is read.
const DROPPED: [&str; 24] = [
    "script", "style", "noscript", "template", "svg", "math", "canvas", "iframe", "object",
    "embed", "video", "audio", "map", "head", "nav", "footer", "aside", "button", "select",
    "input", "textarea", "dialog", "menu", "link",
];

const DROPPED_ROLES: [&str; 8] = [
    "navigation",
    "banner",
    "contentinfo",
    "complementary",
    "search",
    "dialog",
    "alertdialog",
    "menu",
];

/// By these words in `class` or `id` pages call what stands around their text.
const AROUND: [&str; 16] = [
    "nav",
    "navbar",
    "navigation",
    "menu",
    "sidebar",
    "footer",
    "breadcrumb",
    "breadcrumbs",
    "cookie",
    "cookies",
    "consent",
    "newsletter",
    "share",
    "social",
    "advertisement",
    "ads",
];

const BLOCKS: [&str; 37] = [
    "address",
    "article",
    "blockquote",
    "body",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "html",
    "li",
    "main",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "tr",
    "ul",
    "caption",
];

impl Render<'_> {
    pub(super) fn page(&self, id: NodeId) -> String {
        self.blocks(id, 0)
    }

    fn is_dropped(&self, id: NodeId) -> bool {
        let name = self.tree.name(id);
        let attribute = |name: &str| self.tree.attribute(id, name);
        if DROPPED.contains(&name)
            || attribute("hidden").is_some()
            || attribute("aria-hidden") == Some("true")
            || attribute("role").is_some_and(|role| DROPPED_ROLES.contains(&role))
        {
            return true;
        }
        let style = attribute("style").unwrap_or_default().replace(' ', "").to_ascii_lowercase();
        if style.contains("display:none") || style.contains("visibility:hidden") {
            return true;
        }
        // Only of what is a box of its own: `<body class="nav">` is the page.
        if !matches!(name, "div" | "section" | "ul" | "ol" | "header" | "form") {
            return false;
        }
        let words = [attribute("class"), attribute("id")];
        let mut words = words.into_iter().flatten().flat_map(|text| text.split_whitespace());
        words.any(|word| {
            let word = word.to_ascii_lowercase();
            word.split(['-', '_']).next().is_some_and(|first| AROUND.contains(&first))
        })
    }

    /// All blocks below, with an empty line between them.
    fn blocks(&self, id: NodeId, depth: usize) -> String {
        if depth > DEEPEST {
            return collapsed(&self.tree.text_below(id)).trim().to_owned();
        }
        let mut all = Vec::new();
        let mut run = String::new();
        for child in self.tree.children(id) {
            if self.is_dropped(*child) {
                continue;
            }
            if self.is_block(*child) {
                flush(&mut run, &mut all);
                let block = self.block(*child, depth + 1);
                if !block.trim().is_empty() {
                    all.push(block);
                }
            } else {
                self.inline(*child, depth + 1, &mut run);
            }
        }
        flush(&mut run, &mut all);
        all.join("\n\n")
    }

    /// Also a link or another piece of a line that holds whole blocks.
    fn is_block(&self, id: NodeId) -> bool {
        let name = self.tree.name(id);
        if BLOCKS.contains(&name) {
            return true;
        }
        !name.is_empty()
            && self.tree.children(id).iter().any(|child| BLOCKS.contains(&self.tree.name(*child)))
    }

    fn block(&self, id: NodeId, depth: usize) -> String {
        match self.tree.name(id) {
            name @ ("h1" | "h2" | "h3" | "h4" | "h5" | "h6") => {
                let level = name.get(1..).and_then(|level| level.parse().ok()).unwrap_or(1);
                let text = self.line(id, depth);
                if text.is_empty() { text } else { format!("{} {text}", "#".repeat(level)) }
            }
            "pre" => {
                let text = self.tree.text_below(id);
                format!("```\n{}\n```", text.trim_matches('\n'))
            }
            "hr" => "---".to_owned(),
            "ul" => self.list(id, depth, |_| "- ".to_owned()),
            "ol" => {
                let first = self.tree.attribute(id, "start").and_then(|it| it.parse().ok());
                let first: usize = first.unwrap_or(1);
                self.list(id, depth, |index| format!("{}. ", first.saturating_add(index)))
            }
            "blockquote" => prefixed(&self.blocks(id, depth), "> ", "> "),
            "table" => self.table(id, depth),
            "dt" => format!("**{}**", self.line(id, depth)),
            "dd" => prefixed(&self.blocks(id, depth), ": ", "  "),
            _ => self.blocks(id, depth),
        }
    }

    fn list(&self, id: NodeId, depth: usize, mark: impl Fn(usize) -> String) -> String {
        let mut items = Vec::new();
        for child in self.tree.children(id) {
            let text = match self.is_dropped(*child) {
                true => String::new(),
                false => self.blocks(*child, depth + 1),
            };
            if self.tree.name(*child) != "li" || text.trim().is_empty() {
                continue;
            }
            let mark = mark(items.len());
            let rest = " ".repeat(mark.len());
            // The items of a list stand close together, and so does a list inside of one.
            items.push(prefixed(&text.replace("\n\n- ", "\n- "), &mark, &rest));
        }
        items.join("\n")
    }

    fn table(&self, id: NodeId, depth: usize) -> String {
        let rows = self.tree.below(id).filter(|it| self.tree.name(*it) == "tr");
        let mut lines = Vec::new();
        for row in rows {
            let cells = self.tree.children(row).iter();
            let cells = cells.filter(|cell| matches!(self.tree.name(**cell), "td" | "th"));
            let texts: Vec<String> = cells
                .map(|cell| collapsed(&self.blocks(*cell, depth + 1)).replace('|', "\\|"))
                .collect();
            // Old pages are laid out with tables; a row of one cell is no table.
            match texts.as_slice() {
                [] => {}
                [only] => lines.push(only.trim().to_owned()),
                many => {
                    lines.push(format!("| {} |", many.join(" | ")));
                    if lines.len() == 1 {
                        lines.push(format!("|{}", "---|".repeat(many.len())));
                    }
                }
            }
        }
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }

    /// All below on one line.
    fn line(&self, id: NodeId, depth: usize) -> String {
        let mut run = String::new();
        for child in self.tree.children(id) {
            self.inline(*child, depth + 1, &mut run);
        }
        collapsed(&run).trim().to_owned()
    }

    fn inline(&self, id: NodeId, depth: usize, run: &mut String) {
        if let Some(text) = self.tree.text(id) {
            run.push_str(text);
            return;
        }
        if self.is_dropped(id) {
            return;
        }
        if depth > DEEPEST {
            run.push_str(&self.tree.text_below(id));
            return;
        }
        match self.tree.name(id) {
            "br" => run.push('\u{2028}'),
            "wbr" => {}
            "img" => self.image(id, run),
            "a" => self.link(id, depth, run),
            "code" | "kbd" | "samp" => self.marked(id, depth, run, "`"),
            "strong" | "b" => self.marked(id, depth, run, "**"),
            "em" | "i" => self.marked(id, depth, run, "*"),
            _ => {
                for child in self.tree.children(id) {
                    self.inline(*child, depth + 1, run);
                }
            }
        }
    }

    fn marked(&self, id: NodeId, depth: usize, run: &mut String, mark: &str) {
        let text = self.line(id, depth);
        if !text.is_empty() {
            run.push_str(&format!("{mark}{text}{mark}"));
        }
    }

    fn link(&self, id: NodeId, depth: usize, run: &mut String) {
        let text = self.line(id, depth);
        let target = self.tree.attribute(id, "href").map(str::trim);
        let target = target.filter(|href| !href.is_empty() && !href.starts_with('#'));
        let target = target.and_then(|href| self.base.join(href).ok());
        let target = target.filter(|url| matches!(url.scheme(), "http" | "https" | "mailto"));
        match target {
            Some(url) if !text.is_empty() => run.push_str(&format!("[{text}]({url})")),
            _ => run.push_str(&text),
        }
    }

    /// One without words for it is decoration.
    fn image(&self, id: NodeId, run: &mut String) {
        let words = collapsed(self.tree.attribute(id, "alt").unwrap_or_default());
        let source = self.tree.attribute(id, "src").and_then(|src| self.base.join(src.trim()).ok());
        if let Some(url) = source.filter(|url| matches!(url.scheme(), "http" | "https"))
            && !words.trim().is_empty()
        {
            run.push_str(&format!("![{}]({url})", words.trim()));
        }
    }
}

/// What ran together until a block came becomes a block.
fn flush(run: &mut String, all: &mut Vec<String>) {
    let text = collapsed(run).trim().to_owned();
    run.clear();
    if !text.is_empty() {
        all.push(text);
    }
}

/// White space as browsers show it. The sign for `<br>` becomes the end of a line.
fn collapsed(text: &str) -> String {
    let lines = text.split('\u{2028}');
    let lines = lines.map(|line| {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let before = if line.starts_with(char::is_whitespace) { " " } else { "" };
        let after = if line.ends_with(char::is_whitespace) && !words.is_empty() { " " } else { "" };
        format!("{before}{words}{after}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn prefixed(text: &str, first: &str, rest: &str) -> String {
    let mut lines = text.lines();
    let mut all = format!("{first}{}", lines.next().unwrap_or_default());
    for line in lines {
        all.push('\n');
        all.push_str(if line.is_empty() { rest.trim_end() } else { rest });
        all.push_str(line);
    }
    all
}
