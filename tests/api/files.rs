//! Files up and down, and no way out of where they may be.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use crate::caller::{Caller, NEWEST, world};
use crate::{PROMPT, text};

#[test]
fn files_go_up_and_down_and_nowhere_else() {
    let world = world(NEWEST, vec![text("Done.")]);
    let task = world.json(&["start", PROMPT])["task"]["id"].as_str().unwrap().to_owned();
    let caller = Caller::of(&world);
    let path = |rest: &str| format!("/v1/tasks/{task}/files{rest}");
    let up =
        |name: &str, bytes: &[u8]| caller.call("POST", &path(&format!("?name={name}")), &[], bytes);
    let first = up("a%20picture.png", b"\x89PNG\0\xff").json();
    assert_eq!((&first["name"], &first["bytes"]), (&json!("a picture.png"), &json!(6)));
    // A second one of the name is another one, and folders are no part of a name.
    let second = up("..%2F..%2Fa%20picture.png", b"other").json();
    assert_eq!(second["name"], "a picture (2).png");
    let stored = first["path"].as_str().unwrap();
    assert!(stored.starts_with(world.path("o/state/files").to_str().unwrap()), "{stored}");
    assert_eq!(fs::read(stored).unwrap(), b"\x89PNG\0\xff");
    for name in ["", "..", ".hidden", "a%0d%0ab"] {
        assert_eq!(up(name, b"x").status, 400, "{name:?}");
    }
    let listed = caller.get(&path(""));
    assert_eq!(listed["files"].as_array().unwrap().len(), 2);
    let half = fs::read_dir(world.path("o/state/files").join(&task)).unwrap().count();
    assert_eq!(half, 2, "nothing unfinished stays");

    let inn = world.path("inn");
    fs::create_dir(inn.join("sub")).unwrap();
    fs::write(inn.join("sub/<b> \"ü\".html"), "<script>alert(1)</script>").unwrap();
    fs::write(world.path("secret"), "s").unwrap();
    symlink(world.path("secret"), inn.join("link")).unwrap();
    let down = |rest: &str| caller.call("GET", &path(rest), &[], b"");
    let page = down("/sub/%3Cb%3E%20%22%C3%BC%22.html");
    assert_eq!((page.status, page.body.as_slice()), (200, b"<script>alert(1)</script>".as_slice()));
    assert_eq!(page.header("content-type"), Some("application/octet-stream"));
    let disposition =
        "attachment; filename=\"_b_ ___.html\"; filename*=UTF-8''%3Cb%3E%20%22%C3%BC%22.html";
    assert_eq!(page.header("content-disposition"), Some(disposition));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert!(page.header("content-security-policy").unwrap().contains("sandbox"));
    let picture = down(&format!("/{}", stored.replace(' ', "%20")));
    assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/png")));
    assert_eq!(picture.body, b"\x89PNG\0\xff");
    // Parts of a file.
    let ranged = |range: &str| {
        let said =
            caller.call("GET", &path("/sub/%3Cb%3E%20%22%C3%BC%22.html"), &[("range", range)], b"");
        let header = |name: &str| said.header(name).unwrap_or_default().to_owned();
        (said.status, header("content-range"), header("content-length"), said.body.clone())
    };
    let part = (206, "bytes 1-6/25".to_owned(), "6".to_owned(), b"script".to_vec());
    assert_eq!(ranged("bytes=1-6"), part);
    let end = (206, "bytes 16-24/25".to_owned(), "9".to_owned(), b"</script>".to_vec());
    assert_eq!(ranged("bytes=-9"), end);
    assert_eq!(ranged("bytes=16-"), end);
    let (status, range, _, problem) = ranged("bytes=25-");
    assert_eq!((status, range.as_str()), (416, "bytes */25"));
    assert!(String::from_utf8(problem).unwrap().contains("urn:ostler:problem:not-satisfiable"));
    let (status, range, length, _) = ranged("bytes=0-1,3-4");
    assert_eq!((status, range.as_str(), length.as_str()), (200, "", "25"));
    assert_eq!(page.header("accept-ranges"), Some("bytes"));
    let secret = world.path("secret").display().to_string();
    let refused = [
        "/link".to_owned(),
        "/../secret".to_owned(),
        "/%2e%2e/secret".to_owned(),
        "/sub/..%2f..%2fsecret".to_owned(),
        format!("/{secret}"),
        format!("/{}/../secret", inn.display()),
        format!("/{}/link", inn.display()),
        "//etc/passwd".to_owned(),
    ];
    for rest in refused {
        assert_eq!(down(&rest).status, 403, "{rest}");
    }
    assert_eq!((down("/nowhere").status, down("/sub").status), (404, 400));
    // Another task's files are not this one's.
    let other = world.json(&["start", "another"])["task"]["id"].as_str().unwrap().to_owned();
    let theirs = caller.call(
        "GET",
        &format!("/v1/tasks/{other}/files/{}", stored.replace(' ', "%20")),
        &[],
        b"",
    );
    assert_eq!(theirs.status, 403);
    world.run(&["wait", &task]);
    assert_eq!(caller.call("DELETE", &format!("/v1/tasks/{task}"), &[], b"").status, 200);
    assert!(!world.path("o/state/files").join(&task).exists());
}

