//! A real browser for the model: headless Chromium, one for each conversation, whose only way to the network is our own gate.
//!
//! Start reading at `session` for who has a browser and when, at `driver` for what is done with one, at `chromium` and `gate` for what
//! holds it.

mod acting;
mod cdp;
mod chromium;
mod driver;
mod gate;
mod keys;
mod looking;
mod pages;
mod session;
mod snapshot;
mod tools;
mod vision;

pub use chromium::BrowserSettings;
pub use session::Browsers;
pub use tools::{BrowserTool, browser_tools};
pub use vision::BrowserVision;
