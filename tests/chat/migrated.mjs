// An MCP server with one tool that only reads: on stdio, or over streamable HTTP for those who bring the right token.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [, , way, tool] = process.argv;
const backwards = (text) => [...(text ?? "nothing")].reverse().join("");
const backwardsAll = () => backwards([...process.argv.slice(4), process.env.STRAW_DB, process.env.STRAW_WEBHOOK_URL].join(" "));
const inputSchema = { type: "object", properties: {} };

const answer = ({ method, params }, said) => {
  if (method === "initialize") {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: tool, version: "1.0.0" } };
  }
  if (method === "tools/list") {
    return { tools: [{ name: tool, description: "Reads.", inputSchema, annotations: { readOnlyHint: true } }] };
  }
  if (method === "tools/call") return { content: [{ type: "text", text: said() }] };
  return {};
};

if (way === "stdio") {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.id === undefined) return;
    // Backwards it is not the secret any more, and tells that it arrived.
    const said = tool === "bind" ? backwardsAll : () => `${tool} with ${backwards(process.env.HAY_TOKEN)} in ${process.env.STABLE}`;
    const result = answer(message, said);
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }) + "\n");
  });
} else {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    if (request.headers.authorization !== `Bearer ${process.env.EXPECTED}`) {
      return response.writeHead(401).end();
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(text);
    if (message.id === undefined) return response.writeHead(202).end();
    const result = answer(message, () => `${tool} for ${request.headers["x-team"]}`);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
