// How fast the page is, printed: its first paint, and a task of ten thousand items, which real Codex was told by the scripted model in one turn.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { stage } from './stage.mjs';

const ITEMS = 10_000;
/** The work that it takes until something is to be seen, which is the same on a machine that other programs keep busy. */
const FIRST_PAINT_WORK_MS = 500;
const TRIES = 5;
/** Those of a screen and of what is kept ready above and below it; all items at once would be some hundred thousand. */
const MOST_NODES = 1500;
/** The work for one frame with which scrolling can be seen to stutter. */
const SLOW_FRAME_WORK_MS = 50;

let world;
let folder;
let task;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'speed-'));
  const event = (value) => `  '''${JSON.stringify(value)}''',\n`;
  let events = event({ type: 'response.created', response: { id: 'r1' } });
  for (let number = 0; number < ITEMS; number += 1) {
    const text = `Item ${number}: the **horse** in box ${number % 40} has had \`hay\` and water.`;
    const item = { type: 'message', role: 'assistant', id: `msg_${number}`, phase: 'commentary', content: [{ type: 'output_text', text }] };
    events += event({ type: 'response.output_item.done', item });
  }
  const usage = { input_tokens: 100, input_tokens_details: null, output_tokens: 10, output_tokens_details: null, total_tokens: 110 };
  events += event({ type: 'response.completed', response: { id: 'r1', usage } });
  const script = join(folder, 'script.toml');
  writeFileSync(script, `[[conversation]]\nmatch = "every horse"\n\n[[conversation.answer]]\nevents = [\n${events}]\n`);
  world = await stage({ script });
  task = JSON.parse(world.ostler('start', 'Write down every horse', '--json')).task.id;
  world.ostler('wait', task);
});
afterEach((test) => world.tidy(test.name));
after(async () => {
  await world?.end();
  rmSync(folder, { recursive: true, force: true });
});

/** The time that the page's own thread has been at work since, in milliseconds; not the time that it waited for a core. */
async function work(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
  const before = await spent();
  return async () => 1000 * ((await spent()) - before);
}

const median = (numbers) => numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)];

test('the first paint on loopback', async (context) => {
  const page = await world.tab();
  const [paints, works] = [[], []];
  for (let number = 0; number < TRIES; number += 1) {
    const fresh = await world.beside(page);
    const spent = await work(fresh);
    await fresh.reload();
    await fresh.getByRole('link', { name: /Board/ }).first().waitFor();
    const painted = await fresh.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    const paint = await painted.jsonValue();
    paints.push(Math.round(paint));
    works.push(Math.round(await spent()));
    await fresh.close();
  }
  context.diagnostic(`first paint: ${paints.join(', ')} ms; work for it ${works.join(', ')} ms of ${FIRST_PAINT_WORK_MS}`);
  assert.ok(works.every((work) => work > 0), `${works}`);
  assert.ok(median(works) < FIRST_PAINT_WORK_MS, `${works}`);
  await page.context().close();
});

test('a task of ten thousand items is scrolled, and few of them are in the page', { timeout: 300_000 }, async (context) => {
  const page = await world.tab();
  const begin = Date.now();
  await page.goto(`${world.base}/#/tasks/${task}`);
  await page.getByText(`Item ${ITEMS - 1}:`).waitFor();
  const opened = Date.now() - begin;
  // From its end to its start and back, as fast as a hand on a wheel; each frame's time, and how much there is to draw.
  const list = page.getByLabel('Conversation', { exact: true });
  const spent = await work(page);
  const seen = await list.evaluate(async (list) => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    const [times, nodes, numbers] = [[], [], new Set()];
    const height = list.scrollHeight;
    for (let at = 0; at <= 240; at += 1) {
      const way = at <= 120 ? 1 - at / 120 : (at - 120) / 120;
      list.scrollTop = way * height;
      const before = await frame();
      times.push((await frame()) - before);
      nodes.push(document.querySelectorAll('*').length);
      for (const [, number] of list.innerText.matchAll(/Item (\d+):/g)) numbers.add(number);
    }
    return { times, nodes: Math.max(...nodes), numbers: numbers.size, height };
  });
  const perFrame = (await spent()) / (2 * seen.times.length);
  const sorted = seen.times.toSorted((one, other) => one - other);
  const p95 = sorted[Math.floor(sorted.length * 0.95)];
  context.diagnostic(`opened in ${opened} ms; a frame while scrolling ${median(sorted).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, work for it ${perFrame.toFixed(1)} ms of ${SLOW_FRAME_WORK_MS}; at most ${seen.nodes} nodes of ${MOST_NODES}, ${seen.height} px high`);
  assert.ok(seen.height > ITEMS * 20, 'the list is as high as all of them');
  assert.ok(seen.numbers > 1000, `only ${seen.numbers} items were seen on the way`);
  assert.ok(seen.nodes < MOST_NODES, `${seen.nodes} nodes`);
  assert.ok(perFrame > 0 && perFrame < SLOW_FRAME_WORK_MS, `${perFrame} ms`);
  // Both ends are there.
  await list.evaluate((list) => (list.scrollTop = 0));
  await page.getByText('Item 0:').waitFor();
  await list.evaluate((list) => (list.scrollTop = list.scrollHeight));
  await page.getByText(`Item ${ITEMS - 1}:`).waitFor();
  await page.context().close();
});

test('nothing failed on the way, and the CSP had nothing to forbid', () => {
  assert.deepEqual(world.troubles, []);
});
