//! `[browser]`: the agent's browser.

use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use crate::value::seconds;

section! {
    /// The browser of the agent's tools: a Chromium without a window, one for each conversation, in a folder that goes with it. What it
    /// may reach stands in `[web]`.
    Browser = "browser", _at;

    /// The Chromium to use, or a Chrome. Without it `chromium`, `chromium-browser`, `google-chrome` or `google-chrome-stable` on the PATH is used.
    program: Option<PathBuf> = None;
    /// Whether Chromium's own sandbox is used. Root has none in any case; elsewhere turn it off only if Chromium does not start with it.
    sandbox: bool = true;
    /// How long a page may take to load and to answer.
    timeout: Duration = seconds(30), 1..=600;
}
