//! Pictures and speech: by a scripted model, and by servers that stand for a provider.

use std::sync::Arc;

use ostler_agent::api::{Patience, Wire};
use ostler_agent::tools::{Endpoint, ImageSettings, SpeechSettings, Vision};
use ostler_model::ask::AskKind;
use ostler_scripted_model::{Script, ScriptedModel};
use rstest::rstest;
use serde_json::{Value, json};

use crate::server::{Asked, Said, Server};
use crate::set::{KEY, Set, endpoint, provider};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nmare";
const PNG_URL: &str = "data:image/png;base64,iVBORw0KGgptYXJl";

fn seeing(model: &ScriptedModel, wire: Wire, hosts: Vec<String>) -> Set {
    let provider = ostler_agent::api::Provider { wire, ..provider(model.base_url()) };
    let api = provider.connect(Patience::default()).unwrap();
    Set::new(|settings| {
        settings.vision = Vision::new(Arc::new(move || Ok(api.clone())), Some("eyes".to_owned()));
        settings.web.allowed_hosts = hosts;
    })
}

fn scripted(question: &str) -> ScriptedModel {
    let script = format!(
        "[[conversation]]\nmatch = {question:?}\n[[conversation.answer]]\ntext = \"A grey mare.\"\nrepeat = true\n"
    );
    ScriptedModel::start(Script::parse(&script).unwrap()).unwrap()
}

#[rstest]
#[case(Wire::Responses)]
#[case(Wire::Chat)]
#[tokio::test]
async fn an_image_is_looked_at_wherever_it_is(#[case] wire: Wire) {
    let model = scripted("who is it?");
    let pages = Server::new(|_| Said::page("image/png", PNG)).await;
    let set = seeing(&model, wire, vec![pages.host()]);
    std::fs::write(set.work().join("mare.bin"), PNG).unwrap();
    for image in [pages.url("/mare"), PNG_URL.to_owned(), "mare.bin".to_owned()] {
        let arguments = json!({ "image_url": image, "question": "who is it?" });
        assert_eq!(set.said("vision_analyze", arguments).await, "A grey mare.");
    }
    let asked = model.requests();
    assert_eq!(asked.len(), 3);
    for request in asked {
        let body = request.json();
        assert_eq!(body["model"], "eyes");
        assert_eq!(body.to_string().matches(PNG_URL).count(), 1, "{body}");
    }
}

#[tokio::test]
async fn what_is_no_image_is_not_sent() {
    let model = scripted("who is it?");
    let pages = Server::new(|_| Said::page("image/png", "<html>")).await;
    let set = seeing(&model, Wire::Chat, vec![pages.host()]);
    std::fs::write(set.work().join("secret.png"), "not an image").unwrap();
    let cases = [
        (pages.url("/x"), "is no PNG, JPEG, GIF or WebP image"),
        ("secret.png".to_owned(), "is no PNG, JPEG, GIF or WebP image"),
        ("file:///etc/passwd".to_owned(), "is neither a web address nor a file"),
        ("http://127.0.0.1:1/a.png".to_owned(), "127.0.0.1 is refused"),
        ("gone.png".to_owned(), "No such file"),
        ("data:text/plain,hello".to_owned(), "has no base64 in it"),
        (".".to_owned(), "it is no file"),
    ];
    for (image, wanted) in cases {
        let arguments = json!({ "image_url": image, "question": "who is it?" });
        let said = set.failed("vision_analyze", arguments).await;
        assert!(said.contains(wanted), "{image}: {said}");
    }
    assert_eq!(model.requests_seen(), 0);
}

#[tokio::test]
async fn without_a_provider_every_call_says_what_to_configure() {
    let set = Set::new(|_| {});
    let calls = [
        ("vision_analyze", json!({ "image_url": PNG_URL, "question": "?" }), "model in [vision]"),
        ("browser_vision", json!({ "question": "?" }), "model in [vision]"),
        ("image_generate", json!({ "prompt": "a mare" }), "provider in [images]"),
        ("text_to_speech", json!({ "text": "hello" }), "provider in [speech]"),
        ("browser_navigate", json!({ "url": "https://example.org/" }), "apt-get install chromium"),
    ];
    for (tool, arguments, wanted) in calls {
        let said = set.failed(tool, arguments).await;
        assert!(said.contains(wanted), "{tool}: {said}");
    }
}

fn painting(server: &Server) -> Set {
    let (endpoint, host) = (endpoint(server.url("/v1")), server.host());
    Set::new(|settings| {
        settings.images = Some(ImageSettings { endpoint, model: "brush".to_owned() });
        settings.web.allowed_hosts = vec![host];
    })
}

fn painted() -> Said {
    let data = PNG_URL.split_once(',').unwrap().1;
    Said::page("application/json", json!({ "data": [{ "b64_json": data }] }).to_string())
}

#[tokio::test]
async fn an_image_is_made_and_lies_in_a_folder_of_ours() {
    let server = Server::new(|_| painted()).await;
    let set = painting(&server);
    let said =
        set.said("image_generate", json!({ "prompt": "a mare", "aspect_ratio": "portrait" })).await;
    let path = said.strip_prefix("image: ").unwrap().strip_suffix(" (1024x1536)").unwrap();
    assert!(path.starts_with(set.folder.path().join("media").to_str().unwrap()), "{path}");
    assert!(path.ends_with(".png"), "{path}");
    assert_eq!(std::fs::read(path).unwrap(), PNG);
    let asked = server.asked().remove(0);
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/images/generations"));
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let wanted = json!({ "model": "brush", "prompt": "a mare", "size": "1024x1536", "n": 1 });
    assert_eq!(asked.json(), wanted);
}

