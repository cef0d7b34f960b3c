use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ostler_model::ask::{AskKind, CommandAsk, Permissions};
use ostler_model::task::{Approval, Sandbox, SandboxMode};
use ostler_model::{Decision, Input, ItemId, TaskId, TaskSettings, TurnEnd, TurnId, TurnResult};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::DelegateTask;
use crate::Activity;
use crate::ports::{PortError, Taken, TaskEnded, TaskNews, Tasks};
use crate::sandbox::{Boundary, Confinement};
use crate::tool::{Tool, ToolResult};
use crate::tools::ask_first::question;
use crate::tools::fakes::{Answer, FakeAsks, context};

#[derive(Default)]
struct FakeTasks {
    started: Mutex<Vec<(TaskSettings, Input, String)>>,
    interrupted: Mutex<usize>,
    news: Mutex<Vec<TaskNews>>,
    /// Its news never ends.
    keeps_on: bool,
    held: Mutex<Option<mpsc::Sender<TaskNews>>>,
    unreachable: bool,
}

impl Tasks for FakeTasks {
    fn start<'a>(
        &'a self,
        settings: TaskSettings,
        input: Input,
        key: &'a str,
    ) -> BoxFuture<'a, Result<TaskId, PortError>> {
        self.started.lock().unwrap().push((settings, input, key.to_owned()));
        let result = if self.unreachable {
            Err(PortError::Unreachable("no socket".into()))
        } else {
            Ok(TaskId::new("t1"))
        };
        Box::pin(async { result })
    }

    fn send<'a>(
        &'a self,
        _task: &'a TaskId,
        _input: Input,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        unreachable!("nobody sends")
    }

    fn steer<'a>(
        &'a self,
        _task: &'a TaskId,
        _text: String,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        unreachable!("nobody steers")
    }

    fn taken<'a>(
        &'a self,
        _task: &'a TaskId,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Taken, PortError>> {
        unreachable!("nobody steers")
    }

    fn interrupt<'a>(&'a self, _task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        *self.interrupted.lock().unwrap() += 1;
        Box::pin(async { Ok(()) })
    }

    fn follow<'a>(
        &'a self,
        _task: &'a TaskId,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<mpsc::Receiver<TaskNews>, PortError>> {
        let (sender, receiver) = mpsc::channel(10);
        for news in self.news.lock().unwrap().drain(..) {
            sender.try_send(news).unwrap();
        }
        if self.keeps_on {
            *self.held.lock().unwrap() = Some(sender);
        }
        Box::pin(async { Ok(receiver) })
    }

    fn take_call<'a>(
        &'a self,
        _task: &'a TaskId,
        call: &'a ItemId,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { Err(PortError::NotFound(call.to_string())) })
    }

    fn finish_call<'a>(
        &'a self,
        _task: &'a TaskId,
        call: &'a ItemId,
        _result: ToolResult,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { Err(PortError::NotFound(call.to_string())) })
    }

    fn release<'a>(&'a self, _task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        unreachable!("nobody goes away")
    }

    fn remove<'a>(&'a self, _task: &'a TaskId) -> BoxFuture<'a, Result<(), PortError>> {
        unreachable!("nobody removes")
    }
}

fn ended(end: TurnEnd, answer: &str) -> TaskNews {
    let result = TurnResult {
        turn: TurnId::new("turn"),
        inputs: Vec::new(),
        unanswered: Vec::new(),
        end,
        final_answer: Some(answer.into()),
        tool_iterations: 0,
        usage: Default::default(),
        plan: None,
        diff: None,
        unseen_changes: false,
        compacted: false,
        retries: 0,
        retire: false,
        elapsed_ms: 0,
    };
    TaskNews::Ended(Box::new(TaskEnded {
        thread: None,
        result: Some(result),
        earlier: Vec::new(),
        was_withdrawn: false,
        messages: Vec::new(),
        failure: None,
        last_reasoning: None,
    }))
}

/// Settings of the operator for tasks that would be wider than any agent.
fn wide() -> TaskSettings {
    let mut wide = TaskSettings { approval: Approval::Never, ..TaskSettings::default() };
    wide.sandbox = Sandbox {
        mode: SandboxMode::DangerFullAccess,
        writable_roots: vec!["/usr/lib".into(), "/srv".into()],
        network: true,
    };
    wide
}

