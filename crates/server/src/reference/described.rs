//! What each route is for, and what goes in and out.

/// What a request has in its body.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    None,
    Json(&'static str),
    File,
}

/// What an answer is made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    Json(&'static str),
    /// Server-sent events, or lines of JSON.
    Stream(&'static str),
    Lines(&'static str),
    Text(&'static str),
    File,
    /// A script, a style, a font or a picture of the page.
    Part,
    /// A message of MCP, or several as server-sent events.
    Mcp,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Described {
    pub(super) summary: &'static str,
    /// Name, with a `!` if it must be there; kind; what it means.
    pub(super) query: &'static [(&'static str, &'static str, &'static str)],
    pub(super) body: Body,
    pub(super) answer: Answer,
    pub(super) statuses: &'static [u16],
}

type Query = &'static [(&'static str, &'static str, &'static str)];

const LIST: Query = &[
    ("state", "states", "states, separated by commas"),
    ("cwd", "string", "the folder that they were started in"),
    ("mine", "boolean", "only those that the caller has started"),
    ("q", "string", "words of the title, or the start of the id"),
    ("before", "cursor", "the `next` of the page before"),
    ("limit", "count", "at most 500; 50 without it"),
];
const EVENTS: Query = &[
    ("after", "count", "the last seq that was seen"),
    ("follow", "boolean", "for lines: go on at the end of the log; server-sent events always do"),
    ("wire", "boolean", "Codex's own lines, too, as they come; none is kept"),
    (
        "board",
        "boolean",
        "the lines of /v1/events, too, each as `board`; only in server-sent events",
    ),
];
const ITEMS: Query = &[
    ("turn", "string", "only those of this turn"),
    ("after", "place", "the `next` of the page before"),
    ("limit", "count", "at most 500; 100 without it"),
];
const ALL_EVENTS: Query = &[(
    "after",
    "count",
    "the logs of all tasks, too: all events behind this place; 0 is the beginning",
)];
const ENDS: Query = &[("limit", "count", "at most 500; 10 without it")];
const OF_TURN: Query = &[("turn", "string", "only those of this turn")];
const BY_KEY: Query = &[("key", "string", "only what was given under this key")];
const DIFF: Query = &[
    ("turns", "turns", "`last` or `all`, for a task without a worktree; not with `turn`"),
    ("turn", "turn", "only this turn, by its number"),
];
const DECISION: Query =
    &[("wait_s", "count", "how long to wait, at most 60; then it is given as it stands")];
const NOTIFICATIONS: Query = &[
    ("task", "id", "only those of this task"),
    ("state", "delivery", "only those that stand so"),
    ("unread", "boolean", "only those that are shown here and nobody has looked at"),
    ("before", "place", "the `next` of the page before"),
    ("limit", "count", "at most 500; 50 without it"),
];
const AUDIT: Query = &[
    ("kind", "audit", "only entries of this kind"),
    ("refusals", "boolean", "only those that refuse"),
    ("task", "id", "only those of this task"),
    ("who", "string", "a part of who it was"),
    ("since", "place", "only from then on, in Unix milliseconds"),
    ("before", "place", "the `next` of the page before"),
    ("after", "place", "the oldest first, those after this number; the `next` of the page before"),
    ("limit", "count", "at most 500; 50 without it"),
];
const NAME: Query = &[("name!", "name", "what the file is called")];

const OK: &[u16] = &[200];
/// With a `Range`, which every client may send and which is no parameter: one that cannot be read asks for nothing.
const PART: &[u16] = &[200, 206];
const CREATED: &[u16] = &[201];
const ACCEPTED: &[u16] = &[202];

const fn get(summary: &'static str, answer: Answer) -> Described {
    Described { summary, query: &[], body: Body::None, answer, statuses: OK }
}

const fn asked(summary: &'static str, query: Query, answer: Answer) -> Described {
    Described { summary, query, body: Body::None, answer, statuses: OK }
}

const fn post(
    summary: &'static str,
    body: &'static str,
    answer: &'static str,
    statuses: &'static [u16],
) -> Described {
    Described {
        summary,
        query: &[],
        body: Body::Json(body),
        answer: Answer::Json(answer),
        statuses,
    }
}

