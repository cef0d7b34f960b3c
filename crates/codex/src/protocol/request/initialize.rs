//! The first exchange on a connection.

use serde::{Deserialize, Serialize};

use super::ClientRequest;
use crate::protocol::lenient;
use crate::protocol::versions::CodexVersion;

/// The notification that completes the exchange. It has no params.
pub const INITIALIZED: &str = "initialized";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    pub client_info: ClientInfo,
    pub capabilities: Capabilities,
}

impl ClientRequest for Initialize {
    const METHOD: &'static str = "initialize";
    type Reply = Initialized;
}

/// Who we are. The name comes back as the first word of the server's `userAgent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub version: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Methods and fields that are not stable yet are refused without it.
    pub experimental_api: bool,
    /// Exact names of notifications that are not to be sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opt_out_notification_methods: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    #[serde(default, deserialize_with = "lenient::option")]
    pub user_agent: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub codex_home: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub platform_family: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub platform_os: Option<String>,
}

impl Initialized {
    /// The only place where an app-server names its version.
    pub fn version(&self) -> Option<CodexVersion> {
        CodexVersion::from_user_agent(self.user_agent.as_deref()?)
    }
}
