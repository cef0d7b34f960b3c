//! What is refused, however it is spelled.

use std::net::IpAddr;
use std::sync::Arc;

use rstest::rstest;

use super::{Guard, Lookup, Refused};

fn answering(addresses: &[&str]) -> Lookup {
    let addresses: Vec<IpAddr> = addresses.iter().map(|it| it.parse().unwrap()).collect();
    Arc::new(move |_| {
        let addresses = addresses.clone();
        Box::pin(async move { Ok(addresses) })
    })
}

fn guard(allowed: &[&str], lookup: Lookup) -> Guard {
    let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
    Guard::with_lookup(&allowed, lookup)
}

#[rstest]
#[case::plain("http://127.0.0.1/")]
#[case::short("http://127.1/")]
#[case::decimal("http://2130706433/")]
#[case::octal("http://0177.0.0.1/")]
#[case::all_octal("http://017700000001/")]
#[case::hexadecimal("http://0x7f000001/")]
#[case::mixed("http://0x7f.0.0.0x1/")]
#[case::zero("http://0/")]
#[case::trailing_dot("http://127.0.0.1./")]
#[case::wide_digits("http://①②⑦.⓪.⓪.①/")]
#[case::percent("http://%31%32%37.0.0.1/")]
#[case::metadata("http://169.254.169.254/latest/meta-data/")]
#[case::metadata_decimal("http://2852039166/")]
#[case::six("http://[::1]/")]
#[case::mapped("http://[::ffff:127.0.0.1]/")]
#[case::mapped_hexadecimal("http://[::ffff:7f00:1]/")]
#[case::nat64("http://[64:ff9b::7f00:1]/")]
#[case::long("http://[0000:0000:0000:0000:0000:0000:0000:0001]/")]
fn every_spelling_of_a_private_address_is_refused(#[case] url: &str) {
    let guard = guard(&[], answering(&[]));
    assert!(matches!(guard.parse(url), Err(Refused::NotPublic { .. })), "{:?}", guard.parse(url));
}

#[rstest]
#[case("file:///etc/passwd", Refused::Scheme("file".into()))]
#[case("ftp://example.org/", Refused::Scheme("ftp".into()))]
#[case("gopher://127.0.0.1:6379/_x", Refused::Scheme("gopher".into()))]
#[case("javascript:alert(1)", Refused::Scheme("javascript".into()))]
#[case("data:text/html,x", Refused::Scheme("data".into()))]
#[case("chrome://version", Refused::Scheme("chrome".into()))]
#[case("view-source:http://example.org/", Refused::Scheme("view-source".into()))]
#[case("http://me:secret@example.org/", Refused::Credentials)]
#[case("example.org", Refused::NoUrl("example.org".into()))]
#[case("http://", Refused::NoUrl("http://".into()))]
fn only_plain_web_addresses_are_taken(#[case] url: &str, #[case] refused: Refused) {
    assert_eq!(guard(&[], answering(&[])).parse(url), Err(refused));
}

#[tokio::test]
async fn a_name_is_judged_by_every_address_behind_it() {
    let cases: [(&[&str], bool); 4] = [
        (&["93.184.216.34"], true),
        (&["93.184.216.34", "10.0.0.1"], false),
        (&["2606:4700::1111", "::1"], false),
        (&["::ffff:192.168.0.1"], false),
    ];
    for (addresses, may) in cases {
        let guard = guard(&[], answering(addresses));
        let url = guard.parse("https://example.org/").unwrap();
        let found = guard.addresses_of(&url).await;
        assert_eq!(found.is_ok(), may, "{addresses:?}: {found:?}");
    }
    let nowhere = guard(&[], answering(&[]));
    let url = nowhere.parse("https://nowhere.example/").unwrap();
    let refused = nowhere.addresses_of(&url).await.unwrap_err();
    assert_eq!(refused.to_string(), "nowhere.example is not known: it has no address");
}

#[tokio::test]
async fn what_the_operator_names_may_be_private_and_nothing_beside_it() {
    let guard = guard(&["Intra.example", "localhost:8080", "[::1]:9"], answering(&["10.1.2.3"]));
    let allowed = ["http://intra.example/", "http://INTRA.example.:9/", "http://localhost:8080/"];
    for url in allowed {
        let url = guard.parse(url).unwrap();
        assert!(guard.addresses_of(&url).await.is_ok(), "{url}");
    }
    assert!(guard.parse("http://[::1]:9/").is_ok());
    for url in ["http://localhost/", "http://other.intra.example/", "http://xintra.example/"] {
        let url = guard.parse(url).unwrap();
        assert!(guard.addresses_of(&url).await.is_err(), "{url}");
    }
    for url in ["http://[::1]:10/", "http://10.1.2.3/"] {
        assert!(guard.parse(url).is_err(), "{url}");
    }
}

#[tokio::test]
async fn a_refusal_says_what_can_be_done() {
    let guard = guard(&[], answering(&["192.168.7.7"]));
    let refused = guard.addresses("printer.example", 80).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "printer.example is refused: 192.168.7.7 is a private network, and only the public internet is fetched. If the user \
         wants it, they name printer.example in allowed_hosts of [web] in Ostler's config.toml"
    );
}
