//! How the tokens of well-known services begin.

/// A service's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenKind {
    pub begins: &'static str,
    /// What it is, for a sentence.
    pub what: &'static str,
    /// Names that are no tokens begin so, too, as `npm_config_registry` does.
    pub is_common: bool,
}

/// All that are known.
pub const TOKENS: [TokenKind; 31] = [
    kind("sk-", "an API key"),
    kind("sk_live_", "a Stripe key"),
    kind("rk_live_", "a Stripe key"),
    kind("whsec_", "a webhook secret"),
    kind("ghp_", "a GitHub token"),
    kind("gho_", "a GitHub token"),
    kind("ghu_", "a GitHub token"),
    kind("ghs_", "a GitHub token"),
    kind("ghr_", "a GitHub token"),
    kind("github_pat_", "a GitHub token"),
    kind("glpat-", "a GitLab token"),
    kind("dckr_pat_", "a Docker token"),
    kind("pypi-", "a PyPI token"),
    TokenKind { is_common: true, ..kind("npm_", "an npm token") },
    TokenKind { is_common: true, ..kind("hf_", "a Hugging Face token") },
    kind("xoxa-", "a Slack token"),
    kind("xoxb-", "a Slack token"),
    kind("xoxp-", "a Slack token"),
    kind("xoxr-", "a Slack token"),
    kind("xoxs-", "a Slack token"),
    kind("xapp-", "a Slack token"),
    kind("AKIA", "an AWS key"),
    kind("ASIA", "an AWS key"),
    kind("AIza", "a Google key"),
    kind("ya29.", "a Google token"),
    kind("SG.", "a SendGrid key"),
    kind("hvs.", "a Vault token"),
    kind("eyJ", "a signed token"),
    kind("dop_v1_", "a DigitalOcean token"),
    TokenKind { is_common: true, ..kind("gsk_", "a Groq key") },
    TokenKind { is_common: true, ..kind("ostler_", "a token of Ostler") },
];

/// Shorter words begin alike and are no tokens.
pub const SHORTEST_TOKEN_BYTES: usize = 16;

/// The kind of token that this word begins like.
pub fn begins_like(word: &str) -> Option<&'static TokenKind> {
    let first = word.as_bytes().first()?;
    // Most words end here, and every word of every text comes by.
    if !FIRST_LETTERS.contains(first) {
        return None;
    }
    TOKENS.iter().find(|kind| word.starts_with(kind.begins))
}

/// With which letters [`TOKENS`] begin.
const FIRST_LETTERS: &[u8] = b"srwgdpnhxAySeo";

/// Whether more letters could make it begin like a token.
pub fn may_begin(word: &str) -> bool {
    TOKENS.iter().any(|kind| kind.begins.starts_with(word))
}

/// Whether the word is long enough and not made of ordinary words: `sk-folding-cube-animation` is none.
pub fn looks_random(word: &str) -> bool {
    word.len() >= SHORTEST_TOKEN_BYTES
        && word.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

const fn kind(begins: &'static str, what: &'static str) -> TokenKind {
    TokenKind { begins, what, is_common: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_of_token_is_passed_over() {
        for kind in TOKENS {
            let word = format!("{}0123456789abcdefXYZ", kind.begins);
            assert_eq!(begins_like(&word).map(|found| found.what), Some(kind.what), "{word}");
            assert!(may_begin(&kind.begins[..1]) && looks_random(&word));
        }
        assert_eq!(begins_like("task-sk-0123456789abcdef"), None);
    }
}
