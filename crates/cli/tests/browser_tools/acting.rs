//! Mouse and keyboard.

use serde_json::json;

use crate::inn::{Inn, named};

const PAGES: &[(&str, &str)] = &[
    (
        "/",
        "<title>Inn</title><h1>Rooms</h1>
        <form action=/booked><label>Name <input name=who value=old></label>
        <label><input type=checkbox name=oats> Oats</label>
        <select name=stall aria-label=Stall><option>left<option value=r>right</select>
        <label>Day <input type=date name=day></label>
        <textarea aria-label=Wishes></textarea>
        <div contenteditable aria-label=Note role=textbox>x</div>
        <button type=button disabled>Never</button><button>Book</button></form>
        <button onclick=\"document.querySelector('#log').textContent += 'pressed '\">Add</button><p id=log role=status></p>
        <a href=/long>Long page</a> <a href=/new target=_blank>New window</a>
        <button onclick=\"this.after(document.createElement('hr'), Object.assign(document.createElement('button'), { textContent: 'Born' }))\">Grow</button>",
    ),
    ("/booked", "<title>Booked</title><p>Thank you."),
    ("/new", "<title>New</title><a href=/>Home</a>"),
    (
        "/long",
        "<title>Long</title><div style='height:5000px'>top</div><p>bottom
        <script>addEventListener('keydown', e => document.title += ' ' + (e.ctrlKey ? 'Control+' : '') + e.key)</script>",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_filled_in_and_sent() {
    let inn = Inn::new(PAGES).await;
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert!(seen.starts_with(&format!("url: {}\ntitle: Inn\n", inn.url("/"))), "{seen}");
    assert!(seen.contains("- heading \"Rooms\" [level=1]"), "{seen}");

    let name = named(&seen, "- textbox \"Name\"");
    let typed = inn.said("browser_type", json!({ "ref": name, "text": "Ada & Bess" })).await;
    assert!(typed.starts_with(&format!("typed into {name} (textbox \"Name\")\n")), "{typed}");
    let oats = named(&seen, "- checkbox \"Oats\"");
    inn.said("browser_click", json!({ "ref": oats })).await;
    let right = named(&seen, "- option \"right\"");
    let chose = inn.said("browser_click", json!({ "ref": right })).await;
    assert!(chose.starts_with(&format!("chose {right}")), "{chose}");
    let day = named(&seen, "- Date \"Day\"");
    inn.said("browser_type", json!({ "ref": day, "text": "2030-01-31" })).await;
    let note = named(&seen, "- textbox \"Note\"");
    inn.said("browser_type", json!({ "ref": note, "text": "no hay" })).await;

    let seen = inn.said("browser_snapshot", json!({})).await;
    assert!(seen.contains(&format!("- textbox \"Name\" {name}: Ada & Bess")), "{seen}");
    assert!(seen.contains(&format!("- checkbox \"Oats\" {oats} [checked]")), "{seen}");
    assert!(seen.contains(&format!("\"Note\" {note}")) && seen.contains("no hay"), "{seen}");

    let never = named(&seen, "- button \"Never\"");
    let refused = inn.failed("browser_click", json!({ "ref": never })).await;
    assert_eq!(refused, format!("{never} (button \"Never\") is disabled"));
    let refused = inn.failed("browser_type", json!({ "ref": oats, "text": "x" })).await;
    assert!(refused.ends_with("it takes no text"), "{refused}");

    let book = named(&seen, "- button \"Book\"");
    let booked = inn.said("browser_click", json!({ "ref": book })).await;
    let wanted = inn.url("/booked?who=Ada+%26+Bess&oats=on&stall=r&day=2030-01-31");
    assert_eq!(booked, format!("clicked {book} (button \"Book\")\nurl: {wanted}\ntitle: Booked\n"));
    let stale = inn.failed("browser_click", json!({ "ref": book })).await;
    assert!(
        stale.starts_with(&format!("there is no element {book}; names are those of")),
        "{stale}"
    );

    let back = inn.said("browser_back", json!({})).await;
    assert!(back.starts_with(&format!("went back\nurl: {}\ntitle: Inn\n", inn.url("/"))), "{back}");
    let none = inn.failed("browser_back", json!({})).await;
    assert_eq!(none, "there is no page before this one");
}

#[tokio::test(flavor = "multi_thread")]
async fn enter_in_a_field_sends_its_form_and_keys_reach_the_page() {
    let inn = Inn::new(PAGES).await;
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let name = named(&seen, "- textbox \"Name\"");
    inn.said("browser_type", json!({ "ref": name, "text": "Ada" })).await;
    inn.said("browser_press", json!({ "key": "Control+A" })).await;
    inn.said("browser_press", json!({ "key": "B" })).await;
    let sent = inn.said("browser_press", json!({ "key": "Enter" })).await;
    assert!(sent.starts_with("pressed Enter\n") && sent.contains("/booked?who=B&"), "{sent}");

    inn.said("browser_navigate", json!({ "url": inn.url("/long") })).await;
    inn.said("browser_press", json!({ "key": "Control+k" })).await;
    let pressed = inn.said("browser_press", json!({ "key": "ArrowDown" })).await;
    assert!(pressed.contains("title: Long Control+k ArrowDown\n"), "{pressed}");
    let wrong = inn.failed("browser_press", json!({ "key": "Hyper+x" })).await;
    assert!(wrong.starts_with("there is no key \"Hyper+x\""), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_scrolls_to_its_end_and_back() {
    let inn = Inn::new(PAGES).await;
    inn.said("browser_navigate", json!({ "url": inn.url("/long") })).await;
    let place = |said: &str| -> (u32, u32) {
        let at = said.split("now at ").nth(1).unwrap().split(" pixels").next().unwrap();
        let (at, end) = at.split_once(" of ").unwrap();
        (at.parse().unwrap(), end.parse().unwrap())
    };
    let (mut at, mut end) = (0, 1);
    let mut steps = 0;
    while at < end && steps < 20 {
        let said = inn.said("browser_scroll", json!({ "direction": "down" })).await;
        assert!(place(&said).0 > at, "{said}");
        (at, end) = place(&said);
        steps += 1;
    }
    assert_eq!(at, end);
    assert!(steps > 3 && end > 3000, "{steps} steps to {end}");
    let said = inn.said("browser_scroll", json!({ "direction": "up" })).await;
    assert!(said.starts_with("scrolled up") && place(&said).0 < end, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_after_a_change_shows_it_and_keeps_the_names() {
    let inn = Inn::new(PAGES).await;
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let (grow, add) = (named(&seen, "- button \"Grow\""), named(&seen, "- button \"Add\""));
    inn.said("browser_click", json!({ "ref": grow })).await;
    inn.said("browser_click", json!({ "ref": add })).await;
    inn.said("browser_click", json!({ "ref": add.trim_start_matches('@') })).await;

    let full = inn.said("browser_snapshot", json!({ "full": true })).await;
    assert!(full.contains("pressed pressed"), "{full}");
    assert_eq!(named(&full, "- button \"Grow\""), grow);
    assert_eq!(named(&full, "- button \"Add\""), add);
    let born = named(&full, "- button \"Born\"");
    assert!(![grow, add].contains(&born), "{full}");
    assert!(!inn.said("browser_snapshot", json!({})).await.contains("Long page\n- Long"), "short");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_a_page_opens_is_looked_at() {
    let inn = Inn::new(PAGES).await;
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    let link = named(&seen, "- link \"New window\"");
    let clicked = inn.said("browser_click", json!({ "ref": link })).await;
    let now = inn.said("browser_snapshot", json!({})).await;
    let both = format!("{clicked}{now}");
    assert!(both.contains("note: the page has opened another, which is looked at now"), "{both}");
    assert!(now.contains("title: New\n") && now.contains("- link \"Home\""), "{now}");
}
