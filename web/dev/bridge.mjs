// For work on the page only; nothing of it is shipped. Serves dist/ with the daemon's own headers, and the API on canned
// tasks, see scenes.mjs.
//   node dev/bridge.mjs [--port PORT] [--logged-out]

import { createReadStream, existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stage } from './stage.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? null : (process.argv[at + 1] ?? '');
};
const port = Number(option('--port') ?? 7878);
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const SESSION = { name: 'ada', scopes: ['read', 'operate', 'decide'], login: 'log1' };
const WORD = 'word-of-the-bridge';

const json = (response, value, status = 200) => {
  response.writeHead(status, { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' });
  response.end(JSON.stringify(value));
};
const problem = (response, status, detail, more = {}) =>
  json(response, { type: 'urn:ostler:problem:x', title: detail, status, detail, ...more }, status);
const body = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
};

function sse(request, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' });
  response.write('retry: 1000\n\n');
  const ping = setInterval(() => response.write(': ping\n\n'), 15_000);
  request.on('close', () => clearInterval(ping));
  return (line) => {
    const id = line.line === 'event' ? `id: ${line.seq}\n` : '';
    response.write(`${id}event: ${line.line}\ndata: ${JSON.stringify(line)}\n\n`);
  };
}

function page(request, response, path) {
  const name = path === '/' || path === '/login' ? 'index.html' : normalize(path).slice(1);
  const file = join(root, 'dist', name);
  if (!file.startsWith(join(root, 'dist')) || !existsSync(file)) return problem(response, 404, 'there is no such thing');
  response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-security-policy': CSP, 'x-content-type-options': 'nosniff' });
  createReadStream(file).pipe(response);
}

const serve = stage({ json, problem, body, sse });

let loggedIn = !process.argv.includes('--logged-out');
let loggedInByCode = false;
const server = http
  .createServer(async (request, response) => {
    const address = new URL(request.url, 'http://bridge');
    const path = address.pathname;
    if (!path.startsWith('/v1/')) return page(request, response, path);
    if (path === '/v1/login') {
      const { code } = JSON.parse(await body(request));
      if (code !== 'open-sesame') return problem(response, 401, 'this code is not known, or was used before', { hint: 'run `ostler open` for a fresh one' });
      loggedIn = loggedInByCode = true;
      return json(response, { csrf: WORD });
    }
    if (path === '/v1/logout') {
      loggedIn = false;
      return json(response, {});
    }
    if (!loggedIn) return problem(response, 401, 'nobody is logged in');
    if (path === '/v1/session') return json(response, SESSION);
    // A page that begins logged in was never told the word.
    if (loggedInByCode && request.headers['x-ostler-csrf'] !== WORD) return problem(response, 401, 'the word is missing');
    try {
      await serve(request, response, address);
    } catch (error) {
      console.error(error);
      if (!response.headersSent) problem(response, 503, String(error));
    }
  })
  .listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`, existsSync(join(root, 'dist/index.html')) ? readFileSync(join(root, 'dist/SOURCES.sha256'), 'utf8').trim() : 'no dist'));
