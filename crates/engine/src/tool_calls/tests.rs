use super::*;

fn call(id: &str) -> ToolCallAsk {
    let (call, tool) = (ItemId::new(id), "feed".to_owned());
    ToolCallAsk { call, namespace: None, tool, arguments: "{}".to_owned() }
}

fn said(reply: &ToolReply) -> (bool, &str) {
    match reply.outputs.as_slice() {
        [ToolOutput::Text(text)] => (reply.succeeded, text),
        other => panic!("{other:?}"),
    }
}

fn done(text: &str) -> ToolReply {
    ToolReply { succeeded: true, outputs: vec![ToolOutput::Text(text.to_owned())] }
}

struct Barn {
    calls: Arc<ToolCalls>,
    task: TaskId,
    handlers: ThreadHandlers,
}

fn barn(begun: &[&str]) -> Barn {
    let (calls, task) = (Arc::new(ToolCalls::default()), TaskId::new("t1"));
    let schema = "{}".to_owned();
    let tool = OfferedTool { name: "feed".to_owned(), description: String::new(), schema };
    let begun = begun.iter().map(|id| ItemId::new(*id)).collect();
    let handlers = calls.handlers(&task, &[tool], begun);
    Barn { calls, task, handlers }
}

impl Barn {
    /// As Codex's connection runs it.
    fn begin(&self, id: &str) -> tokio::task::JoinHandle<ToolReply> {
        let handler = self.handlers.tools["feed"].clone();
        tokio::spawn(handler.call(call(id)))
    }

    async fn take(&self, id: &str, by: &str) -> Result<ToolCallAsk, ToolCallError> {
        self.calls.take(&self.task, &ItemId::new(id), by).await
    }

    fn finish(&self, id: &str, by: &str) -> Result<(), ToolCallError> {
        self.calls.finish(&self.task, &ItemId::new(id), by, done("fed"))
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_who_takes_a_call_runs_it_and_nobody_else() {
    let barn = barn(&[]);
    let reply = barn.begin("c1");
    assert_eq!(barn.take("c1", "ann").await, Ok(call("c1")));
    assert_eq!(barn.take("c1", "bob").await, Err(ToolCallError::Taken(ItemId::new("c1"))));
    assert_eq!(barn.finish("c1", "bob"), Err(ToolCallError::Taken(ItemId::new("c1"))));
    // As long as its owner says so, it may take its time.
    for _ in 0..20 {
        tokio::time::advance(PATIENCE / 3).await;
        assert_eq!(barn.take("c1", "ann").await, Ok(call("c1")));
        tokio::task::yield_now().await;
    }
    assert_eq!(barn.finish("c1", "ann"), Ok(()));
    assert_eq!(said(&reply.await.unwrap()), (true, "fed"));
    assert_eq!(barn.finish("c1", "ann"), Err(ToolCallError::Gone(ItemId::new("c1"))));
    assert_eq!(barn.take("c1", "ann").await, Err(ToolCallError::Gone(ItemId::new("c1"))));
}

#[tokio::test(start_paused = true)]
async fn who_reads_of_a_call_before_it_is_here_waits_for_it() {
    let barn = barn(&[]);
    let begins = async {
        tokio::task::yield_now().await;
        drop(barn.begin("c1"));
    };
    let (taken, ()) = tokio::join!(barn.take("c1", "ann"), begins);
    assert_eq!(taken, Ok(call("c1")));
}

#[tokio::test(start_paused = true)]
async fn without_an_owner_the_model_is_told() {
    let barn = barn(&[]);
    let untaken = barn.begin("c1").await.unwrap();
    assert_eq!(said(&untaken), (false, NOBODY));
    let left = barn.begin("c2");
    barn.take("c2", "ann").await.unwrap();
    assert_eq!(said(&left.await.unwrap()), (false, LEFT));
    assert_eq!(barn.finish("c2", "ann"), Err(ToolCallError::Gone(ItemId::new("c2"))));
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_connection_began_is_not_begun_again() {
    let barn = barn(&["c0"]);
    assert_eq!(said(&barn.begin("c0").await.unwrap()), (false, CUT_OFF));
    let first = barn.begin("c1");
    barn.take("c1", "ann").await.unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(barn.finish("c1", "ann"), Err(ToolCallError::Gone(ItemId::new("c1"))));
    assert_eq!(said(&barn.begin("c1").await.unwrap()), (false, CUT_OFF));
}
