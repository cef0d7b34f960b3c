//! The door over TCP: told where it is, opened by a link or a token, and closed to agents whatever they carry.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{NEWEST, World};

fn world(config: &str) -> World {
    let world = World::new();
    fs::create_dir(world.path("config")).unwrap();
    fs::write(world.path("config/config.toml"), config).unwrap();
    world
}

/// Starts the daemon and tells where it listens.
fn open(world: &World) -> String {
    world.json(&["daemon", "start"]);
    let listens = world.json(&["daemon", "status"])["listens"].clone();
    assert_eq!(listens["tls"], false);
    listens["address"].as_str().unwrap().to_owned()
}

fn ask(address: &str, head: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let text = format!(
        "{head}host: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[test]
fn a_token_and_a_link_open_it() {
    let world = world("[server]\nlisten = \"127.0.0.1:0\"\n");
    let address = open(&world);
    assert_eq!(ask(&address, "GET /v1/health HTTP/1.1\r\n", "").0, 401);
    let made = world.json(&["token", "new", "ci", "--scope", "operate", "--days", "7"]);
    assert_eq!((&made["name"], &made["scopes"]), (&json!("ci"), &json!(["read", "operate"])));
    let token = made["token"].as_str().unwrap();
    let bearer = format!("authorization: Bearer {token}\r\n");
    let (status, health) = ask(&address, &format!("GET /v1/health HTTP/1.1\r\n{bearer}"), "");
    assert_eq!((status, &health["caller"]["key"]), (200, &json!("token ci")));
    let listed = world.json(&["token", "ls"]);
    assert_eq!(listed["tokens"][0]["id"], made["id"]);
    assert!(!listed.to_string().contains(token));
    world.json(&["token", "rm", "ci"]);
    assert_eq!(ask(&address, &format!("GET /v1/health HTTP/1.1\r\n{bearer}"), "").0, 401);
    assert_eq!(world.ostler(&["token", "rm", "ci"]).status.code(), Some(3));

    let login = world.json(&["open"]);
    let (page, code) = login["url"].as_str().unwrap().split_once('#').unwrap();
    assert_eq!(
        (page, code),
        (format!("http://{address}/login").as_str(), login["code"].as_str().unwrap())
    );
    let body = json!({ "code": code }).to_string();
    assert_eq!(ask(&address, "POST /v1/login HTTP/1.1\r\n", &body).0, 200);
    assert_eq!(ask(&address, "POST /v1/login HTTP/1.1\r\n", &body).0, 401);
    // The browser that was lost is found and logged out.
    let listed = world.json(&["token", "ls"]);
    assert_eq!(listed["logins"].as_array().unwrap().len(), 1);
    let ended = world.json(&["token", "rm", "--logins"]);
    assert_eq!((&ended["id"], &ended["kind"]), (&listed["logins"][0]["id"], &json!("login")));
    assert_eq!(world.json(&["token", "ls"])["logins"], json!([]));
}

/// A program of the user's sees the arguments of all others: what it can see of the browser must not log it in.
#[test]
fn the_link_stands_in_no_arguments() {
    let world = world("[server]\nlisten = \"127.0.0.1:0\"\n");
    open(&world);
    let programs = world.path("programs");
    fs::create_dir(&programs).unwrap();
    let said = world.path("said");
    let opener = programs.join("xdg-open");
    let script = format!(
        "#!/bin/sh\ncat \"$1\" > {0}.new\necho \"$*\" >> {0}.new\nmv {0}.new {0}\n",
        said.display()
    );
    ostler_testkit::write_script(&opener, &script, 0o755).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    let output = command.arg("open").env("PATH", path).env("DISPLAY", ":0").output().unwrap();
    let url = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let begin = Instant::now();
    while !said.exists() {
        assert!(begin.elapsed() < Duration::from_secs(20), "the browser was not opened");
        thread::yield_now();
    }
    let said = fs::read_to_string(said).unwrap();
    let (page, arguments) = said.trim().rsplit_once('\n').unwrap();
    assert!(page.contains(&format!("url={url}\"")), "{page}");
    assert!(!arguments.contains(url.split_once('#').unwrap().1), "{arguments}");
}

#[test]
fn without_a_word_there_is_no_door_and_none_for_others_without_tls() {
    let plain = world("");
    plain.json(&["daemon", "start"]);
    assert_eq!(plain.json(&["daemon", "status"])["listens"], Value::Null);
    let refused = plain.ostler(&["open"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("[server]"));
    let refused = World::new().ostler(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("needs TLS"));
}

/// It has a token that may decide, and it is a program that Codex runs.
#[test]
fn what_runs_below_a_keeper_decides_nothing_with_any_token() {
    let world = world("[server]\nlisten = \"127.0.0.1:0\"\n");
    let address = open(&world);
    let keeper = world.start(NEWEST);
    let token = world.json(&["token", "new", "all", "--scope", "operate", "--scope", "decide"]);
    let token = token["token"].as_str().unwrap();
    let script = format!(
        r#"
        use IO::Socket::INET;
        my $body = '{{"name":"more","scopes":["decide"]}}';
        my $socket = IO::Socket::INET->new(PeerAddr => "{address}") or die;
        print $socket "POST /v1/tokens HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n";
        print $socket "connection: close\r\ncontent-length: " . length($body) . "\r\n\r\n$body";
        $socket->flush;
        print while <$socket>;
        "#
    );
    fs::write(world.path("agent.pl"), script).unwrap();
    let program = world.path("agent.pl");
    let program = program.to_str().unwrap();
    for disguise in [format!("perl {program}"), format!("setsid env -i perl {program}")] {
        let said = world.in_codex(&keeper, &disguise);
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 "), "{said}");
        let problem: Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["type"], "urn:ostler:problem:agent-refused");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.ends_with(&format!(" runs below keeper {}", keeper.id)), "{detail}");
    }
    // The same words of a person's own program.
    let output = world.command("perl").arg(program).output().unwrap();
    assert!(output.stdout.starts_with(b"HTTP/1.1 201 "), "{output:?}");
}
