"""The official MCP client, as other programs use it. Each story ends with a line of JSON: what the test holds against the world."""

import asyncio
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys

import httpx2
import mcp_types
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

OSTLER = os.environ["OSTLER"]
INN = os.environ["INN"]
PATIENCE = 90


@contextlib.asynccontextmanager
async def connected(way, era, name="mcp-test"):
    """A session by `stdio` or `http`, that begins with `initialize` or, as the newest clients do, without."""
    client_info = mcp_types.Implementation(name=name, version="1")
    async with contextlib.AsyncExitStack() as stack:
        if way != "http":
            environment = {key: os.environ[key] for key in ("HOME", "OSTLER_HOME", "PATH")}
            words = ["mcp"] if way == "stdio" else ["tools-mcp"]
            server = StdioServerParameters(command=OSTLER, args=words, env=environment, cwd=INN)
            read, write = await stack.enter_async_context(stdio_client(server))
        else:
            headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=PATIENCE))
            read, write = await stack.enter_async_context(streamable_http_client(os.environ["URL"], http_client=http))
        session = ClientSession(read, write, read_timeout_seconds=PATIENCE, client_info=client_info)
        session = await stack.enter_async_context(session)
        await (session.initialize() if era == "initialize" else session.discover())
        expected = "ostler-tools" if way == "tools" else "ostler"
        assert session.server_info.name == expected, session.server_info
        yield session
        if way != "http":
            refuse_listening()


def listening(process):
    """The inodes of the sockets on which a process listens, by TCP or on a unix socket."""
    listen = set()
    for table in ("tcp", "tcp6"):
        rows = [line.split() for line in pathlib.Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]]
        listen |= {row[9] for row in rows if row[3] == "0A"}
    rows = [line.split() for line in pathlib.Path(f"/proc/{process}/net/unix").read_text().splitlines()[1:]]
    # The flag of a socket that accepts connections.
    listen |= {row[6] for row in rows if int(row[3], 16) & 0x10000}
    links = []
    for link in pathlib.Path(f"/proc/{process}/fd").iterdir():
        # The folder itself is open while it is looked through.
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(link))
    return listen & {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}


def refuse_listening():
    """A server on stdin and stdout opens no door, not even while it has worked."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        assert len(listening(os.getpid())) == 1, "an open door is not seen"
    stats = [pathlib.Path(f"/proc/{process}/stat") for process in os.listdir("/proc") if process.isdigit()]
    servers = []
    for stat in stats:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # Behind the name, which may have anything in it: the state, and who started it.
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                servers.append(stat.parent.name)
    assert servers, "the server is no child of ours"
    for server in servers:
        assert not listening(server), (server, listening(server))


async def call(session, tool, **arguments):
    """What a tool gave back. It must have gone well."""
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, (tool, arguments, result.content[0].text)
    return result.structured_content


async def refused(session, tool, **arguments):
    """What a tool said that did not go well."""
    result = await session.call_tool(tool, arguments)
    assert result.is_error, (tool, arguments, result.content[0].text)
    return result.content[0].text


def person(*words):
    """A person at the command line."""
    done = subprocess.run([OSTLER, *words, "--json"], cwd=INN, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return json.loads(done.stdout)


async def until(is_so, what):
    """Waits for what another process does."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.02)
    return what