fn boundary(mode: SandboxMode, approval: Approval, cwd: &Path) -> Arc<Boundary> {
    let sandbox = Sandbox { mode, ..Sandbox::default() };
    let protected = vec![cwd.join("home/settings")].into_iter().filter(|it| it.exists()).collect();
    let cwd = cwd.to_owned();
    Arc::new(Confinement { sandbox, approval, cwd, protected, ..Confinement::default() }.resolve())
}

async fn delegate(
    tasks: FakeTasks,
    arguments: Value,
) -> (ToolResult, Arc<FakeTasks>, Arc<FakeAsks>) {
    let tasks = Arc::new(tasks);
    let asks = FakeAsks::answering(Answer::of(Decision::Deny));
    let boundary = boundary(SandboxMode::WorkspaceWrite, Approval::OnRequest, Path::new("/usr"));
    let tool = DelegateTask::new(tasks.clone(), wide(), boundary);
    let result = tool.call(arguments, &context(&asks, "/usr")).await;
    (result, tasks, asks)
}

#[tokio::test]
async fn a_task_is_started_once_by_its_key_and_never_without_walls() {
    let arguments = json!({ "prompt": "count", "cwd": "bin/..", "model": "m", "effort": "low" });
    let (result, tasks, _) = delegate(FakeTasks::default(), arguments).await;

    let mut settings = TaskSettings {
        model: Some("m".into()),
        effort: Some("low".into()),
        ..TaskSettings::in_folder(std::fs::canonicalize("/usr/bin/..").unwrap().to_str().unwrap())
    };
    settings.sandbox = Sandbox {
        mode: SandboxMode::WorkspaceWrite,
        writable_roots: vec!["/usr/lib".into()],
        network: false,
    };
    let wanted = (settings, Input::text("count"), "conversation/call".to_owned());
    assert_eq!(*tasks.started.lock().unwrap(), [wanted]);
    assert_eq!(
        result,
        ToolResult::said("task t1 was started; `ostler show t1` and `ostler attach t1` show it")
    );
}

#[tokio::test]
async fn who_waits_gets_the_answer_and_people_see_the_questions() {
    let over = Activity::AskOver { ask: ostler_model::AskId::new("a"), how: "allowed".into() };
    let news = vec![
        TaskNews::Activity(Activity::Text("not for you".into())),
        TaskNews::Waits { why: "in line".into() },
        TaskNews::Activity(over.clone()),
        ended(TurnEnd::Completed, "42"),
    ];
    let tasks = FakeTasks { news: Mutex::new(news), ..FakeTasks::default() };
    let (result, _, asks) = delegate(tasks, json!({ "prompt": "count", "wait": true })).await;
    assert_eq!(result, ToolResult::said("task t1 has ended:\n42"));
    assert_eq!(asks.shown(), [Activity::Note("task t1 waits: in line".into()), over]);
}

#[tokio::test]
async fn what_goes_wrong_is_told() {
    let waiting = json!({ "prompt": "count", "wait": true });
    let interrupted = TurnEnd::Interrupted { by: ostler_model::Interrupter::Codex };
    let lost = TaskNews::Lost { why: "no socket".into() };
    let news = |news| FakeTasks { news: Mutex::new(vec![news]), ..FakeTasks::default() };
    let cases = [
        (
            news(ended(interrupted, "so far")),
            waiting.clone(),
            "task t1 was interrupted; its last words:\nso far",
        ),
        (
            news(lost),
            waiting,
            "task t1 was started and cannot be followed: no socket. It works on by itself; `ostler show t1` shows it",
        ),
        (
            FakeTasks { unreachable: true, ..FakeTasks::default() },
            json!({ "prompt": "count" }),
            "no task was started: the daemon cannot be reached: no socket",
        ),
        (
            FakeTasks::default(),
            json!({ "prompt": " " }),
            "`prompt` is empty; say what is to be done",
        ),
        (
            FakeTasks::default(),
            json!({ "prompt": "count", "cwd": "nowhere" }),
            "`cwd` is no folder: /usr/nowhere",
        ),
    ];
    for (tasks, arguments, wanted) in cases {
        assert_eq!(delegate(tasks, arguments).await.0, ToolResult::failed(wanted));
    }
}

#[tokio::test]
async fn a_stop_interrupts_the_task() {
    let tasks = Arc::new(FakeTasks { keeps_on: true, ..FakeTasks::default() });
    let asks = FakeAsks::answering(Answer::of(Decision::Deny));
    let boundary = boundary(SandboxMode::WorkspaceWrite, Approval::OnRequest, Path::new("/usr"));
    let tool = DelegateTask::new(tasks.clone(), TaskSettings::default(), boundary);
    let context = context(&asks, "/usr");
    context.stop.cancel();

    let result = tool.call(json!({ "prompt": "count", "wait": true }), &context).await;

    let wanted = "the turn was stopped, and so was task t1; `ostler show t1` shows how far it came";
    assert_eq!(result, ToolResult::failed(wanted));
    assert_eq!(*tasks.interrupted.lock().unwrap(), 1);
}

