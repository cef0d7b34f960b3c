// A tiny MCP server on stdio: one tool that must be approved, two that ask the person something.
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const waiting = new Map();
let asked = 0;

const ask = (params) =>
  new Promise((answered) => {
    const id = `ask-${++asked}`;
    waiting.set(id, answered);
    say({ id, method: "elicitation/create", params });
  });

const nothing = { type: "object", properties: {} };
const tools = [
  { name: "danger", description: "Destroys something.", inputSchema: nothing, annotations: { destructiveHint: true, readOnlyHint: false } },
  { name: "form", description: "Asks for a name.", inputSchema: nothing, annotations: { readOnlyHint: true } },
  { name: "url", description: "Wants a page opened.", inputSchema: nothing, annotations: { readOnlyHint: true } },
];

const questions = {
  form: {
    mode: "form",
    message: "Who rides?",
    requestedSchema: {
      type: "object",
      properties: { name: { type: "string", title: "Name" }, pace: { type: "string", enum: ["walk", "trot"] } },
      required: ["name"],
    },
  },
  url: { mode: "url", message: "Please sign in", url: "https://example.test/login", elicitationId: "sign-in-1" },
};

const call = async ({ name }) => {
  const question = questions[name];
  const outcome = question ? await ask(question) : { ran: name };
  return { content: [{ type: "text", text: JSON.stringify(outcome) }] };
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "tiny", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": call,
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    waiting.get(id)?.(result ?? { error });
    waiting.delete(id);
  } else if (id !== undefined) {
    const answer = answers[method];
    if (answer) say({ id, result: await answer(params ?? {}) });
    else say({ id, error: { code: -32601, message: `no ${method} here` } });
  }
});
