//! The settings with which Codex talks to a scripted model.

use crate::refusal::MODEL;

/// How patient Codex is with the model. The defaults are Codex's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Retries of a request that got no stream.
    pub request_max_retries: u64,
    /// Retries of a stream that broke.
    pub stream_max_retries: u64,
    /// Silence after which Codex gives a stream up.
    pub stream_idle_timeout_ms: u64,
}

impl Default for ProviderLimits {
    fn default() -> Self {
        Self { request_max_retries: 4, stream_max_retries: 5, stream_idle_timeout_ms: 300_000 }
    }
}

/// The text for `config.toml` in a private `CODEX_HOME`.
pub(crate) fn codex_config(base_url: &str, limits: &ProviderLimits) -> String {
    let ProviderLimits { request_max_retries, stream_max_retries, stream_idle_timeout_ms } = limits;
    format!(
        r#"model = "{MODEL}"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.scripted]
name = "scripted model"
base_url = "{base_url}"
wire_api = "responses"
request_max_retries = {request_max_retries}
stream_max_retries = {stream_max_retries}
stream_idle_timeout_ms = {stream_idle_timeout_ms}
"#
    )
}
