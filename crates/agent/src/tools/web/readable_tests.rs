//! Small pages and what is read of them.

use std::time::{Duration, Instant};

use reqwest::Url;

use super::{Readable, readable};

fn read(html: &str) -> Readable {
    let base = Url::parse("https://stable.example/horses/").unwrap();
    readable(html, &base, Instant::now() + Duration::from_secs(30)).unwrap()
}

fn text(html: &str) -> String {
    read(html).text
}

#[test]
fn the_main_part_is_read_and_what_stands_around_it_is_not() {
    let article =
        "The mare was fed at dawn, and again at noon, because the road was long. ".repeat(4);
    let page = format!(
        "<!doctype html><title> The  inn\n log </title><nav><a href=/>Home</a></nav>\
         <header class='nav-bar'>Log in</header><main><h1>Day one</h1><p>{article}</p></main>\
         <aside>Buy oats</aside><footer>© inn</footer><script>alert('x')</script>"
    );
    let found = read(&page);
    assert_eq!(found.title, "The inn log");
    assert_eq!(found.text, format!("# Day one\n\n{}", article.trim()));
}

#[test]
fn marks_of_markdown_say_what_the_page_shows() {
    let cases = [
        ("<p>one<p>two", "one\n\ntwo"),
        ("<h2>A <em>b</em></h2>c", "## A *b*\n\nc"),
        (
            "<p>go <a href='../barn?x=1#y'>to the\n barn</a>.</p>",
            "go [to the barn](https://stable.example/barn?x=1#y).",
        ),
        ("<a href='javascript:x()'>press</a> <a href='#top'>up</a>", "press up"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c"),
        ("<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b"),
        ("a<br>b", "a\nb"),
        ("<pre>  x\n    y</pre>", "```\n  x\n    y\n```"),
        ("use <code>ls -l</code> <b>now</b>", "use `ls -l` **now**"),
        ("<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b"),
        (
            "<table><tr><th>horse<th>age<tr><td>Bess<td>7|8</table>",
            "| horse | age |\n|---|---|\n| Bess | 7\\|8 |",
        ),
        (
            "<img src=a.png alt='A mare'><img src=b.png>",
            "![A mare](https://stable.example/horses/a.png)",
        ),
        ("<base href='/x/'><a href=y>z</a>", "[z](https://stable.example/x/y)"),
        ("<p hidden>no</p><p style='display: none'>no</p><p aria-hidden=true>no</p>yes", "yes"),
        ("<div class='cookie-banner'>Accept</div><div class=navigate>yes</div>", "yes"),
        ("<dl><dt>oats<dd>food</dl>", "**oats**\n\n: food"),
        ("a &amp; b &lt;c&gt; &eacute;&nbsp;d", "a & b <c> é d"),
        ("<a href=/x><div>box</div></a>", "box"),
    ];
    for (html, wanted) in cases {
        assert_eq!(text(html), wanted, "{html}");
    }
}

#[test]
fn broken_pages_are_read_as_browsers_read_them() {
    let cases = [
        ("<p>one<b>two<p>three</b>four", "one**two**\n\n**three**four"),
        ("<table><tr><td>a</td></tr>out</table>", "out\n\na"),
        ("</p></div>a<span>b", "ab"),
        ("text only", "text only"),
        ("", ""),
        ("<template><p>no</p></template>yes", "yes"),
    ];
    for (html, wanted) in cases {
        assert_eq!(text(html), wanted, "{html}");
    }
}

#[test]
fn a_frame_that_scripts_would_fill_does_not_hide_the_rest() {
    let story = "It rained all night and the road was gone by the morning. ".repeat(10);
    let page = format!("<main></main><div><p>{story}</p></div>");
    assert_eq!(text(&page), story.trim());
}

#[test]
fn deep_pages_and_slow_pages_end() {
    let deep = format!("{}bottom", "<div>".repeat(2_000));
    assert_eq!(text(&deep), "bottom");
    let base = Url::parse("https://stable.example/").unwrap();
    assert_eq!(readable("<p>x", &base, Instant::now()), None);
}