/// Whoever may look at tasks and start them may not read logins by it, nor what Ostler keeps of others.
#[test]
fn neither_logins_nor_ostlers_own_files_are_given() {
    let world = world(NEWEST, vec![text("Done.")]);
    let caller = Caller::of(&world);
    fs::write(world.path("home/auth.json"), "{\"OPENAI_API_KEY\":\"k\"}").unwrap();
    fs::write(world.path("inn/plain"), "p").unwrap();
    fs::hard_link(world.path("home/auth.json"), world.path("inn/linked")).unwrap();
    symlink(world.path("home"), world.path("house")).unwrap();
    let start = |cwd: &str| {
        let cwd = world.path(cwd);
        let wish = json!({ "prompt": PROMPT, "cwd": cwd, "sandbox": "read-only" });
        caller.post("/v1/tasks", &wish)["task"]["id"].as_str().unwrap().to_owned()
    };
    let get = |task: &str, path: &str| {
        caller.call("GET", &format!("/v1/tasks/{task}/files/{path}"), &[], b"").status
    };
    let whole = |path: &str| world.path(path).display().to_string();
    let (home, link, all, state) = (start("home"), start("house"), start(""), start("o/state"));
    let found = [
        ("home", get(&home, "auth.json"), 403),
        ("home by its whole path", get(&home, &whole("home/auth.json")), 403),
        ("home's settings", get(&home, "config.toml"), 403),
        ("link to home", get(&link, "auth.json"), 403),
        ("above home", get(&all, "home/auth.json"), 403),
        ("by another name", get(&all, "inn/linked"), 403),
        ("configuration", get(&all, "o/config/config.toml"), 403),
        ("database", get(&all, "o/state/ostler.db"), 403),
        ("state", get(&state, "ostler.db"), 403),
        ("plain", get(&all, "inn/plain"), 200),
    ];
    assert_eq!(
        found.map(|(what, status, _)| (what, status)),
        found.map(|(what, _, status)| (what, status))
    );
    // What is below a task's own worktree is its work, although that is in the state folder.
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        let identity = ["-c", "user.name=x", "-c", "user.email=x@x"];
        let done = git.args(identity).args(arguments).current_dir(world.path("inn")).status();
        assert!(done.unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "plain"]);
    git(&["commit", "-q", "-m", "x"]);
    let wish = json!({ "prompt": PROMPT, "cwd": world.path("inn"), "worktree": true });
    let begun = caller.post("/v1/tasks", &wish);
    let cwd = begun["task"]["settings"]["cwd"].as_str().unwrap();
    assert!(cwd.starts_with(world.path("o/state").to_str().unwrap()), "{begun}");
    assert_eq!(get(begun["task"]["id"].as_str().unwrap(), "plain"), 200);
}