const ALL: &[(&str, &str, Described)] = &[
    ("GET", "/", get("The page", Answer::Text("text/html"))),
    (
        "GET",
        "/login",
        get("The page, for whoever comes by a link that logs in", Answer::Text("text/html")),
    ),
    ("GET", "/assets/{file}", get("Its parts", Answer::Part)),
    ("GET", "/openapi.json", get("This document", Answer::Json("Anything"))),
    ("GET", "/docs", get("This document for people", Answer::Text("text/html"))),
    ("GET", "/docs/style.css", get("How it looks", Answer::Text("text/css"))),
    (
        "GET",
        "/v1/health",
        get("Who serves, and as whom it sees the caller", Answer::Json("Health")),
    ),
    ("GET", "/v1/ready", get("Whether a task would be taken", Answer::Json("Ready"))),
    ("GET", "/metrics", get("Numbers for Prometheus", Answer::Text("text/plain"))),
    (
        "POST",
        "/mcp",
        Described {
            summary: "MCP over streamable HTTP, for programs with a token; docs/mcp.md says what it offers",
            query: &[],
            body: Body::Json("Anything"),
            answer: Answer::Mcp,
            statuses: &[200, 202],
        },
    ),
    ("POST", "/v1/daemon/stop", post("End the daemon; turns go on", "Stop", "Stopping", ACCEPTED)),
    (
        "POST",
        "/v1/login-codes",
        post("A code by which a browser logs in once", "Empty", "LoginCode", CREATED),
    ),
    ("POST", "/v1/login", post("Log a browser in", "LoginRequest", "LoggedIn", OK)),
    ("POST", "/v1/logout", post("Log out", "Empty", "Empty", OK)),
    ("GET", "/v1/session", get("Who is logged in", Answer::Json("Session"))),
    (
        "GET",
        "/v1/tokens",
        get(
            "The tokens and logins that count, without the secrets themselves",
            Answer::Json("TokenList"),
        ),
    ),
    ("POST", "/v1/tokens", post("Make a token; it is told once", "NewToken", "TokenMade", CREATED)),
    (
        "DELETE",
        "/v1/tokens/{token}",
        get("Let a token or a login count no more", Answer::Json("Key")),
    ),
    (
        "GET",
        "/v1/tasks",
        asked("Tasks, the one that changed last first", LIST, Answer::Json("TaskList")),
    ),
    ("POST", "/v1/tasks", post("Start a task", "StartRequest", "StartAnswer", &[200, 201])),
    ("GET", "/v1/tasks/{task}", get("How a task stands", Answer::Json("TaskDetail"))),
    ("DELETE", "/v1/tasks/{task}", get("Forget a task", Answer::Json("Removed"))),
    (
        "POST",
        "/v1/tasks/{task}/send",
        post("Give a task more to do", "SendRequest", "Accepted", ACCEPTED),
    ),
    (
        "POST",
        "/v1/tasks/{task}/steer",
        post(
            "Say something into the turn that runs; refused if none runs (409)",
            "SendRequest",
            "Accepted",
            ACCEPTED,
        ),
    ),
    (
        "POST",
        "/v1/tasks/{task}/interrupt",
        post("End the turn that runs; refused if none runs (409)", "Empty", "Accepted", ACCEPTED),
    ),
    (
        "POST",
        "/v1/tasks/{task}/goal",
        post("Set, pause, resume or clear its goal", "GoalRequest", "Accepted", ACCEPTED),
    ),
    (
        "POST",
        "/v1/tasks/{task}/release",
        post("Close what Codex has open for it", "Empty", "Released", OK),
    ),
    (
        "POST",
        "/v1/tasks/{task}/fork",
        post("Go on with a copy", "ForkRequest", "StartAnswer", &[200, 201]),
    ),
    (
        "GET",
        "/v1/tasks/{task}/events",
        asked("How the task stands, its log, and what comes", EVENTS, Answer::Stream("Line")),
    ),
    (
        "POST",
        "/v1/tasks/{task}/tool-calls/take",
        post(
            "Run a call of a tool that was offered with the task",
            "TakeToolCall",
            "ToolCallTaken",
            OK,
        ),
    ),
    (
        "POST",
        "/v1/tasks/{task}/tool-calls/finish",
        post("What the call came to", "FinishToolCall", "ToolCallFinished", OK),
    ),
    ("GET", "/v1/tasks/{task}/turns", get("Its turns", Answer::Json("Turns"))),
    ("GET", "/v1/tasks/{task}/items", asked("What was done in them", ITEMS, Answer::Json("Items"))),
    (
        "GET",
        "/v1/tasks/{task}/messages",
        asked("The same as chat messages", OF_TURN, Answer::Json("Messages")),
    ),
    (
        "GET",
        "/v1/tasks/{task}/receipts",
        asked(
            "What it was given to do, and the proof that it ran",
            BY_KEY,
            Answer::Json("Receipts"),
        ),
    ),
    ("GET", "/v1/tasks/{task}/why", get("Why it stands where it stands", Answer::Json("Why"))),
    (
        "GET",
        "/v1/tasks/{task}/notifications/preview",
        get(
            "What it would tell its targets as it stands; nothing is sent",
            Answer::Json("Previews"),
        ),
    ),
    ("GET", "/v1/tasks/{task}/diff", asked("What it has changed", DIFF, Answer::Json("TaskDiff"))),
    (
        "GET",
        "/v1/tasks/{task}/files",
        get("The files that it was given", Answer::Json("StoredFiles")),
    ),
    (
        "POST",
        "/v1/tasks/{task}/files",
        Described {
            summary: "Give it a file; the path can stand in an input",
            query: NAME,
            body: Body::File,
            answer: Answer::Json("StoredFile"),
            statuses: CREATED,
        },
    ),
    (
        "GET",
        "/v1/tasks/{task}/files/{*path}",
        Described {
            summary: "A file in its folder, or one that it was given; also a part of it",
            query: &[],
            body: Body::None,
            answer: Answer::File,
            statuses: PART,
        },
    ),
    (
        "POST",
        "/v1/tasks/{task}/worktree/merge",
        post("Merge its worktree", "Empty", "WorktreeMerged", OK),
    ),
    (
        "POST",
        "/v1/tasks/{task}/worktree/remove",
        post("Remove its worktree", "RemoveWorktree", "WorktreeRemoved", OK),
    ),
    ("GET", "/v1/worktrees", get("The worktrees of tasks", Answer::Json("Worktrees"))),
    (
        "GET",
        "/v1/ends",
        asked(
            "Tasks of the caller that have ended and of which it was not told, the oldest end first",
            ENDS,
            Answer::Json("Ends"),
        ),
    ),
    ("POST", "/v1/ends/told", post("The caller knows these ends", "EndsTold", "EndsTold", OK)),
    (
        "GET",
        "/v1/events",
        asked("All tasks and asks, and what changes", ALL_EVENTS, Answer::Stream("BoardLine")),
    ),
    ("GET", "/v1/changes", get("Which tasks change", Answer::Lines("Change"))),
    ("GET", "/v1/asks", get("All that waits for a person", Answer::Json("AskList"))),
    ("GET", "/v1/asks/{ask}", get("One ask", Answer::Json("AskRecord"))),
    (
        "POST",
        "/v1/asks/{ask}/answer",
        post("Decide it; the first decision counts", "AnswerRequest", "AskRecord", OK),
    ),
    (
        "POST",
        "/v1/host-asks",
        post("Put a question of a host agent's own tool", "HostAskRequest", "AskRecord", OK),
    ),
    (
        "DELETE",
        "/v1/host-asks/{ask}",
        get("Take it back; nobody needs the answer any more", Answer::Json("AskRecord")),
    ),
    (
        "GET",
        "/v1/host-asks/{ask}/decision",
        asked("Wait until it is decided", DECISION, Answer::Json("AskRecord")),
    ),
    (
        "GET",
        "/v1/notifications",
        asked(
            "Who was told what, the newest first",
            NOTIFICATIONS,
            Answer::Json("NotificationList"),
        ),
    ),
    (
        "POST",
        "/v1/notifications/read",
        post("Say that somebody has looked", "NotificationsRead", "NotificationsRead", OK),
    ),
    (
        "GET",
        "/v1/notifications/{notification}",
        get("One of them, with its attempts and its receipt", Answer::Json("Notification")),
    ),
    (
        "POST",
        "/v1/notifications/{notification}/replay",
        post("Send it again, under the same name", "Empty", "Notification", ACCEPTED),
    ),
    (
        "GET",
        "/v1/audit",
        asked(
            "Who was refused what, and who decided what; the newest first",
            AUDIT,
            Answer::Json("AuditList"),
        ),
    ),
    (
        "POST",
        "/v1/audit/read",
        post("Say that somebody has looked at the audit log", "AuditRead", "AuditRead", OK),
    ),
    ("GET", "/v1/rules", get("The rules that decide without a person", Answer::Json("RuleList"))),
    (
        "POST",
        "/v1/rules",
        post("Make a rule; a name of the configuration's is refused (409)", "Rule", "Rule", OK),
    ),
    (
        "DELETE",
        "/v1/rules/{rule}",
        get(
            "Remove a rule; one of the configuration is refused (409)",
            Answer::Json("RuleRemoved"),
        ),
    ),
    ("GET", "/v1/app-servers", get("The app-servers that run", Answer::Json("AppServerList"))),
    ("GET", "/v1/models", get("The models that a task can have", Answer::Json("ModelList"))),
    ("GET", "/v1/limits", get("What is left of the accounts", Answer::Json("LimitList"))),
    (
        "GET",
        "/v1/defaults",
        get("What a form for a new task begins with", Answer::Json("Defaults")),
    ),
    ("POST", "/v1/gc", post("Forget what retention does not keep", "Empty", "SweepReport", OK)),
];

pub(super) fn described(method: &str, path: &str) -> Option<Described> {
    let mut found = ALL.iter().filter(|(own, at, _)| (*own, *at) == (method, path));
    found.next().map(|(_, _, about)| *about)
}

#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().map(|(method, path, _)| (*method, *path))
}