#[tokio::test]
async fn images_to_go_by_are_sent_as_a_form() {
    let server = Server::new(|asked: &Asked| match asked.method.as_str() {
        "GET" => Said::page("image/gif", "GIF89a"),
        // Where it lies; the guard looks at that, too.
        _ => Said::page(
            "application/json",
            json!({ "data": [{ "url": format!("http://{}/made.gif", asked.header("host").unwrap()) }] }).to_string(),
        ),
    })
    .await;
    let set = painting(&server);
    let arguments = json!({
        "prompt": "braid it", "image_url": PNG_URL, "reference_image_urls": [server.url("/style.gif")],
    });
    let said = set.said("image_generate", arguments).await;
    assert!(said.ends_with(".gif (1536x1024)"), "{said}");
    let asked = server.asked();
    let paths: Vec<&str> = asked.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["/style.gif", "/v1/images/edits", "/made.gif"]);
    let kind = asked[1].header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = String::from_utf8_lossy(&asked[1].body).into_owned();
    let parts: Vec<&str> = body.split(&format!("--{boundary}")).collect();
    assert_eq!(parts.len(), 8, "{body}");
    for (part, wanted) in
        [(1, "brush"), (2, "braid it"), (3, "1536x1024"), (5, "image/png"), (6, "GIF89a")]
    {
        assert!(parts[part].contains(wanted), "{body}");
    }
    assert_eq!(body.matches("name=\"image[]\"").count(), 2, "{body}");
}

#[tokio::test]
async fn what_a_provider_refuses_is_told_without_the_key() {
    let said = |status: u16, body: String| {
        move |_: &Asked| Said(status, Vec::new(), body.clone().into_bytes())
    };
    let message = |text: &str| json!({ "error": { "message": text } }).to_string();
    let cases = [
        (
            401,
            message(&format!("wrong key {KEY}")),
            "the provider answered 401: wrong key [key] (look at MY_KEY)",
        ),
        (400, message("no horses"), "the provider answered 400: no horses"),
        (
            404,
            "nothing here".to_owned(),
            "the provider answered 404: nothing here (perhaps this provider does not do that; the user can name another)",
        ),
        (200, "{}".to_owned(), "the provider answered without an image"),
        (200, "oops".to_owned(), "the provider answered with something else than JSON"),
        (
            200,
            json!({ "data": [{ "b64_json": "aGVsbG8=" }] }).to_string(),
            "the provider answered with something else than an image",
        ),
    ];
    for (status, body, wanted) in cases {
        let server = Server::new(said(status, body)).await;
        let found = painting(&server).failed("image_generate", json!({ "prompt": "a mare" })).await;
        assert_eq!(found, wanted);
    }
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_says_why_when_it_is_needed() {
    let endpoint = Endpoint::new(Err("TEAM is not set".to_owned()));
    let set = Set::new(|settings| {
        settings.images = Some(ImageSettings { endpoint, model: "brush".to_owned() });
    });
    let said = set.failed("image_generate", json!({ "prompt": "a mare" })).await;
    assert_eq!(said, "TEAM is not set");
}

fn speaking(server: &Server) -> Set {
    let endpoint = endpoint(server.url("/v1"));
    Set::new(|settings| {
        settings.speech = Some(SpeechSettings {
            endpoint,
            model: "throat".to_owned(),
            voice: "alloy".to_owned(),
            format: "mp3",
        });
    })
}

#[tokio::test]
async fn a_text_is_spoken_into_a_file() {
    let server = Server::new(|_| Said::page("audio/mpeg", "neigh")).await;
    let set = speaking(&server);
    let said = set.said("text_to_speech", json!({ "text": "hello" })).await;
    let path = said.strip_prefix("audio: ").unwrap().strip_suffix(" (mp3, 5 bytes)").unwrap();
    assert!(path.starts_with(set.folder.path().join("media").to_str().unwrap()), "{path}");
    assert_eq!(std::fs::read(path).unwrap(), b"neigh");

    let said =
        set.said("text_to_speech", json!({ "text": "hello", "output_path": "new/hi.wav" })).await;
    let wanted = set.work().join("new/hi.wav");
    assert_eq!(said, format!("audio: {} (wav, 5 bytes)", wanted.display()));
    assert_eq!(std::fs::read(wanted).unwrap(), b"neigh");
    let formats: Vec<Value> =
        server.asked().iter().map(|it| it.json()["response_format"].clone()).collect();
    assert_eq!(formats, ["mp3", "wav"]);
    let wanted =
        json!({ "model": "throat", "voice": "alloy", "input": "hello", "response_format": "mp3" });
    assert_eq!(server.asked()[0].json(), wanted);
    assert_eq!(server.asked()[0].path, "/v1/audio/speech");
}

#[tokio::test]
async fn outside_of_the_workspace_a_person_is_asked_before_anything_is_paid_for() {
    let server = Server::new(|_| Said::page("audio/mpeg", "neigh")).await;
    let set = speaking(&server);
    let place = set.folder.path().canonicalize().unwrap().join("outside.mp3");
    let arguments = json!({ "text": "hello", "output_path": place });

    let said = set.failed("text_to_speech", arguments).await;

    assert!(said.starts_with("declined by ada (test)"), "{said}");
    assert!(!place.exists());
    assert_eq!(server.asked().len(), 0);
    let asked = set.person.asked.lock().unwrap();
    let AskKind::FileChange(change) = &asked[0].kind else { panic!("{asked:?}") };
    assert_eq!(change.files[0].path, place.to_string_lossy());
    assert!(change.files[0].diff.contains("hello"), "{change:?}");
}
