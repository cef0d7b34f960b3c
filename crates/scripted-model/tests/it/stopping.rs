//! Stopping: nothing goes on behind the back of the owner.

use std::time::Instant;

use ostler_scripted_model::{ScriptedModel, StartError};

use crate::client::{Connection, DEADLINE, End, collect, go, post, prompt, start_answers};

const HANGING: &str =
    "[[conversation.answer]]\ntext = \"ein zwei\"\nfault = { kind = \"hang\", after = 1 }";

async fn until_refused(port: u16) {
    let begin = Instant::now();
    while Connection::open(port).await.is_ok() {
        assert!(begin.elapsed() < DEADLINE, "it stops listening");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn shutdown_ends_running_answers_and_frees_the_port() {
    let model = start_answers(HANGING);
    let port = model.port();
    let mut connection = Connection::open(port).await.unwrap();
    let response = connection.send(post("t", &prompt("go"))).await.unwrap();
    model.shutdown().await;
    assert_eq!(collect(response).await.end, End::Closed);
    let again = std::net::TcpListener::bind(("127.0.0.1", port));
    assert_eq!(again.map(|listener| listener.local_addr().unwrap().port()).unwrap(), port);
}

#[tokio::test]
async fn dropping_it_stops_everything() {
    let model = start_answers(HANGING);
    let port = model.port();
    let mut connection = Connection::open(port).await.unwrap();
    let response = connection.send(post("t", &prompt("go"))).await.unwrap();
    drop(model);
    assert_eq!(collect(response).await.end, End::Closed);
    until_refused(port).await;
}

#[tokio::test]
async fn a_stopped_one_can_be_started_again_on_its_port() {
    let first = start_answers("[[conversation.answer]]\ntext = \"one\"");
    let port = first.port();
    go(&first).await.unwrap();
    first.shutdown().await;
    let script = ostler_scripted_model::Script::parse("[fallback]\ntext = \"two\"").unwrap();
    let second = ScriptedModel::start_on_port(script.clone(), port).unwrap();
    assert_eq!(second.base_url(), format!("http://127.0.0.1:{port}/v1"));
    assert_eq!(go(&second).await.unwrap().outline()[4], "\"two\"");
    let third = ScriptedModel::start_on_port(script, port);
    assert!(
        matches!(third, Err(StartError::Listen { port: taken, .. }) if taken == port),
        "{third:?}"
    );
}

#[test]
fn says_that_it_needs_a_runtime() {
    let script = ostler_scripted_model::Script::parse("[fallback]\ntext = \"x\"").unwrap();
    assert!(matches!(ScriptedModel::start(script), Err(StartError::NoRuntime)));
}