async def steering(session, way):
    """start → status → steer → interrupt, once by separate tools and once by `codex_bridge`."""
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    started = await call(
        session, "codex_start", prompt="harness the horse", cwd=INN, sandbox="workspace-write", approval_policy="on-request", model=None,
        notify_target="local",
    )
    task = started["task_id"]
    await until(lambda: pathlib.Path(INN, "begun").exists(), "the command runs")
    status = await call(session, "codex_bridge", action="status", task_id=task)
    steered = await call(session, "codex_steer", task_id=task, instruction="mind the left hoof")
    pathlib.Path(INN, "go").touch()
    await until(lambda: pathlib.Path(INN, "begun-again").exists(), "the next command runs")
    told = []

    async def progress(done, total, message):
        told.append(message)

    waited = await session.call_tool("codex_wait", {"task_id": task, "timeout_s": 1}, progress_callback=progress)
    ended = await call(session, "codex_bridge", action="cancel", task_id=task)
    again = await refused(session, "codex_steer", task_id=task, instruction="trot")
    over = await refused(session, "codex_bridge", action="interrupt", task_id=task)
    mine = await call(session, "codex_list", mine=True)
    news = await call(session, "codex_bridge", action="notify_completed", dry_run=True)
    once = await call(session, "codex_bridge", action="notify_completed")
    twice = await call(session, "codex_bridge", action="notify_completed")
    templates = (await session.list_resource_templates()).resource_templates
    resources = (await session.list_resources()).resources
    log = (await session.read_resource(f"ostler://tasks/{task}/log")).contents[0].text
    diff = (await session.read_resource(f"ostler://tasks/{task}/diff")).contents[0]
    try:
        await session.read_resource("ostler://tasks/nosuchtask/log")
        missing = None
    except MCPError as error:
        missing = error.error.message
    return {
        "tools": {
            name: [tool.annotations.read_only_hint, tool.annotations.destructive_hint, tool.input_schema["additionalProperties"]]
            for name, tool in tools.items()
        },
        "started": [started["sandbox"], started["approval_policy"]],
        "status": [status["status"], len(status["events"]) > 3, status["pending_requests"]],
        "steered": steered["status"],
        "waited": [waited.structured_content["timed_out"], bool(told) and all("working" in word for word in told)],
        "ended": [ended["status"], ended["has_ended"]],
        "again": again,
        "over": over,
        "mine": [found["task_id"] == task for found in mine["tasks"]],
        "news": [[len(found["notifications"]) for found in (news, once, twice)], once["notifications"][0]["status"]],
        "deliveries": [[told["target"], told["kind"]] for told in once["notifications"][0]["deliveries"]],
        "templates": sorted(template.uri_template for template in templates),
        "resources": f"ostler://tasks/{task}/diff" in {str(resource.uri) for resource in resources},
        "log": ["[user] harness the horse" in log, "mind the left hoof" in log],
        "diff": diff.mime_type,
        "missing": missing,
        "by": ended["started_by"],
    }


async def approval(session, way):
    """start → needs approval → refused → a person answers → completed."""
    started = await call(session, "codex_bridge", action="start", prompt="harness the horse", cwd=INN, sandbox="workspace-write")
    task = started["task_id"]
    waited = (await call(session, "codex_wait", task_id=task, timeout_s=80))["tasks"][0]
    ask = waited["pending_requests"][0]["request_id"]
    asks = (await call(session, "codex_asks"))["pending_requests"]
    plain = await refused(session, "codex_respond", task_id=task, decision="accept")
    bridge = await refused(session, "codex_bridge", action="respond", task_id=task, instruction=ask, decision="accept")
    still = (await call(session, "codex_status", task_id=task))["status"]
    person("answer", ask, "once")
    done = (await call(session, "codex_wait", task_id=task, timeout_s=80))["tasks"][0]
    more = await call(session, "codex_send", task_id=task, prompt="feed the horse")
    fed = (await call(session, "codex_wait", task_id=task, timeout_s=80))["tasks"][0]
    logs = await call(session, "codex_logs", task_id=task, limit=200)
    return {
        "task": task,
        "waits": [waited["status"], waited["needs_a_person"], waited["pending_requests"][0]["kind"], [it["request_id"] for it in asks] == [ask]],
        "refused": [f"ostler answer {ask}" in text for text in (plain, bridge)],
        "still": still,
        "done": [done["status"], done["final_answer"]],
        "fed": [more["task_id"] == task, fed["final_answer"], fed["turns"]],
        "logs": "[command (exit 0)]" in logs["log"],
    }


async def deciding(session, way):
    """A program that the operator has named decides."""
    started = await call(session, "codex_start", prompt="harness the horse", cwd=INN, sandbox="workspace-write")
    waited = (await call(session, "codex_wait", task_id=started["task_id"], timeout_s=80))["tasks"][0]
    answered = await call(session, "codex_respond", request_id=waited["pending_requests"][0]["request_id"], decision="accept")
    done = (await call(session, "codex_wait", task_id=started["task_id"], timeout_s=80))["tasks"][0]
    return {"by": answered["decision"]["by"], "done": [done["status"], done["final_answer"]]}


