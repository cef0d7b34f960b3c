//! Rules for connections and for tools.

use ostler_model::ask::{ElicitationAsk, ElicitationWant};
use ostler_model::policy::{HostPattern, Matcher};
use ostler_model::{Ask, AskKind};

use crate::rig::{FITS, MISSES, UNCLEAR, ask, connection, host, reach};

#[test]
fn a_host_is_that_host() {
    for (pattern, asked, reached) in [
        ("example.com", "example.com", FITS),
        ("example.com", "EXAMPLE.com.", FITS),
        ("Example.Com.", "example.com", FITS),
        ("example.com", "a.example.com", MISSES),
        ("example.com", "example.com.evil.org", MISSES),
        ("example.com", "badexample.com", MISSES),
        ("example.com", "example.com:8080", MISSES),
        ("*.example.com", "a.example.com", FITS),
        ("*.example.com", "a.b.EXAMPLE.com", FITS),
        ("*.example.com", "example.com", MISSES),
        ("*.example.com", ".example.com", UNCLEAR),
        ("*.example.com", "badexample.com", MISSES),
        ("*.example.com", "a.example.com.evil.org", MISSES),
        ("*.example.com", "evil.org/.example.com", UNCLEAR),
        ("*.example.com", "evil.org\0.example.com", UNCLEAR),
        ("*.example.com", "evil.org@a.example.com", UNCLEAR),
        ("127.0.0.1", "127.0.0.1", FITS),
        ("[::1]", "[::1]", FITS),
        ("localhost", "localhost", FITS),
        ("example.com", "", UNCLEAR),
        ("example.com", "example.com..", UNCLEAR),
    ] {
        assert_eq!(reach(&host(pattern), &connection(asked)), reached, "{pattern} {asked:?}");
    }
}

#[test]
fn only_hosts_and_domains_make_patterns() {
    for text in [
        "",
        "*",
        "*.",
        "*.com",
        "*.0.0.1",
        "a.*.com",
        "*a.example.com",
        "a b",
        "http://a.com",
        ".a.com",
        "*..a.com",
        "ä.com",
    ] {
        HostPattern::try_from(text.to_owned()).unwrap_err();
    }
}

fn approval(server: &str, tool: Option<&str>) -> Ask {
    let want = ElicitationWant::ToolApproval {
        tool: tool.map(str::to_owned),
        description: None,
        arguments: None,
    };
    ask(AskKind::Elicitation(ElicitationAsk {
        server: server.into(),
        message: String::new(),
        want,
    }))
}

#[test]
fn a_tool_is_that_tool_of_that_server() {
    let write = Matcher::Tool { server: "tiny".into(), tool: "write".into() };
    assert_eq!(reach(&write, &approval("tiny", Some("write"))), FITS);
    assert_eq!(reach(&write, &approval("tiny", Some("read"))), MISSES);
    assert_eq!(reach(&write, &approval("other", Some("write"))), MISSES);
    assert_eq!(reach(&write, &approval("tiny", None)), UNCLEAR);
    assert_eq!(reach(&write, &approval("other", None)), MISSES);
    let url = ElicitationWant::Url("https://a".into());
    let url = ElicitationAsk { server: "tiny".into(), message: String::new(), want: url };
    assert_eq!(reach(&write, &ask(AskKind::Elicitation(url))), MISSES);
}
