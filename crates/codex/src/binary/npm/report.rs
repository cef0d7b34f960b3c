//! What npm says when it fails, made short enough to repeat.

use std::fmt;
use std::process::ExitStatus;

/// How many lines of npm's own words a person is shown. The reason is in the first few of its error lines.
const SHOWN_LINES: usize = 8;

/// Why npm failed, by the code in its own report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NpmFailure {
    /// `E404`, `ETARGET`: the registry does not have it.
    NotPublished,
    /// The registry could not be reached.
    Unreachable {
        code: String,
    },
    /// `ENOSPC`, `EDQUOT`.
    DiskFull,
    /// `EINTEGRITY`: what came is not what was published.
    Corrupted,
    /// `E401`, `E403`: the registry wants a login, or refuses ours.
    Refused {
        code: String,
    },
    Other {
        status: String,
    },
}

impl NpmFailure {
    pub(super) fn read(stderr: &str, status: ExitStatus) -> Self {
        let code = stderr
            .lines()
            .filter_map(error_text)
            .find_map(|text| text.strip_prefix("code "))
            .map(str::trim);
        match code {
            Some("E404" | "ETARGET" | "ENOVERSIONS") => Self::NotPublished,
            Some("ENOSPC" | "EDQUOT") => Self::DiskFull,
            Some("EINTEGRITY") => Self::Corrupted,
            Some(code @ ("E401" | "E403" | "ENEEDAUTH")) => Self::Refused { code: code.to_owned() },
            Some(code) if is_network(code) => Self::Unreachable { code: code.to_owned() },
            // npm sometimes reports a full disk only in its words, with the code of the first symptom.
            _ if stderr.contains("ENOSPC") => Self::DiskFull,
            _ => Self::Other { status: status.to_string() },
        }
    }
}

impl fmt::Display for NpmFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPublished => {
                formatter.write_str("the npm registry does not have this version")
            }
            Self::Unreachable { code } => write!(
                formatter,
                "the npm registry cannot be reached ({code}); look at the network, the proxy and npm's settings"
            ),
            Self::DiskFull => formatter.write_str("the disk is full; make room and try again"),
            Self::Corrupted => formatter.write_str(
                "the package does not match its published checksum; run `npm cache verify` and try again",
            ),
            Self::Refused { code } => write!(
                formatter,
                "the npm registry refused us ({code}); look at npm's login settings"
            ),
            Self::Other { status } => write!(formatter, "npm failed ({status})"),
        }
    }
}

/// The lines worth repeating: npm's error lines if it marked any, without the stack, or the last lines as they are.
pub(super) fn tail(stderr: &str) -> String {
    let marked: Vec<&str> = stderr
        .lines()
        .filter_map(error_text)
        .filter(|text| !text.trim().is_empty() && !is_stack(text))
        .collect();
    let lines: Vec<&str> = if marked.is_empty() {
        let all: Vec<&str> = stderr.lines().filter(|line| !line.is_empty()).collect();
        let skipped = all.len().saturating_sub(SHOWN_LINES);
        all.into_iter().skip(skipped).collect()
    } else {
        marked.into_iter().take(SHOWN_LINES).collect()
    };
    let hidden: Vec<String> = lines.into_iter().map(hide_passwords).collect();
    hidden.join("\n")
}

/// The attachment to an error message: each line indented below it.
pub(super) fn attached(tail: &str) -> String {
    tail.lines().map(|line| format!("\n  npm: {line}")).collect()
}

fn error_text(line: &str) -> Option<&str> {
    // Since npm 10 the mark is `npm error`; before, it was `npm ERR!`.
    line.strip_prefix("npm error")
        .or_else(|| line.strip_prefix("npm ERR!"))
        .map(|text| text.strip_prefix(' ').unwrap_or(text))
}

/// Stack frames and the fields of the error object behind them are indented; the object ends with a brace.
fn is_stack(text: &str) -> bool {
    text.starts_with("  ") || text == "}"
}

fn is_network(code: &str) -> bool {
    let known = [
        "ENOTFOUND",
        "EAI_AGAIN",
        "EAI_FAIL",
        "ENETUNREACH",
        "EHOSTUNREACH",
        "ETIMEDOUT",
        "ENOTCACHED",
        "EPIPE",
        "EPROTO",
        "FETCH_ERROR",
        "CERT_HAS_EXPIRED",
        "SELF_SIGNED_CERT_IN_CHAIN",
        "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
        "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        "DEPTH_ZERO_SELF_SIGNED_CERT",
    ];
    let families = ["ECONN", "ERR_SOCKET", "ERR_TLS", "E50", "ERR_INVALID_URL"];
    known.contains(&code) || families.iter().any(|family| code.starts_with(family))
}

/// A registry address may carry a login (`https://name:password@host`); npm hides most of them, we hide the rest.
fn hide_passwords(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after
            .find(|character: char| character == '/' || character.is_whitespace())
            .unwrap_or(after.len());
        let (authority, following) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                shown.push_str("***@");
                shown.push_str(host);
            }
            None => shown.push_str(authority),
        }
        rest = following;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// Reports are copied from npm 11 and npm 8, without the paths of the machine they were made on.
    #[test]
    fn failures_are_named_by_npms_code() {
        let code = |code: &str| code.to_owned();
        for (stderr, expected) in [
            (
                "npm warn Unknown user config \"nodedir\".\nnpm error code ETARGET\nnpm error notarget No matching version",
                NpmFailure::NotPublished,
            ),
            ("npm ERR! code E404\nnpm ERR! 404 Not Found", NpmFailure::NotPublished),
            (
                "npm error code ECONNREFUSED\nnpm error syscall connect",
                NpmFailure::Unreachable { code: code("ECONNREFUSED") },
            ),
            ("npm error code E503\n", NpmFailure::Unreachable { code: code("E503") }),
            ("npm error code ENOSPC\nnpm error syscall write", NpmFailure::DiskFull),
            (
                "npm error code TAR_ENTRY_ERROR\nnpm error ENOSPC: no space left on device, write",
                NpmFailure::DiskFull,
            ),
            ("npm error code EINTEGRITY\n", NpmFailure::Corrupted),
            ("npm error code E401\n", NpmFailure::Refused { code: code("E401") }),
            ("sh: 1: node: not found\n", NpmFailure::Other { status: "exit status: 1".to_owned() }),
        ] {
            let status = ExitStatus::from_raw(1 << 8);
            assert_eq!(NpmFailure::read(stderr, status), expected, "{stderr:?}");
        }
    }

    #[test]
    fn the_tail_has_the_reason_and_no_password() {
        let stderr = "npm warn old\nnpm error code E500\nnpm error request to \
            https://me:secret@example.test/pkg failed\nnpm error     at ClientRequest.<anonymous> (x.js:1) {\nnpm error   code: 'E500'\nnpm error }\nnpm error\n";
        assert_eq!(tail(stderr), "code E500\nrequest to https://***@example.test/pkg failed");
        assert_eq!(tail("one\n\ntwo\n"), "one\ntwo");
        assert_eq!(attached("one\ntwo"), "\n  npm: one\n  npm: two");
    }
}
