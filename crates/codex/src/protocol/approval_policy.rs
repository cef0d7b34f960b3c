//! When Codex asks a person.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::lenient;

/// When Codex asks. `on-failure` is read as `Other`: Codex 0.166 refuses it, so we never offer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalPolicy {
    Untrusted,
    OnRequest,
    Never,
    Granular(GranularApproval),
    Other(String),
}

/// Which kinds of question are asked; a kind that is off is refused without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GranularApproval {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub sandbox_approval: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub rules: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub skill_approval: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub request_permissions: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub mcp_elicitations: bool,
}

impl From<&str> for ApprovalPolicy {
    fn from(word: &str) -> Self {
        match word {
            "untrusted" => Self::Untrusted,
            "on-request" => Self::OnRequest,
            "never" => Self::Never,
            _ => Self::Other(word.to_owned()),
        }
    }
}

/// The object form: one key, which names the form.
#[derive(Serialize)]
struct Granular<'a> {
    granular: &'a GranularApproval,
}

impl Serialize for ApprovalPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Untrusted => serializer.serialize_str("untrusted"),
            Self::OnRequest => serializer.serialize_str("on-request"),
            Self::Never => serializer.serialize_str("never"),
            Self::Granular(granular) => Granular { granular }.serialize(serializer),
            Self::Other(word) => serializer.serialize_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for ApprovalPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ApprovalPolicyVisitor)
    }
}

struct ApprovalPolicyVisitor;

impl<'de> Visitor<'de> for ApprovalPolicyVisitor {
    type Value = ApprovalPolicy;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an approval policy: a word or an object with one key")
    }

    fn visit_str<E>(self, word: &str) -> Result<ApprovalPolicy, E> {
        Ok(ApprovalPolicy::from(word))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ApprovalPolicy, A::Error> {
        let mut policy = ApprovalPolicy::Other(String::new());
        if let Some(word) = map.next_key::<String>()? {
            policy = if word == "granular" {
                let granular = map.next_value::<&'de RawValue>()?;
                ApprovalPolicy::Granular(lenient::message(granular).unwrap_or_default())
            } else {
                map.next_value::<IgnoredAny>()?;
                ApprovalPolicy::Other(word)
            };
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::{ApprovalPolicy, GranularApproval};

    fn read(wire: &str) -> ApprovalPolicy {
        serde_json::from_str(wire).unwrap()
    }

    #[test]
    fn a_policy_survives_the_wire() {
        let wires = [
            r#""untrusted""#,
            r#""on-request""#,
            r#""never""#,
            r#""on-failure""#,
            r#"{"granular":{"sandbox_approval":true,"rules":false,"skill_approval":true,"request_permissions":false,"mcp_elicitations":true}}"#,
        ];

        for wire in wires {
            assert_eq!(serde_json::to_string(&read(wire)).unwrap(), wire);
        }
    }

    #[test]
    fn unknown_forms_are_kept_by_name() {
        let rules = GranularApproval { rules: true, ..GranularApproval::default() };

        assert_eq!(
            [
                read(r#""brand-new""#),
                read(r#"{"layered":{"a":1}}"#),
                read(r#"{"granular":{"rules":true,"new":3}}"#),
            ],
            [
                ApprovalPolicy::Other("brand-new".into()),
                ApprovalPolicy::Other("layered".into()),
                ApprovalPolicy::Granular(rules),
            ]
        );
    }
}
