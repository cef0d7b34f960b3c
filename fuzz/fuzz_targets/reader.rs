//! Arbitrary bytes for the reader; what must hold is said in `ostler_testkit::reader`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (cuts, bytes) = input;
    ostler_testkit::reader::check(bytes, cuts);
});
