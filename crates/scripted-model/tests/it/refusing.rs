//! The door: connections are really refused, and accepted again on the same port.

use std::time::{Duration, Instant};

use ostler_scripted_model::Outcome;

use crate::client::{Connection, DEADLINE, End, go, settled, start_answers};

const TWO_ANSWERS: &str =
    "[[conversation.answer]]\ntext = \"one\"\n[[conversation.answer]]\ntext = \"two\"";

#[tokio::test]
async fn refuses_until_told_to_accept() {
    let model = start_answers(TWO_ANSWERS);
    assert_eq!(go(&model).await.unwrap().end, End::Complete);
    model.refuse_connections().await.unwrap();
    assert_eq!(go(&model).await.map(|reply| reply.status), Err(End::Refused));
    model.refuse_connections().await.unwrap();
    model.accept_connections().await.unwrap();
    model.accept_connections().await.unwrap();
    assert_eq!(go(&model).await.unwrap().end, End::Complete);
    assert_eq!(model.requests_seen(), 2);
}

#[tokio::test]
async fn refusing_ends_idle_connections() {
    let model = start_answers(TWO_ANSWERS);
    let mut idle = Connection::open(model.port()).await.unwrap();
    assert_eq!(idle.go().await.unwrap().end, End::Complete);
    model.refuse_connections().await.unwrap();
    // A connection kept open would get around the refusal.
    idle.until_closed_by_server().await;
}

#[tokio::test]
async fn refusing_lets_a_running_answer_finish() {
    let model = start_answers(
        "[[conversation.answer]]\ntext = \"ein zwei drei\"\nfault = { kind = \"hang\", after = 1, for_ms = 100 }",
    );
    let refuse = async {
        model.wait_for_requests(1, DEADLINE).await.unwrap();
        model.refuse_connections().await.unwrap();
    };
    let (reply, ()) = tokio::join!(go(&model), refuse);
    assert_eq!(reply.unwrap().outline().last().map(String::as_str), Some("response.completed"));
}

#[tokio::test]
async fn the_fault_refuses_for_its_time() {
    let model = start_answers(
        "[[conversation.answer]]\nfault = { kind = \"refuse\", for_ms = 150 }\n[[conversation.answer]]\ntext = \"back\"",
    );
    let begin = Instant::now();
    assert_eq!(go(&model).await.map(|reply| reply.status), Err(End::Reset));
    assert_eq!(go(&model).await.map(|reply| reply.status), Err(End::Refused));
    let reply = loop {
        match go(&model).await {
            Ok(reply) => break reply,
            Err(End::Refused) => assert!(begin.elapsed() < DEADLINE, "it opens again"),
            Err(end) => panic!("{end:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(begin.elapsed() >= Duration::from_millis(150));
    assert_eq!(reply.end, End::Complete);
    let outcomes: Vec<_> =
        settled(&model, 2).await.into_iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::FaultPlayed("refuse"), Outcome::Finished]);
}

#[tokio::test]
async fn the_fault_refuses_until_released() {
    let model = start_answers(
        "[[conversation.answer]]\nfault = { kind = \"refuse\" }\n[[conversation.answer]]\ntext = \"back\"",
    );
    assert_eq!(go(&model).await.map(|reply| reply.status), Err(End::Reset));
    assert_eq!(go(&model).await.map(|reply| reply.status), Err(End::Refused));
    model.accept_connections().await.unwrap();
    assert_eq!(go(&model).await.unwrap().end, End::Complete);
}

#[tokio::test]
async fn the_port_stays_ours_while_connections_are_refused() {
    let model = start_answers(TWO_ANSWERS);
    model.refuse_connections().await.unwrap();
    let foreign: Vec<_> =
        (0..2000).map_while(|_| std::net::TcpListener::bind(("127.0.0.1", 0)).ok()).collect();
    let taken =
        foreign.iter().any(|listener| listener.local_addr().unwrap().port() == model.port());
    assert_eq!((taken, foreign.is_empty()), (false, false));
    drop(foreign);
    model.accept_connections().await.unwrap();
    assert_eq!(go(&model).await.unwrap().end, End::Complete);
}
