//! The flows that talk to an app-server. Each has a client and a folder of its own, and says what it saw.

use ostler_codex::app_server::CallError;
use ostler_codex::bare_client::{Client, ClientError};
use ostler_codex::peer::Event;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::command::BackgroundTerminalsClean;
use ostler_codex::protocol::request::goal::ThreadGoalGet;
use ostler_codex::protocol::request::thread::ThreadResume;
use ostler_codex::protocol::request::thread_history::ThreadRead;
use ostler_codex::protocol::request::turn::{TurnInterrupt, TurnSteer};
use ostler_codex::protocol::settings::SandboxMode;
use ostler_codex::protocol::turn::Turn;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::words::TurnStatus;
use ostler_codex::protocol::{ItemBody, Notification};
use ostler_model::{AskKind, Decision, ThreadId};

use super::flow::Flow;
use super::world::{World, lines};

/// What the command of every script leaves behind each time it runs.
const RAN: &str = "ran.log";

type Saw = Result<String, String>;

pub(super) async fn greeting(world: &mut World, version: &str) -> Saw {
    let workspace = world.workspace(Flow::Greeting.word())?;
    let client = world.client(&workspace).await?;
    let found = client.server.version().to_string();
    client.close().await;
    expect(found == version, || format!("it greets as {found}, and says {version} of itself"))?;
    Ok(format!("an app-server of {found} on a unix socket"))
}

pub(super) async fn plain_turn(world: &mut World) -> Saw {
    let workspace = world.workspace(Flow::PlainTurn.word())?;
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::ReadOnly, ApprovalPolicy::OnRequest).await?;
    client.start_turn(&thread, "suite: say hello").await.map_err(words)?;
    let turn = client.turn_end(&thread).await.map_err(words)?;
    let said = client.seen(|notification| match notification {
        Notification::ItemCompleted(event) => match event.item.body {
            ItemBody::AgentMessage(message) => Some(message.text),
            _ => None,
        },
        _ => None,
    });
    client.close().await;
    ended(&turn, &TurnStatus::Completed)?;
    expect(said == ["Hello from the stable."], || format!("the answer came as {said:?}"))?;
    Ok("the answer came whole, and the turn ended".to_owned())
}

pub(super) async fn command_allowed(world: &mut World) -> Saw {
    let ran = command(world, Flow::CommandAllowed, Decision::Once).await?;
    expect(ran == 1, || format!("the command ran {ran} times"))?;
    Ok("asked before it ran, and ran once".to_owned())
}

pub(super) async fn command_refused(world: &mut World) -> Saw {
    let ran = command(world, Flow::CommandRefused, Decision::Deny).await?;
    expect(ran == 0, || "it ran although it was refused".to_owned())?;
    Ok("it did not run, and the turn went on".to_owned())
}

/// Answers the one question with this decision, and counts how often the command ran.
async fn command(world: &mut World, flow: Flow, decision: Decision) -> Result<usize, String> {
    let workspace = world.workspace(flow.word())?;
    let ran = workspace.join(RAN);
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await?;
    let prompt = match decision {
        Decision::Deny => "suite: run a command that is refused",
        _ => "suite: run a command that is allowed",
    };
    client.start_turn(&thread, prompt).await.map_err(words)?;
    let question = client.question().await.map_err(words)?;
    let ask = question.ask();
    expect(matches!(ask.kind, AskKind::Command(_)), || format!("it asks otherwise: {ask:?}"))?;
    expect(lines(&ran) == 0, || "it ran before anybody was asked".to_owned())?;
    client.answer(&question, &decision).await.map_err(words)?;
    let turn = client.turn_end(&thread).await.map_err(words)?;
    client.close().await;
    ended(&turn, &TurnStatus::Completed)?;
    Ok(lines(&ran))
}

