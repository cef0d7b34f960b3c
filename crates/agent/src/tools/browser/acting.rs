//! What a person would do with mouse and keyboard.

use serde_json::{Value, json};

use super::driver::{Browser, BrowserError};
use super::keys::press;
use super::pages::{exception, remote};
use super::snapshot::Element;

/// Which way to scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// Where the middle of an element is, or what to do with one that has none. An option of a list is chosen as a person would.
const AIM: &str = "function() {
    if (this.tagName === 'OPTION') {
        const list = this.closest('select');
        if (list) {
            if (list.multiple) { this.selected = !this.selected } else { list.value = this.value; this.selected = true }
            list.dispatchEvent(new Event('input', { bubbles: true }));
            list.dispatchEvent(new Event('change', { bubbles: true }));
            return 'chosen';
        }
    }
    if (this.disabled) return 'disabled';
    this.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const boxes = [...this.getClientRects()].filter(box => box.width > 0 && box.height > 0);
    if (!boxes.length || this.ownerDocument !== document) { this.click(); return 'clicked' }
    const x = boxes[0].left + boxes[0].width / 2, y = boxes[0].top + boxes[0].height / 2;
    const hit = this.getRootNode().elementFromPoint(x, y);
    const labels = this.labels ? [...this.labels] : [];
    if (hit && (this.contains(hit) || hit.contains(this) || labels.some(label => label.contains(hit)))) {
        return JSON.stringify([x, y]);
    }
    this.click();
    return 'covered';
}";

/// Makes the field ready to be typed into: what is in it is chosen, and the first letter replaces it.
const READY: &str = "function() {
    if (this.disabled || this.readOnly) return 'it cannot be changed';
    this.scrollIntoView({ block: 'center', behavior: 'instant' });
    this.focus();
    if (this.tagName === 'SELECT') return 'it is a list; click the option that you want';
    if (this.isContentEditable) {
        const all = document.createRange();
        all.selectNodeContents(this);
        const chosen = getSelection();
        chosen.removeAllRanges();
        chosen.addRange(all);
        return '';
    }
    if (!('value' in this)) return 'it takes no text';
    const kind = (this.type || '').toLowerCase();
    if (['date', 'time', 'month', 'week', 'datetime-local', 'color', 'range'].includes(kind)) return 'set';
    if (['checkbox', 'radio', 'button', 'submit', 'file', 'image', 'reset'].includes(kind)) return 'it takes no text';
    this.select();
    return '';
}";

/// Fields that are no text inside are given their value whole.
const SET: &str = "function(text) {
    const own = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(this), 'value');
    own && own.set ? own.set.call(this, text) : this.value = text;
    this.dispatchEvent(new Event('input', { bubbles: true }));
    this.dispatchEvent(new Event('change', { bubbles: true }));
    return this.value === text ? '' : 'it did not take this value; it has ' + JSON.stringify(this.value);
}";

/// The page itself, or the largest part of it that scrolls.
const SCROLL: &str = "(() => {
    const page = document.scrollingElement || document.documentElement;
    const fits = box => box.scrollHeight > box.clientHeight + 1;
    let box = page;
    if (!fits(page)) {
        const area = one => one.clientWidth * one.clientHeight;
        const scrolls = one => fits(one) && /auto|scroll/.test(getComputedStyle(one).overflowY);
        const all = [...document.querySelectorAll('*')].filter(scrolls).sort((a, b) => area(b) - area(a));
        box = all[0] || page;
    }
    box.scrollBy({ top: DISTANCE * Math.max(box.clientHeight * 0.8, 100), behavior: 'instant' });
    const end = Math.max(0, box.scrollHeight - box.clientHeight);
    return `${Math.round(box.scrollTop)} of ${Math.round(end)} pixels`;
})()";

impl Browser {
    fn element(&self, written: &str) -> Result<Element, BrowserError> {
        let found = self.pages.with_refs(|refs| refs.element(written)).flatten();
        found.ok_or_else(|| {
            BrowserError::Told(format!(
                "there is no element {written}; names are those of the last `browser_snapshot` of this page"
            ))
        })
    }

