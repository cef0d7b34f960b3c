//! What can be found out about a page besides its snapshot: pictures on it, its console, how it looks.

use serde_json::{Value, json};

use super::driver::{Browser, BrowserError};
use super::pages::remote;

const MOST_IMAGES: usize = 100;

/// Of what an expression gives.
const MOST_CHARACTERS: usize = 20_000;

const IMAGES: &str = "JSON.stringify([...document.images].filter(it => it.currentSrc || it.src).map(it => ({
    src: (it.currentSrc || it.src).slice(0, 2000), alt: it.alt.slice(0, 300), width: it.naturalWidth, height: it.naturalHeight,
})))";

/// Numbers over what can be acted on, in a layer that the page does not know. Places are those of the window.
const MARK: &str = "function(name) {
    const box = [...this.getClientRects()].find(it => it.width > 0 && it.height > 0);
    if (!box || box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth) return '';
    let layer = document.getElementById('ostler-marks');
    if (!layer) {
        layer = document.createElement('div');
        layer.id = 'ostler-marks';
        layer.style.cssText = 'all:initial;position:fixed;inset:0;z-index:2147483647;pointer-events:none';
        document.documentElement.append(layer);
    }
    const frame = document.createElement('div');
    frame.style.cssText = `all:initial;position:fixed;left:${box.left}px;top:${box.top}px;width:${box.width}px;` +
        `height:${box.height}px;outline:2px solid #d00;pointer-events:none`;
    const label = document.createElement('div');
    label.textContent = name;
    label.style.cssText = 'all:initial;position:absolute;left:0;top:0;background:#d00;color:#fff;font:bold 11px sans-serif;padding:0 2px';
    frame.append(label);
    layer.append(frame);
    return 'marked';
}";

const UNMARK: &str = "document.getElementById('ostler-marks')?.remove()";

/// More marks than this hide the page.
const MOST_MARKS: usize = 80;

/// How a page looks.
pub(super) struct Picture {
    pub(super) png: Vec<u8>,
    /// What the numbers on it mean, one on a line; empty without numbers.
    pub(super) legend: String,
}

impl Browser {
    pub(super) async fn images(&self) -> Result<String, BrowserError> {
        let text = self.text_of(IMAGES).await?;
        let images: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        if images.is_empty() {
            return Ok("there are no images on this page".to_owned());
        }
        let shown = images.iter().take(MOST_IMAGES).map(|image| {
            let part = |name: &str| image.get(name).and_then(Value::as_str).unwrap_or_default();
            let size = |name: &str| image.get(name).and_then(Value::as_u64).unwrap_or_default();
            let source = match part("src").split_once(',') {
                Some((head, _)) if head.starts_with("data:") => format!("{head},…"),
                _ => part("src").to_owned(),
            };
            format!("- {source} ({}×{}) {:?}", size("width"), size("height"), part("alt"))
        });
        let mut lines: Vec<String> = shown.collect();
        if images.len() > MOST_IMAGES {
            lines.push(format!("[… {} more …]", images.len() - MOST_IMAGES));
        }
        Ok(lines.join("\n"))
    }

    /// What the console said; and the value of an expression.
    pub(super) async fn console(
        &self,
        clear: bool,
        expression: Option<&str>,
    ) -> Result<String, BrowserError> {
        let mut text = String::new();
        if let Some(expression) = expression {
            let result = self.evaluate(expression).await?;
            let value = match result.get("value") {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Object(_) | Value::Array(_))) => {
                    serde_json::to_string_pretty(value).unwrap_or_default()
                }
                _ => remote(&result),
            };
            let short: String = value.chars().take(MOST_CHARACTERS).collect();
            text.push_str(&format!("result: {short}\n"));
            if short.len() < value.len() {
                text.push_str(&format!("[… cut after {MOST_CHARACTERS} characters …]\n"));
            }
            self.settle().await;
        }
        let lines = self.pages.console(clear);
        let said = if lines.is_empty() { "(nothing)".to_owned() } else { lines.join("\n") };
        text.push_str(&format!("console:\n{said}\n{}", self.notes()));
        Ok(text)
    }

    pub(super) async fn picture(&self, annotate: bool) -> Result<Picture, BrowserError> {
        let legend = match annotate {
            true => self.mark().await?,
            false => String::new(),
        };
        let taken = self.page("Page.captureScreenshot", json!({ "format": "png" })).await;
        if annotate {
            self.evaluate(UNMARK).await?;
        }
        let taken = taken?;
        let data = taken.get("data").and_then(Value::as_str).unwrap_or_default();
        let png = data_encoding::BASE64.decode(data.as_bytes()).map_err(|_| {
            BrowserError::Told("the browser gave no picture of the page".to_owned())
        })?;
        Ok(Picture { png, legend })
    }

    async fn mark(&self) -> Result<String, BrowserError> {
        // The names of the last snapshot, and those of what has come since.
        self.snapshot(super::snapshot::View::Short).await?;
        let mut lines = Vec::new();
        for (name, element) in self.pages.with_refs(|refs| refs.all()).unwrap_or_default() {
            if lines.len() >= MOST_MARKS {
                break;
            }
            // One that is gone has no place on the picture.
            if matches!(self.on(&element, MARK, &[json!(name)]).await.as_deref(), Ok("marked")) {
                lines.push(format!("@{name} {} {:?}", element.role, element.name));
            }
        }
        Ok(lines.join("\n"))
    }
}