pub(super) async fn file_change(world: &mut World) -> Saw {
    let workspace = world.workspace(Flow::FileChange.word())?;
    let saddle = workspace.join("saddle.txt");
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::ReadOnly, ApprovalPolicy::OnRequest).await?;
    client.start_turn(&thread, "suite: change a file").await.map_err(words)?;
    let question = client.question().await.map_err(words)?;
    let ask = question.ask();
    expect(matches!(ask.kind, AskKind::FileChange(_)), || format!("it asks otherwise: {ask:?}"))?;
    let diffs = client.seen(|notification| match notification {
        Notification::ItemStarted(event) => match event.item.body {
            ItemBody::FileChange(change) => Some(change.changes.len()),
            _ => None,
        },
        _ => None,
    });
    expect(diffs == [1], || "the change was not shown before it was asked about".to_owned())?;
    expect(!saddle.exists(), || "it was written before anybody was asked".to_owned())?;
    client.answer(&question, &Decision::Once).await.map_err(words)?;
    let turn = client.turn_end(&thread).await.map_err(words)?;
    client.close().await;
    ended(&turn, &TurnStatus::Completed)?;
    expect(lines(&saddle) == 1, || "the file is not there".to_owned())?;
    Ok("shown, asked, then written".to_owned())
}

pub(super) async fn steer(world: &mut World) -> Saw {
    const MORE: &str = "and put blinkers on";
    let workspace = world.workspace(Flow::Steer.word())?;
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await?;
    let turn = client.start_turn(&thread, "suite: be steered").await.map_err(words)?;
    let question = client.question().await.map_err(words)?;
    // While a question is open the turn certainly runs, so it cannot come too late.
    let steer = TurnSteer {
        thread_id: thread.clone(),
        expected_turn_id: turn.clone(),
        input: vec![UserInput::Text(MORE.to_owned())],
        client_user_message_id: None,
    };
    client.server.call(&steer).await.map_err(|error| error.to_string())?;
    client.answer(&question, &Decision::Once).await.map_err(words)?;
    let over = client.turn_end(&thread).await.map_err(words)?;
    client.close().await;
    ended(&over, &TurnStatus::Completed)?;
    expect(over.id == Some(turn), || "it began another turn".to_owned())?;
    let told = world.model.requests();
    let told = told.last().is_some_and(|request| request.json().to_string().contains(MORE));
    expect(told, || "the model did not hear it".to_owned())?;
    Ok("the model heard it within the same turn".to_owned())
}

pub(super) async fn interrupt(world: &mut World) -> Saw {
    let workspace = world.workspace(Flow::Interrupt.word())?;
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::DangerFullAccess, ApprovalPolicy::Never).await?;
    let turn = client.start_turn(&thread, "suite: be interrupted").await.map_err(words)?;
    world.lines(&workspace.join(RAN), 1).await?;
    let interrupt = TurnInterrupt { thread_id: thread.clone(), turn_id: turn };
    client.server.call(&interrupt).await.map_err(|error| error.to_string())?;
    let over = client.turn_end(&thread).await.map_err(words)?;
    ended(&over, &TurnStatus::Interrupted)?;
    // Codex lets the command live on.
    let clean = BackgroundTerminalsClean { thread_id: thread };
    client.server.call(&clean).await.map_err(|error| error.to_string())?;
    client.close().await;
    Ok("the turn ended in the middle of a command".to_owned())
}

/// The model sets a goal, and Codex starts the next turn by itself.
pub(super) async fn goal(world: &mut World) -> Saw {
    let workspace = world.workspace(Flow::Goal.word())?;
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::ReadOnly, ApprovalPolicy::Never).await?;
    let get = ThreadGoalGet { thread_id: thread.clone() };
    if let Err(CallError::Prepare(_)) = client.server.call(&get).await {
        client.close().await;
        return Ok("this version has no goals unless it is told to".to_owned());
    }
    client.start_turn(&thread, "suite: set a goal").await.map_err(words)?;
    for _ in 0..2 {
        let turn = client.turn_end(&thread).await.map_err(words)?;
        ended(&turn, &TurnStatus::Completed)?;
    }
    let goal = client.server.call(&get).await.map_err(|error| error.to_string())?.goal;
    let status = goal.map(|goal| goal.status).unwrap_or_default();
    expect(status == "complete", || format!("the goal is {status:?}"))?;
    client.close().await;
    Ok("the second turn came by itself and completed it".to_owned())
}

