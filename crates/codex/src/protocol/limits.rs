//! What was spent and what is left: token usage and rate limits.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::lenient;

/// Tokens of a thread: in all, and of the last call of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub total: TokenCount,
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub last: TokenCount,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model_context_window: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenCount {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub total_tokens: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub input_tokens: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub cached_input_tokens: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub cache_write_input_tokens: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub output_tokens: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub reasoning_output_tokens: u64,
}

/// One limit of the account, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimits {
    #[serde(default, deserialize_with = "lenient::option")]
    pub limit_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub limit_name: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub plan_type: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub primary: Option<RateLimitWindow>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub secondary: Option<RateLimitWindow>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub credits: Option<Credits>,
    /// Why no more work is taken, if so.
    #[serde(default, deserialize_with = "lenient::option")]
    pub rate_limit_reached_type: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitWindow {
    #[serde(default, deserialize_with = "lenient::option")]
    pub used_percent: Option<i64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub window_duration_mins: Option<i64>,
    /// Unix seconds.
    #[serde(default, deserialize_with = "lenient::option")]
    pub resets_at: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credits {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub has_credits: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub unlimited: bool,
    #[serde(default, deserialize_with = "lenient::option")]
    pub balance: Option<String>,
}

/// All limits of the account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimits {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    pub rate_limits: RateLimits,
    #[serde(default, deserialize_with = "lenient::object_map")]
    pub rate_limits_by_limit_id: BTreeMap<String, RateLimits>,
}