async def questions(session, way):
    """Words as models write them, a key, and a question that the program that started the task answers."""
    tools = (await session.list_tools()).tools
    loose = {
        "action": " START ", "prompt": "feed the horse", "cwd": INN, "sandbox": "", "approval_policy": " On-Request ", "model": "",
        "codex_home": " ", "notify_target": "", "key": "k1", "developer_instructions": "Speak of horses alone.",
    }
    first = await call(session, "codex_bridge", **loose)
    second = await call(session, "codex_bridge", **loose)
    await call(session, "codex_wait", task_id=first["task_id"], timeout_s=80)
    started = await call(session, "codex_start", prompt="harness the horse", cwd=INN, plan=True)
    waited = (await call(session, "codex_wait", task_id=started["task_id"], timeout_s=80))["tasks"][0]
    ask = waited["pending_requests"][0]
    answers = {ask["what"][0]["id"]: {"answers": ["Bay"]}}
    async with connected(way, "initialize", "somebody-else") as other:
        foreign = await refused(other, "codex_respond", request_id=ask["request_id"], answers=answers)
    answered = await call(session, "codex_respond", request_id=ask["request_id"], answers=answers)
    done = (await call(session, "codex_wait", task_id=started["task_id"], timeout_s=80))["tasks"][0]
    return {
        "without a schema": [tool.name for tool in tools if tool.output_schema is None],
        "known": [first["known"], second["known"], first["task_id"] == second["task_id"]],
        "started": [first["sandbox"], first["approval_policy"]],
        "waits": [waited["status"], ask["kind"]],
        "foreign": foreign,
        "answered": answered["request_id"] == ask["request_id"],
        "done": [done["status"], done["final_answer"]],
    }


async def refusals(session, way):
    """What is refused, in words that say what to do."""
    start = {"action": "start", "prompt": "harness the horse", "cwd": INN}
    unknown = None
    try:
        result = await session.call_tool("codex_fly", {})
    except MCPError as error:
        unknown = error.error.message
    return {
        "empty": await refused(session, "codex_bridge", **(start | {"prompt": "  "})),
        "sandbox": await refused(session, "codex_bridge", **(start | {"sandbox": "danger-full-access"})),
        "approval": await refused(session, "codex_bridge", **(start | {"approval_policy": "never"})),
        "target": await refused(session, "codex_bridge", **(start | {"notify_target": "carrier-pigeon"})),
        "address": await refused(session, "codex_bridge", **(start | {"notify_target": "https://collector.invalid/a"})),
        "folder": await refused(session, "codex_bridge", **(start | {"cwd": "stable"})),
        "action": await refused(session, "codex_bridge", action="fly"),
        "field": await refused(session, "codex_start", prompt="harness", horse="bay"),
        "no task": await refused(session, "codex_status", task_id="nosuchtask"),
        "no id": await refused(session, "codex_status", task_id="../../v1/tokens"),
        "no ask": await refused(session, "codex_bridge", action="respond", instruction="nosuchask"),
        "unknown": unknown,
    }


async def scopes(session, way):
    """What a token may that can only read."""
    return {
        "list": (await call(session, "codex_list"))["tasks"],
        "start": await refused(session, "codex_start", prompt="harness the horse", cwd=INN),
    }


async def offered(session, way):
    """What Codex is offered."""
    tools = (await session.list_tools()).tools
    hints = lambda it: [it.read_only_hint, it.destructive_hint, it.idempotent_hint, it.open_world_hint]
    never = {}
    for name in ("terminal", "read_file", "write_file", "patch", "search_files", "delegate_task", "skill_manage"):
        try:
            await session.call_tool(name, {})
        except MCPError as error:
            never[name] = error.error.message
    todos = await session.call_tool("todo", {"todos": None})
    wrong = await refused(session, "todo", todos="shoe the horse")
    todo = {"id": "1", "content": "shoe the horse", "status": "pending"}
    kept = await session.call_tool("todo", {"todos": [todo]})
    assert json.loads(kept.content[0].text)["open"] == 1, kept
    return {
        "tools": [
            {"name": it.name, "description": it.description, "schema": it.input_schema, "hints": hints(it.annotations)} for it in tools
        ],
        "never": never,
        "todos": json.loads(todos.content[0].text),
        "wrong": wrong,
    }


async def main():
    story, way, era, name = sys.argv[1:5]
    async with connected(way, era, name) as session:
        told = await globals()[story](session, way)
    print(json.dumps(told))


asyncio.run(main())
