//! What secrets look like.

/// How each begins, how many characters must follow, and what it is.
const TOKENS: [(&str, usize, &str); 16] = [
    ("sk-", 20, "an API key"),
    ("ghp_", 20, "a GitHub token"),
    ("gho_", 20, "a GitHub token"),
    ("ghs_", 20, "a GitHub token"),
    ("ghu_", 20, "a GitHub token"),
    ("github_pat_", 20, "a GitHub token"),
    ("glpat-", 16, "a GitLab token"),
    ("xoxb-", 16, "a Slack token"),
    ("xoxp-", 16, "a Slack token"),
    ("xapp-", 16, "a Slack token"),
    ("AKIA", 16, "an AWS key"),
    ("ASIA", 16, "an AWS key"),
    ("AIza", 30, "a Google key"),
    ("npm_", 30, "an npm token"),
    ("hf_", 30, "a Hugging Face token"),
    ("eyJ", 60, "a signed token"),
];

/// Names whose value is a secret.
const NAMES: [&str; 7] =
    ["password", "passwd", "api_key", "apikey", "secret_key", "access_token", "client_secret"];
/// The shortest value that is taken for a real one. `password: changeme` is none.
const SHORTEST: usize = 12;

pub(super) fn find(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    let ends = |letter: char| letter.is_whitespace() || "\"'`,;()[]{}<>".contains(letter);
    for word in text.split(ends) {
        // After `KEY=`, and inside an address with `:` and `@`.
        for part in word.split(['=', ':', '@', '/']) {
            let found = TOKENS.iter().find(|(begins, least, _)| {
                part.strip_prefix(begins).is_some_and(|rest| is_random(rest, *least))
            });
            if let Some((_, _, what)) = found {
                return Some(what);
            }
        }
    }
    text.lines().find_map(|line| named(&line.to_lowercase()))
}

fn is_random(text: &str, least: usize) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    text.chars().count() >= least
        && text.chars().all(fits)
        && text.contains(|letter: char| letter.is_ascii_digit() || letter.is_ascii_uppercase())
}

/// `password = …` with a value of letters and digits.
fn named(line: &str) -> Option<&'static str> {
    for name in NAMES {
        let Some((_, rest)) = line.split_once(name) else { continue };
        let rest = rest.trim_start_matches(['"', '\'', ' ']);
        let Some(value) = rest.strip_prefix(['=', ':']) else { continue };
        let value = value.trim_start_matches(['"', '\'', ' ']);
        let value = value.split([' ', '"', '\'']).next().unwrap_or_default();
        let mixed = value.contains(|letter: char| letter.is_ascii_digit())
            && value.contains(|letter: char| letter.is_ascii_alphabetic());
        let is_place = value.starts_with(['$', '/', '~', '<', '{']);
        if value.chars().count() >= SHORTEST && mixed && !is_place {
            return Some("a password or key with its value");
        }
    }
    None
}
