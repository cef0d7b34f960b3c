//! Every route with what it needs. A route that is added is added here, by somebody who has thought about it.

use ostler_server::guard::Need;
use ostler_server::routes::table;

#[test]
fn every_route_needs_what_it_should() {
    use Need::{Decide, DecideNoted, House, Login, Open, Operate, OperateAsPerson, Read};
    let mut expected = [
        ("GET", "/", Open),
        ("GET", "/assets/{file}", Open),
        ("GET", "/docs", Open),
        ("GET", "/docs/style.css", Open),
        // Each of its tools needs what the route needs that it stands for.
        ("POST", "/mcp", Login),
        ("GET", "/metrics", Read),
        ("GET", "/openapi.json", Open),
        ("GET", "/v1/app-servers", Read),
        ("GET", "/v1/asks", Read),
        ("GET", "/v1/asks/{ask}", Read),
        ("POST", "/v1/asks/{ask}/answer", DecideNoted),
        // What an agent was refused for tells it what to try next.
        ("GET", "/v1/audit", Decide),
        ("POST", "/v1/audit/read", Decide),
        ("GET", "/v1/changes", Read),
        ("POST", "/v1/daemon/stop", Decide),
        ("GET", "/v1/defaults", Read),
        ("GET", "/v1/ends", Read),
        ("POST", "/v1/ends/told", Operate),
        ("GET", "/v1/events", Read),
        ("POST", "/v1/gc", OperateAsPerson),
        ("GET", "/v1/health", Read),
        ("POST", "/v1/host-asks", OperateAsPerson),
        ("DELETE", "/v1/host-asks/{ask}", OperateAsPerson),
        ("GET", "/v1/host-asks/{ask}/decision", Read),
        ("GET", "/v1/limits", Read),
        ("GET", "/login", Open),
        ("POST", "/v1/login", Open),
        ("POST", "/v1/login-codes", House),
        ("POST", "/v1/logout", Login),
        ("GET", "/v1/models", Read),
        ("GET", "/v1/notifications", Read),
        ("POST", "/v1/notifications/read", OperateAsPerson),
        ("GET", "/v1/notifications/{notification}", Read),
        ("POST", "/v1/notifications/{notification}/replay", OperateAsPerson),
        ("GET", "/v1/ready", Open),
        ("GET", "/v1/rules", Read),
        ("POST", "/v1/rules", Decide),
        ("DELETE", "/v1/rules/{rule}", Decide),
        ("GET", "/v1/session", Login),
        ("GET", "/v1/tasks", Read),
        ("POST", "/v1/tasks", Operate),
        ("DELETE", "/v1/tasks/{task}", OperateAsPerson),
        ("GET", "/v1/tasks/{task}", Read),
        ("GET", "/v1/tasks/{task}/diff", Read),
        ("GET", "/v1/tasks/{task}/events", Read),
        ("GET", "/v1/tasks/{task}/files", Read),
        ("POST", "/v1/tasks/{task}/files", Operate),
        ("GET", "/v1/tasks/{task}/files/{*path}", Read),
        ("POST", "/v1/tasks/{task}/fork", Operate),
        ("POST", "/v1/tasks/{task}/goal", Operate),
        ("POST", "/v1/tasks/{task}/interrupt", Operate),
        ("GET", "/v1/tasks/{task}/items", Read),
        ("GET", "/v1/tasks/{task}/messages", Read),
        ("GET", "/v1/tasks/{task}/notifications/preview", Read),
        ("GET", "/v1/tasks/{task}/receipts", Read),
        ("POST", "/v1/tasks/{task}/release", Operate),
        ("POST", "/v1/tasks/{task}/tool-calls/finish", OperateAsPerson),
        ("POST", "/v1/tasks/{task}/tool-calls/take", OperateAsPerson),
        ("POST", "/v1/tasks/{task}/send", Operate),
        ("POST", "/v1/tasks/{task}/steer", Operate),
        ("GET", "/v1/tasks/{task}/turns", Read),
        ("GET", "/v1/tasks/{task}/why", Read),
        ("POST", "/v1/tasks/{task}/worktree/merge", OperateAsPerson),
        ("POST", "/v1/tasks/{task}/worktree/remove", OperateAsPerson),
        ("GET", "/v1/tokens", Decide),
        ("POST", "/v1/tokens", Decide),
        ("DELETE", "/v1/tokens/{token}", Decide),
        ("GET", "/v1/worktrees", Read),
    ];
    expected.sort();
    let mut found: Vec<_> = table().iter().map(|row| (row.method, row.path, row.need)).collect();
    found.sort();
    assert_eq!(found, expected);
    // Whatever changes something is for more than readers.
    let is_lax = |need| matches!(need, Open | Read);
    let lax: Vec<_> =
        found.iter().filter(|(method, _, need)| *method != "GET" && is_lax(*need)).collect();
    assert_eq!(lax, [&("POST", "/v1/login", Open)]);
}