/// A workspace with what must be asked for in and around it.
fn workspace() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for name in ["work/sub", "work/.git", "work/home/settings", "beside"] {
        std::fs::create_dir_all(top.join(name)).unwrap();
    }
    (folder, top)
}

/// How many were asked, and what the task was started with, if it was.
async fn tried(
    mode: SandboxMode,
    approval: Approval,
    cwd: &str,
    answer: Decision,
) -> (usize, Option<(Sandbox, Approval)>) {
    let (_folder, top) = workspace();
    let work = top.join("work");
    let (tasks, asks) = (Arc::new(FakeTasks::default()), FakeAsks::answering(Answer::of(answer)));
    let tool = DelegateTask::new(tasks.clone(), wide(), boundary(mode, approval, &work));
    tool.call(json!({ "prompt": "go", "cwd": cwd }), &context(&asks, &work)).await;
    let started = tasks.started.lock().unwrap();
    let begun = started.first().map(|it| (it.0.sandbox.clone(), it.0.approval));
    (asks.asks().len(), begun)
}

#[tokio::test]
async fn a_task_is_no_way_around_the_agents_own_walls() {
    use Approval::{Never, OnRequest, Untrusted};
    use SandboxMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let held = |mode, approval| (Sandbox { mode, ..Sandbox::default() }, approval);
    let cases = [
        // In the workspace nobody is asked, and the task has the agent's own rights.
        (WorkspaceWrite, OnRequest, "sub", 0, Some(held(WorkspaceWrite, OnRequest))),
        (ReadOnly, OnRequest, "sub", 0, Some(held(ReadOnly, OnRequest))),
        // Elsewhere somebody is, and here everybody says no.
        (WorkspaceWrite, OnRequest, "../beside", 1, None),
        (WorkspaceWrite, OnRequest, "/", 1, None),
        (WorkspaceWrite, OnRequest, ".git", 1, None),
        (ReadOnly, OnRequest, "../beside", 1, None),
        // Its own settings are below it, or are it.
        (WorkspaceWrite, OnRequest, "home", 1, None),
        (WorkspaceWrite, OnRequest, "home/settings", 0, None),
        (ReadOnly, OnRequest, "home", 0, Some(held(ReadOnly, OnRequest))),
        // Who is asked of everything is asked of tasks.
        (WorkspaceWrite, Untrusted, "sub", 1, None),
        (ReadOnly, Untrusted, "sub", 1, None),
        (DangerFullAccess, Untrusted, "sub", 1, None),
        // Who is never asked has declined.
        (WorkspaceWrite, Never, "../beside", 0, None),
    ];
    for (mode, approval, cwd, asked, started) in cases {
        let found = tried(mode, approval, cwd, Decision::Deny).await;
        assert_eq!(found, (asked, started), "{mode:?} {approval:?} {cwd}");
    }
}

#[tokio::test]
async fn who_is_asked_sees_the_work_the_folder_and_the_rights_and_a_yes_starts_it() {
    let found =
        tried(SandboxMode::WorkspaceWrite, Approval::Untrusted, "../beside", Decision::Once).await;
    let sandbox = Sandbox { mode: SandboxMode::WorkspaceWrite, ..Sandbox::default() };
    assert_eq!(found, (1, Some((sandbox, Approval::Untrusted))));

    let (_folder, top) = workspace();
    let (work, beside) = (top.join("work"), top.join("beside").display().to_string());
    let asks = FakeAsks::answering(Answer::of(Decision::Deny));
    let boundary = boundary(SandboxMode::WorkspaceWrite, Approval::OnRequest, &work);
    let tool = DelegateTask::new(Arc::new(FakeTasks::default()), wide(), boundary);
    let arguments = json!({ "prompt": "append it", "cwd": beside });
    tool.call(arguments, &context(&asks, &work)).await;

    let kind = AskKind::Command(CommandAsk {
        command: Some("delegate_task append it".into()),
        cwd: Some(beside.clone()),
        extra: Some(Permissions { write: vec![beside.clone()], ..Permissions::default() }),
        ..CommandAsk::default()
    });
    let reason = format!("{beside} is outside of what may be written here");
    assert_eq!(asks.asks(), [question(kind, Some(reason))]);
}
