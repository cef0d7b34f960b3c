//! How freely Codex may act: sandbox and approval policy, in both of Codex's spellings.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::lenient;

/// The sandbox of a thread, as `thread/start`, `thread/resume` and `thread/fork` take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

/// The sandbox in full, as turns take it and as every reply names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SandboxFields", into = "SandboxFields")]
pub enum SandboxPolicy {
    DangerFullAccess,
    ReadOnly {
        network_access: bool,
    },
    /// Somebody else confines Codex; only the network is named.
    ExternalSandbox {
        network_access: bool,
    },
    WorkspaceWrite {
        writable_roots: Vec<String>,
        network_access: bool,
        exclude_tmpdir_env_var: bool,
        exclude_slash_tmp: bool,
    },
    Other(String),
}

/// The union of the fields of all policies, as they stand on the wire.
#[derive(Default, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SandboxFields {
    #[serde(default, rename = "type", deserialize_with = "lenient::or_default")]
    kind: String,
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    network_access: Option<NetworkAccess>,
    #[serde(
        default,
        deserialize_with = "lenient::option_list",
        skip_serializing_if = "Option::is_none"
    )]
    writable_roots: Option<Vec<String>>,
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    exclude_tmpdir_env_var: Option<bool>,
    #[serde(
        default,
        deserialize_with = "lenient::option",
        skip_serializing_if = "Option::is_none"
    )]
    exclude_slash_tmp: Option<bool>,
}

impl From<SandboxFields> for SandboxPolicy {
    fn from(fields: SandboxFields) -> Self {
        let network_access = fields.network_access.is_some_and(|access| access.is_allowed());
        match fields.kind.as_str() {
            "dangerFullAccess" => Self::DangerFullAccess,
            "readOnly" => Self::ReadOnly { network_access },
            "externalSandbox" => Self::ExternalSandbox { network_access },
            "workspaceWrite" => Self::WorkspaceWrite {
                writable_roots: fields.writable_roots.unwrap_or_default(),
                network_access,
                exclude_tmpdir_env_var: fields.exclude_tmpdir_env_var.unwrap_or_default(),
                exclude_slash_tmp: fields.exclude_slash_tmp.unwrap_or_default(),
            },
            _ => Self::Other(fields.kind),
        }
    }
}

impl From<SandboxPolicy> for SandboxFields {
    fn from(policy: SandboxPolicy) -> Self {
        let named = |kind: &str| Self { kind: kind.to_owned(), ..Self::default() };
        match policy {
            SandboxPolicy::DangerFullAccess => named("dangerFullAccess"),
            SandboxPolicy::ReadOnly { network_access } => Self {
                network_access: Some(NetworkAccess::Flag(network_access)),
                ..named("readOnly")
            },
            SandboxPolicy::ExternalSandbox { network_access } => Self {
                network_access: Some(NetworkAccess::Word(network_access)),
                ..named("externalSandbox")
            },
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            } => Self {
                network_access: Some(NetworkAccess::Flag(network_access)),
                writable_roots: Some(writable_roots),
                exclude_tmpdir_env_var: Some(exclude_tmpdir_env_var),
                exclude_slash_tmp: Some(exclude_slash_tmp),
                ..named("workspaceWrite")
            },
            SandboxPolicy::Other(kind) => named(&kind),
        }
    }
}

/// A flag in most policies, the words `enabled` and `restricted` in an external sandbox. Any other form counts as
/// allowed: what we cannot read must not pass for narrow.
#[derive(Clone, Copy)]
enum NetworkAccess {
    Flag(bool),
    Word(bool),
}

impl NetworkAccess {
    fn is_allowed(self) -> bool {
        let (Self::Flag(allowed) | Self::Word(allowed)) = self;
        allowed
    }
}

impl Serialize for NetworkAccess {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(allowed) => serializer.serialize_bool(*allowed),
            Self::Word(true) => serializer.serialize_str("enabled"),
            Self::Word(false) => serializer.serialize_str("restricted"),
        }
    }
}

impl<'de> Deserialize<'de> for NetworkAccess {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NetworkAccessVisitor)
    }
}

struct NetworkAccessVisitor;

impl<'de> Visitor<'de> for NetworkAccessVisitor {
    type Value = NetworkAccess;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("network access: a boolean or a word")
    }

    fn visit_bool<E>(self, allowed: bool) -> Result<NetworkAccess, E> {
        Ok(NetworkAccess::Flag(allowed))
    }

    fn visit_str<E>(self, word: &str) -> Result<NetworkAccess, E> {
        Ok(NetworkAccess::Word(word != "restricted"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NetworkAccess, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(NetworkAccess::Flag(true))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NetworkAccess, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(NetworkAccess::Flag(true))
    }

    fn visit_u64<E>(self, _: u64) -> Result<NetworkAccess, E> {
        Ok(NetworkAccess::Flag(true))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_value};

    use super::{SandboxMode, SandboxPolicy};

    #[test]
    fn both_spellings_of_the_sandbox_are_codex_s() {
        let modes =
            [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess];

        assert_eq!(
            to_value(modes).unwrap(),
            json!(["read-only", "workspace-write", "danger-full-access"])
        );
    }

    #[test]
    fn a_policy_survives_the_wire() {
        let wires = [
            r#"{"type":"dangerFullAccess"}"#,
            r#"{"type":"readOnly","networkAccess":true}"#,
            r#"{"type":"externalSandbox","networkAccess":"restricted"}"#,
            r#"{"type":"workspaceWrite","networkAccess":false,"writableRoots":["/a"],"excludeTmpdirEnvVar":true,"excludeSlashTmp":false}"#,
            r#"{"type":"brandNew"}"#,
        ];

        for wire in wires {
            let policy: SandboxPolicy = from_str(wire).unwrap();
            assert_eq!(serde_json::to_string(&policy).unwrap(), wire);
        }
    }

    #[test]
    fn a_policy_reads_through_fields_it_does_not_know() {
        let wire =
            r#"{"type":"readOnly","access":{"type":"fullAccess"},"networkAccess":false,"new":1}"#;

        assert_eq!(
            from_str::<SandboxPolicy>(wire).unwrap(),
            SandboxPolicy::ReadOnly { network_access: false }
        );
    }

    #[test]
    fn network_in_a_form_we_do_not_know_counts_as_allowed() {
        let allowed = ["{\"new\":1}", "[\"host\"]", "1", "\"sometimes\""].map(|form| {
            let wire = format!(r#"{{"type":"readOnly","networkAccess":{form}}}"#);
            from_str::<SandboxPolicy>(&wire).unwrap()
        });

        assert_eq!(allowed, [(); 4].map(|()| SandboxPolicy::ReadOnly { network_access: true }));
        assert_eq!(
            from_str::<SandboxPolicy>(r#"{"type":"readOnly","networkAccess":null}"#).unwrap(),
            SandboxPolicy::ReadOnly { network_access: false }
        );
    }
}
