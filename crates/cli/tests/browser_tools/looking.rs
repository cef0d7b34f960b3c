//! What is found out about a page.

use serde_json::json;

use crate::inn::{Inn, named};

const PAGES: &[(&str, &str)] = &[
    (
        "/",
        "<title>Inn</title><img src=/mare.svg alt='A mare'><img src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=' alt=dot>
        <script>console.log('hay', 7, {a: 1}); console.error('no oats'); setTimeout(() => { throw new Error('colic') })</script>
        <button onclick=\"alert('fed')\">Feed</button>
        <button onclick=\"document.title = confirm('sell?') + ' ' + prompt('price?')\">Sell</button>
        <iframe src=/frame title=Paddock></iframe>",
    ),
    ("/frame", "<button>Inside</button>"),
    (
        "/mare.svg",
        "HTTP/1.1 200 OK\ncontent-type: image/svg+xml\n\n<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'/>",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_console_is_heard_and_expressions_have_values() {
    let inn = Inn::new(PAGES).await;
    inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let console = inn.said("browser_console", json!({ "clear": true })).await;
    for line in ["[log] hay 7 Object", "[error] no oats", "[error] Error: colic"] {
        assert!(console.lines().any(|it| it.starts_with(line)), "{line}: {console}");
    }
    let cases = [
        ("1 + 1", "result: 2\nconsole:\n(nothing)\n"),
        ("document.title", "result: Inn\nconsole:\n(nothing)\n"),
        (
            "Promise.resolve({ horses: [1, 2] })",
            "result: {\n  \"horses\": [\n    1,\n    2\n  ]\n}\nconsole:\n(nothing)\n",
        ),
        ("let mare = 'Bess'; mare", "result: Bess\nconsole:\n(nothing)\n"),
        ("(await Promise.resolve(7)) + 1", "result: 8\nconsole:\n(nothing)\n"),
        ("undefined", "result: undefined\nconsole:\n(nothing)\n"),
        ("console.info('seen')", "result: undefined\nconsole:\n[info] seen\n"),
    ];
    for (expression, wanted) in cases {
        let said = inn.said("browser_console", json!({ "expression": expression })).await;
        assert_eq!(said, wanted, "{expression}");
    }
    let wrong = inn.failed("browser_console", json!({ "expression": "nobody.home" })).await;
    assert!(wrong.starts_with("ReferenceError: nobody is not defined"), "{wrong}");
    let long = inn.said("browser_console", json!({ "expression": "'x'.repeat(50000)" })).await;
    assert!(long.contains("[… cut after 20000 characters …]"), "{}", long.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn images_frames_and_dialogs_are_told() {
    let inn = Inn::new(PAGES).await;
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert_eq!(
        inn.said("browser_get_images", json!({})).await,
        format!(
            "- {} (40×30) \"A mare\"\n- data:image/gif;base64,… (1×1) \"dot\"",
            inn.url("/mare.svg")
        )
    );
    assert!(seen.contains("- frame:\n  - button \"Inside\" @e"), "{seen}");

    let feed = named(&seen, "- button \"Feed\"");
    let fed = inn.said("browser_click", json!({ "ref": feed })).await;
    let note = "note: the page showed a dialog (alert), which was accepted: \"fed\"\n";
    assert!(fed.ends_with(note), "{fed}");
    let sell = named(&seen, "- button \"Sell\"");
    let sold = inn.said("browser_click", json!({ "ref": sell })).await;
    assert!(sold.contains("title: false null\n"), "a no to both: {sold}");
    assert!(sold.contains("dialog (confirm), which was dismissed: \"sell?\""), "{sold}");
    assert!(sold.contains("dialog (prompt), which was dismissed: \"price?\""), "{sold}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_shown_the_page() {
    let inn = Inn::new(PAGES).await;
    inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let plain = inn.said("browser_vision", json!({ "question": "what is it?" })).await;
    let path = plain.strip_prefix("a stable\n\npicture: ").unwrap();
    assert!(std::fs::read(path).unwrap().starts_with(b"\x89PNG"), "{plain}");
    let marked =
        inn.said("browser_vision", json!({ "question": "which?", "annotate": true })).await;
    assert!(
        marked.contains("\n\nelements on the picture:\n@e") && marked.contains(" button \"Feed\""),
        "{marked}"
    );

    let asked = inn.eyes.asked.lock().unwrap().clone();
    let pictures: Vec<&str> = asked.iter().map(|it| it.history[0].images[0].as_str()).collect();
    assert!(pictures.iter().all(|it| it.starts_with("data:image/png;base64,")));
    assert_ne!(pictures[0], pictures[1], "the second one has frames on it");
    let text = asked[1].history[0].message.content.as_deref().unwrap();
    assert!(text.starts_with("which?\n\nThe numbers in red on the picture mean:\n@e"), "{text}");
    let left = "document.getElementById('ostler-marks')";
    let left = inn.said("browser_console", json!({ "expression": left })).await;
    assert!(left.starts_with("result: null\n"), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_page_a_call_says_how_to_open_one() {
    let inn = Inn::new(PAGES).await;
    for (tool, arguments) in [
        ("browser_snapshot", json!({})),
        ("browser_click", json!({ "ref": "@e1" })),
        ("browser_vision", json!({ "question": "?" })),
    ] {
        let said = inn.failed(tool, arguments).await;
        assert_eq!(said, "no page is open; open one with `browser_navigate`");
    }
    assert_eq!(inn.processes(), Vec::<i32>::new(), "no browser was started for that");
    let missing = inn.said("browser_navigate", json!({ "url": inn.url("/nowhere") })).await;
    assert!(missing.contains("the server answered 404\n"), "{missing}");
}