    /// Runs a function of ours on an element.
    pub(super) async fn on(
        &self,
        element: &Element,
        function: &str,
        arguments: &[Value],
    ) -> Result<String, BrowserError> {
        let gone = |_| {
            BrowserError::Told(
                "the element is no longer on the page; take a new snapshot".to_owned(),
            )
        };
        let params = json!({ "backendNodeId": element.node });
        let resolved = self.page("DOM.resolveNode", params).await.map_err(gone)?;
        let object = resolved.pointer("/object/objectId").cloned().unwrap_or_default();
        let arguments: Vec<Value> = arguments.iter().map(|it| json!({ "value": it })).collect();
        let params = json!({
            "objectId": object,
            "functionDeclaration": function,
            "arguments": arguments,
            "returnByValue": true,
            "userGesture": true,
        });
        let answer = self.page("Runtime.callFunctionOn", params).await?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(BrowserError::Told(exception(details))),
            None => Ok(remote(&answer.get("result").cloned().unwrap_or_default())),
        }
    }

    pub(super) async fn click(&self, written: &str) -> Result<String, BrowserError> {
        let element = self.element(written)?;
        let done = match self.on(&element, AIM, &[]).await?.as_str() {
            "disabled" => {
                return Err(BrowserError::Told(format!(
                    "{} is disabled",
                    described(written, &element)
                )));
            }
            "chosen" => "chose",
            "clicked" => "clicked",
            "covered" => "clicked, by a script because something covers it,",
            place => {
                self.click_at(place).await?;
                "clicked"
            }
        };
        self.after(&format!("{done} {}", described(written, &element))).await
    }

    async fn click_at(&self, place: &str) -> Result<(), BrowserError> {
        let [x, y]: [f64; 2] = serde_json::from_str(place).map_err(|_| {
            BrowserError::Told("the page did not say where the element is".to_owned())
        })?;
        for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            let params = json!({
                "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1,
            });
            self.page("Input.dispatchMouseEvent", params).await?;
        }
        Ok(())
    }

    pub(super) async fn type_text(
        &self,
        written: &str,
        text: &str,
    ) -> Result<String, BrowserError> {
        let element = self.element(written)?;
        let refused = |why: &str| {
            BrowserError::Told(format!(
                "nothing was typed into {}: {why}",
                described(written, &element)
            ))
        };
        match self.on(&element, READY, &[]).await?.as_str() {
            "" if text.is_empty() => self.press_keys("Delete").await?,
            "" => drop(self.page("Input.insertText", json!({ "text": text })).await?),
            "set" => {
                let wrong = self.on(&element, SET, &[json!(text)]).await?;
                if !wrong.is_empty() {
                    return Err(refused(&wrong));
                }
            }
            why => return Err(refused(why)),
        }
        self.after(&format!("typed into {}", described(written, &element))).await
    }

    pub(super) async fn press(&self, key: &str) -> Result<String, BrowserError> {
        self.press_keys(key).await?;
        self.after(&format!("pressed {key}")).await
    }

    async fn press_keys(&self, key: &str) -> Result<(), BrowserError> {
        let press = press(key).map_err(BrowserError::Told)?;
        self.page("Input.dispatchKeyEvent", press.down).await?;
        self.page("Input.dispatchKeyEvent", press.up).await?;
        Ok(())
    }

    pub(super) async fn scroll(&self, direction: Direction) -> Result<String, BrowserError> {
        let (distance, word) = match direction {
            Direction::Up => ("-1", "up"),
            Direction::Down => ("1", "down"),
        };
        let place = self.text_of(&SCROLL.replace("DISTANCE", distance)).await?;
        self.after(&format!("scrolled {word}, now at {place}")).await
    }

    pub(super) async fn back(&self) -> Result<String, BrowserError> {
        let history = self.page("Page.getNavigationHistory", json!({})).await?;
        let current = history.get("currentIndex").and_then(Value::as_u64).unwrap_or_default();
        let entries = history.get("entries").and_then(Value::as_array);
        let before = usize::try_from(current).ok().and_then(|current| current.checked_sub(1));
        let before = before.and_then(|index| entries?.get(index));
        // Every browser begins on an empty page, which is no place to go back to.
        let before = before.filter(|entry| {
            entry.get("url").and_then(Value::as_str).is_some_and(|url| url != "about:blank")
        });
        let id = before
            .and_then(|entry| entry.get("id"))
            .ok_or_else(|| BrowserError::Told("there is no page before this one".to_owned()))?;
        self.page("Page.navigateToHistoryEntry", json!({ "entryId": id })).await?;
        self.after("went back").await
    }

    /// What was done, and where one is now.
    async fn after(&self, done: &str) -> Result<String, BrowserError> {
        self.settle().await;
        let place = self.place().await?;
        let notes = self.notes();
        Ok(format!("{done}\n{place}{notes}"))
    }
}

fn described(written: &str, element: &Element) -> String {
    let name = written.trim().trim_start_matches('@');
    format!("@{name} ({} {:?})", element.role, element.name)
}
