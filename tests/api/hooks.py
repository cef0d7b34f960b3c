"""What a document cannot say of a right request: that a folder, a Codex or a moment has to be there."""

import os
import time

import schemathesis


def whole(value):
    """1.0 is an integer to JSON Schema, and none to a reader who goes by how it is written."""
    if isinstance(value, dict):
        return {name: whole(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [whole(inner) for inner in value]
    # No reader who keeps numbers in eight bytes can tell one beyond them.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > 1e300:
        return 0
    return int(value) if isinstance(value, float) and value.is_integer() else value


@schemathesis.hook
def before_call(context, case, kwargs):
    if not case.meta.generation.mode.is_positive:
        return
    # One turn, or the first or last ones.
    if case.operation.label == "GET /v1/tasks/{task}/diff" and case.query and "turn" in case.query:
        case.query.pop("turns", None)
    if not isinstance(case.body, dict):
        return
    body = case.body = whole(case.body)
    # Two keys that differ name two requests, and are refused.
    if body.get("key") is not None and case.headers:
        case.headers.pop("Idempotency-Key", None)
    if case.operation.label == "POST /v1/tasks":
        body["cwd"] = os.environ["WORK"]
        for name in ["codex_home", "codex_version", "writable_roots", "config", "worktree", "notify"]:
            body.pop(name, None)
        # The operator has to allow it first.
        if body.get("sandbox") == "danger-full-access":
            body["sandbox"] = "workspace-write"
        if body.get("approval") == "never":
            body["approval"] = "on-request"
    # A fork of the thread stays in its folder; a fork from the log has all turns.
    if case.operation.label == "POST /v1/tasks/{task}/fork":
        body.pop("turn" if body.get("from_log") else "cwd", None)
        if body.get("cwd") is not None:
            body["cwd"] = os.environ["WORK"]
    # Codex says which models and efforts it has.
    for wish in [body, body.get("input")]:
        if isinstance(wish, dict) and case.operation.label.startswith("POST /v1/tasks"):
            wish.pop("model", None)
            wish.pop("effort", None)
    # A JSON schema in a string is text to whoever makes requests up.
    if isinstance(body.get("input"), dict):
        body["input"].pop("output_schema", None)
    for tool in body.get("tools") or []:
        tool["schema"] = "{}"
    # Only what is still to come can be an end.
    if case.operation.label == "POST /v1/tokens" and body.get("expires_at") is not None:
        body["expires_at"] = int(time.time() * 1000) + 60_000
