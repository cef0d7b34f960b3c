use futures_util::FutureExt;

use super::{Lines, Listener, Overheard, WAITING_BYTES, WAITING_LINES};

/// All that is there, as text; what was lost as its number.
fn heard(listener: &mut Listener) -> Vec<String> {
    let next = || match listener.next().now_or_never()? {
        Overheard::Line(line) => Some(line.get().to_owned()),
        Overheard::Lost(lines) => Some(format!("lost {lines}")),
    };
    std::iter::from_fn(next).collect()
}

fn line(number: usize) -> String {
    format!(r#"{{"method":"m","params":{{"n":{number}}}}}"#)
}

#[test]
fn whoever_looks_hears_what_comes_while_they_look() {
    let lines = Lines::default();
    lines.tell(line(1).as_bytes());
    assert!(lines.lock().lines.is_empty(), "kept for nobody");
    let mut first = lines.listen();
    lines.tell(line(2).as_bytes());
    let mut second = lines.listen();
    lines.tell(line(3).as_bytes());
    assert_eq!(heard(&mut first), [line(2), line(3)]);
    assert_eq!(heard(&mut second), [line(3)]);
    drop((first, second));
    assert!(lines.lock().lines.is_empty() && !lines.are_heard());
    let mut third = lines.listen();
    lines.tell(line(4).as_bytes());
    assert_eq!(heard(&mut third), [line(4)]);
}

#[test]
fn whoever_is_too_slow_loses_the_oldest_and_is_told_how_many() {
    let lines = Lines::default();
    let (mut slow, mut well) = (lines.listen(), lines.listen());
    for number in 0..WAITING_LINES + 5 {
        lines.tell(line(number).as_bytes());
        assert_eq!(heard(&mut well), [line(number)]);
    }
    let heard = heard(&mut slow);
    assert_eq!((heard.len(), heard[0].as_str()), (WAITING_LINES + 1, "lost 5"));
    assert_eq!(heard[1..], (5..WAITING_LINES + 5).map(line).collect::<Vec<_>>());
}

#[test]
fn long_lines_are_bounded_by_their_bytes_and_one_passes_alone() {
    let lines = Lines::default();
    let mut listener = lines.listen();
    let long = |bytes: usize| format!(r#""{}""#, "x".repeat(bytes));
    for bytes in [WAITING_BYTES / 2, WAITING_BYTES / 2, 10, WAITING_BYTES + 1] {
        lines.tell(long(bytes).as_bytes());
        let waiting = lines.lock();
        let bytes: usize = waiting.lines.iter().map(|line| line.get().len()).sum();
        assert_eq!(waiting.bytes, bytes);
        assert!(waiting.bytes <= WAITING_BYTES || waiting.lines.len() == 1);
    }
    assert_eq!(heard(&mut listener), ["lost 3".to_owned(), long(WAITING_BYTES + 1)]);
}

#[tokio::test]
async fn whoever_waits_is_woken() {
    let lines = Lines::default();
    let mut listener = lines.listen();
    let waits = tokio::spawn(async move { listener.next().await });
    tokio::task::yield_now().await;
    lines.tell(line(1).as_bytes());
    assert!(matches!(waits.await.unwrap(), Overheard::Line(it) if it.get() == line(1)));
}

#[test]
fn what_was_typed_as_a_secret_is_hidden() {
    let lines = Lines::default();
    lines.hide("open sesame");
    let mut listener = lines.listen();
    lines.tell(br#"{"method":"m","params":{"said":"open sesame"}}"#);
    assert_eq!(heard(&mut listener), ["{\"method\":\"m\",\"params\":{\"said\":\"‹redacted›\"}}"]);
}
