use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ostler_model::Decision;
use serde_json::{Value, json};

use super::Toolbox;
use crate::api::Call;
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};
use crate::tools::fakes::{Answer, FakeAsks, context};

/// Does what its name says.
struct Fake {
    name: &'static str,
    order: Arc<Mutex<Vec<String>>>,
}

impl Tool for Fake {
    fn definition(&self) -> ToolDefinition {
        let parameters = json!({
            "type": "object", "properties": { "text": { "type": "string" } }, "additionalProperties": false,
        });
        ToolDefinition { name: self.name.into(), description: String::new(), parameters }
    }

    fn preview(&self, arguments: &Value) -> String {
        arguments.to_string()
    }

    fn only_reads(&self, _arguments: &Value) -> bool {
        self.name == "look"
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.name {
                "break" => panic!("a fault"),
                "hang" => std::future::pending().await,
                "long" => return ToolResult::said("x".repeat(100)),
                "cancel" => context.stop.cancel(),
                _ => {}
            }
            self.order.lock().unwrap().push(context.call.clone());
            ToolResult::said(format!("{} {arguments}", context.call))
        })
    }
}

fn toolbox() -> (Toolbox, Arc<Mutex<Vec<String>>>) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let tools = ["look", "change", "break", "hang", "long", "cancel"]
        .map(|name| Arc::new(Fake { name, order: order.clone() }) as Arc<dyn Tool>);
    (Toolbox::new(tools.to_vec()), order)
}

fn call(id: &str, tool: &str, arguments: &str) -> Call {
    Call { id: id.into(), tool: tool.into(), arguments: arguments.into() }
}

fn a_context() -> CallContext {
    context(&FakeAsks::answering(Answer::of(Decision::Deny)), "/")
}

#[tokio::test]
async fn a_call_that_cannot_be_run_says_why() {
    let (toolbox, _) = toolbox();
    let cases = [
        (
            call("1", "lok", "{}"),
            "there is no tool `lok`; the tools are look, change, break, hang, long, cancel",
        ),
        (
            call("1", "change", "{\"text\": "),
            "the arguments of `change` are no JSON (EOF while parsing a value at line 1 column 9); nothing was done, call it again",
        ),
        (
            call("1", "change", "{\"text\": 3}"),
            "`change` was not run: `text` must be of type string, not number",
        ),
        (
            call("1", "break", "{}"),
            "`break` has failed by a fault of its own; how far it came is not known",
        ),
    ];
    for (call, wanted) in cases {
        assert_eq!(toolbox.run(&call, &a_context()).await, ToolResult::failed(wanted));
    }
    assert_eq!(
        toolbox.run(&call("call", "change", ""), &a_context()).await,
        ToolResult::said("call {}")
    );
}

#[tokio::test]
async fn a_restricted_box_tells_of_all_tools_and_runs_only_some() {
    let (toolbox, _) = toolbox();
    let restricted = toolbox.restricted(&["change"]);
    let names = |toolbox: &Toolbox| {
        toolbox.definitions().into_iter().map(|definition| definition.name).collect::<Vec<_>>()
    };

    assert_eq!(names(&restricted), names(&toolbox));
    assert_eq!(
        restricted.run(&call("1", "long", "{}"), &a_context()).await,
        ToolResult::failed("`long` may not be used here; only change may")
    );
    assert!(!restricted.run(&call("1", "change", "{}"), &a_context()).await.is_error);
}

#[tokio::test]
async fn long_output_is_cut_with_a_mark() {
    let (toolbox, _) = toolbox();
    let result = toolbox.with_output_bytes(10).run(&call("1", "long", "{}"), &a_context()).await;
    assert_eq!(result.content, "xxxxx\n[… 90 bytes with 0 lines were cut here …]\nxxxxx");
}

#[tokio::test]
async fn after_a_stop_nothing_more_is_run() {
    let (toolbox, order) = toolbox();
    let context = a_context();
    assert!(!toolbox.run(&call("call", "cancel", "{}"), &context).await.is_error);
    let result = toolbox.run(&call("b", "change", "{}"), &context).await;
    assert_eq!(result, ToolResult::failed("not run: the turn was stopped before"));
    assert_eq!(*order.lock().unwrap(), ["call"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_heed_a_stop_is_dropped() {
    let (toolbox, _) = toolbox();
    let context = a_context();
    let hanging = call("1", "hang", "{}");
    let running = toolbox.run(&hanging, &context);
    let stopping = async {
        tokio::task::yield_now().await;
        context.stop.cancel();
    };
    let (result, ()) = tokio::join!(running, stopping);
    assert_eq!(
        result,
        ToolResult::failed("stopped, and it did not end in time; how far it came is not known")
    );
}
