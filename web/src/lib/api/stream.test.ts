import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openStream, type Listener } from './stream';

// A page in miniature: what the stream touches of the browser, and a clock that the test turns.
const listeners = new Map<string, () => void>();
const page = { visibilityState: 'visible', addEventListener: (name: string, told: () => void) => listeners.set(name, told), removeEventListener: () => {} };
let requests: { address: string; signal: AbortSignal; send: (text: string) => void; end: () => void }[] = [];
let answers: (() => Response | Promise<Response>)[] = [];

function serving(address: string, { signal }: { signal: AbortSignal }): Promise<Response> {
  const canned = answers.shift();
  if (canned !== undefined) return Promise.resolve(canned());
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener('abort', () => controller.error(new Error('aborted')));
        const send = (text: string) => controller.enqueue(new TextEncoder().encode(text));
        requests.push({ address, signal, send, end: () => controller.close() });
      },
    });
    resolve(new Response(body));
  });
}

function listening(mayRest = true) {
  const heard: string[] = [];
  const may = { rest: mayRest };
  const listener: Listener = {
    frames: (frames) => heard.push(...frames.map((frame) => frame.data)),
    connected: (is) => heard.push(is ? 'up' : 'down'),
    refused: (status) => heard.push(`refused ${status}`),
    mayRest: () => may.rest,
  };
  return { heard, listener, may };
}

beforeEach(() => {
  vi.useFakeTimers();
  [requests, answers] = [[], []];
  page.visibilityState = 'visible';
  vi.stubGlobal('document', page);
  vi.stubGlobal('window', page);
  vi.stubGlobal('fetch', serving);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

it('comes back after the connection broke, from where it stands by then', async () => {
  let last = 0;
  const { heard, listener } = listening();
  const stream = openStream(() => `/events?after=${last}`, listener);
  await pass(0);
  requests[0]?.send('data: one\n\n');
  await pass(0);
  last = 1;
  requests[0]?.end();
  await pass(2_000);
  expect(heard).toEqual(['up', 'one', 'down', 'up']);
  expect(requests.map((request) => request.address)).toEqual(['/events?after=0', '/events?after=1']);
  stream.close();
});

it('tries on while there is no daemon, and stops when it is refused', async () => {
  answers = [() => Promise.reject(new TypeError('no')), () => new Response('', { status: 503 }), () => new Response('{}', { status: 401 })];
  const { heard, listener } = listening();
  const stream = openStream(() => '/', listener);
  await pass(60_000);
  expect(heard).toEqual(['down', 'down', 'refused 401']);
  stream.close();
});

it('takes a connection on which nothing is heard for dead', async () => {
  const { heard, listener } = listening();
  const stream = openStream(() => '/', listener);
  await pass(39_000);
  requests[0]?.send(': ping\n\n');
  await pass(39_000);
  expect(requests.length).toBe(1);
  await pass(10_000);
  expect([requests.length, requests[0]?.signal.aborted, heard]).toEqual([2, true, ['up', 'down', 'up']]);
  stream.close();
});

it('rests while nobody looks, unless it must not, and is back at once', async () => {
  for (const mayRest of [true, false]) {
    requests = [];
    page.visibilityState = 'visible';
    const { listener } = listening(mayRest);
    const stream = openStream(() => '/', listener);
    await pass(0);
    page.visibilityState = 'hidden';
    await pass(35_000);
    expect(requests[0]?.signal.aborted).toBe(mayRest);
    await pass(60_000);
    expect(requests.length).toBe(1);
    page.visibilityState = 'visible';
    listeners.get('visibilitychange')?.();
    await pass(0);
    expect(requests.length).toBe(2);
    stream.close();
  }
});

it('begins at rest in a tab that is opened behind others, unless it must not', async () => {
  for (const mayRest of [true, false]) {
    requests = [];
    page.visibilityState = 'hidden';
    const { listener } = listening(mayRest);
    const stream = openStream(() => '/', listener);
    await pass(60_000);
    expect(requests.length > 0).toBe(!mayRest);
    listeners.get('online')?.();
    await pass(0);
    expect(requests.length > 0).toBe(!mayRest);
    page.visibilityState = 'visible';
    listeners.get('visibilitychange')?.();
    await pass(0);
    expect(requests.length > 0).toBe(true);
    stream.close();
  }
});

it('wakes up behind others when it has to watch for all of them', async () => {
  page.visibilityState = 'hidden';
  const { heard, listener, may } = listening();
  const stream = openStream(() => '/', listener);
  await pass(60_000);
  expect(heard).toEqual([]);
  may.rest = false;
  await pass(6_000);
  expect(heard).toEqual(['up']);
  stream.close();
});

it('is silent once it is closed', async () => {
  const { heard, listener } = listening();
  openStream(() => '/', listener).close();
  await pass(60_000);
  expect([heard.filter((word) => word !== 'up'), requests.length]).toEqual([[], 1]);
});