pub(super) async fn two_clients(world: &mut World) -> Saw {
    let workspace = world.workspace(Flow::TwoClients.word())?;
    let mut first = world.client(&workspace).await?;
    let mut second = world.client(&workspace).await?;
    let thread = open(&first, SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await?;
    first.start_turn(&thread, "suite: be seen by two").await.map_err(words)?;
    let asked = first.question().await.map_err(words)?;
    let resume = ThreadResume::new(thread.clone());
    second.server.call(&resume).await.map_err(|error| error.to_string())?;
    let again = second.question().await.map_err(words)?;
    expect(again.ask() == asked.ask(), || "the second was asked something else".to_owned())?;
    second.answer(&again, &Decision::Once).await.map_err(words)?;
    for client in [&mut first, &mut second] {
        let turn = client.turn_end(&thread).await.map_err(words)?;
        ended(&turn, &TurnStatus::Completed)?;
    }
    first.close().await;
    second.close().await;
    let ran = lines(&workspace.join(RAN));
    expect(ran == 1, || format!("the command ran {ran} times"))?;
    Ok("the second answered, both saw the end".to_owned())
}

pub(super) async fn unknown_request(world: &mut World) -> Saw {
    let workspace = world.workspace(Flow::UnknownRequest.word())?;
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await?;
    client.start_turn(&thread, "suite: ask what nobody knows").await.map_err(words)?;
    let question = client.question().await.map_err(words)?;
    let refused = client.server.peer().refuse_unknown(&question.id, &question.call.method).await;
    refused.map_err(|error| error.to_string())?;
    let turn = client.turn_end(&thread).await.map_err(words)?;
    client.close().await;
    ended(&turn, &TurnStatus::Completed)?;
    expect(lines(&workspace.join(RAN)) == 0, || "it ran although nobody allowed it".to_owned())?;
    Ok("refused as unknown, taken for a no".to_owned())
}

pub(super) async fn resume_after_kill(world: &mut World) -> Saw {
    let workspace = world.workspace(Flow::ResumeAfterKill.word())?;
    let mut client = world.client(&workspace).await?;
    let thread = open(&client, SandboxMode::WorkspaceWrite, ApprovalPolicy::Untrusted).await?;
    client.start_turn(&thread, "suite: be killed").await.map_err(words)?;
    client.question().await.map_err(words)?;
    let exit = world.kill_codex().await?;
    while !matches!(
        client.next("the end of the connection").await.map_err(words)?,
        Event::Closed(_)
    ) {}
    let mut client = world.client(&workspace).await?;
    let resume = ThreadResume {
        sandbox: Some(SandboxMode::WorkspaceWrite),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        cwd: Some(workspace.display().to_string()),
        ..ThreadResume::new(thread.clone())
    };
    let opened = client.server.call(&resume).await.map_err(|error| error.to_string())?;
    expect(opened.thread_id() == Some(&thread), || "another thread was opened".to_owned())?;
    let read = ThreadRead { thread_id: thread.clone(), include_turns: true };
    let read = client.server.call(&read).await.map_err(|error| error.to_string())?;
    let statuses: Vec<_> = read.thread.turns.into_iter().map(|turn| turn.status).collect();
    let cut = [Some(TurnStatus::Interrupted)];
    expect(statuses == cut, || format!("the turn that was cut shows as {statuses:?}"))?;
    client.start_turn(&thread, "suite: go on").await.map_err(words)?;
    let turn = client.turn_end(&thread).await.map_err(words)?;
    client.close().await;
    ended(&turn, &TurnStatus::Completed)?;
    let ran = lines(&workspace.join(RAN));
    expect(ran == 0, || "what was never allowed ran".to_owned())?;
    Ok(format!("after {exit} it went on in a new process"))
}

async fn open(
    client: &Client,
    sandbox: SandboxMode,
    policy: ApprovalPolicy,
) -> Result<ThreadId, String> {
    client.start_thread(sandbox, policy).await.map_err(words)
}

fn ended(turn: &Turn, wanted: &TurnStatus) -> Result<(), String> {
    expect(turn.status.as_ref() == Some(wanted), || {
        let error = turn.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
        format!("the turn ended as {:?} and not {wanted:?} {error}", turn.status)
    })
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "an error is given away where it is turned into words"
)]
fn words(error: ClientError) -> String {
    error.to_string()
}
