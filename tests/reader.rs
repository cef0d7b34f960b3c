//! A million arbitrary inputs for the reader. The fuzz target `fuzz/fuzz_targets/reader.rs` asks the same with coverage.

use ostler_testkit::reader;
use proptest::prelude::*;

/// Bytes that look like what Codex sends, so that the deeper code is reached as well.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..24),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(br#"{"method":"item/agentMessage/delta","params":{"delta":"x"}}"#.to_vec()),
        1 => Just(br#"{"id":1,"result":{}}"#.to_vec()),
        1 => Just(br#"{"id":"#.to_vec()),
        1 => Just("é\u{1F40E}".as_bytes().to_vec()),
        // WebSocket: a short text, the begin and the end of a message in parts, a ping, a length of 16 and of 64 bits.
        1 => Just(vec![0x81, 2, b'{', b'}']),
        1 => Just(vec![0x01, 1, b'{']),
        1 => Just(vec![0x80, 1, b'}']),
        1 => Just(vec![0x89, 1, b'?']),
        1 => Just(vec![0x82, 126, 0, 200]),
        1 => Just(vec![0x81, 127, 0, 0, 0, 0, 0, 0, 0x10, 0]),
    ]
}

#[test]
fn a_million_arbitrary_inputs() {
    let config =
        ProptestConfig { cases: 1_000_000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(pieces in prop::collection::vec(piece(), 0..6), cuts: u8)| {
        reader::check(&pieces.concat(), cuts);
    });
}
