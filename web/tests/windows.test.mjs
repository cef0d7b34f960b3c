// Several windows, lost answers, who else looks, and logins: what a single page on a good line never sees.

import assert from 'node:assert/strict';
import http from 'node:http';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { stage } from './stage.mjs';

let world;
before(async () => {
  world = await stage();
});
afterEach((test) => world.tidy(test.name));
after(async () => {
  await world?.end();
});

const asked = (page) => page.getByRole('heading', { name: 'May it run this command?' });
const allow = (page) => page.getByRole('button', { name: 'Allow once' });
const state = (page, word) => page.locator('main header').getByText(word, { exact: true }).waitFor();
const start = (prompt, ...settings) => JSON.parse(world.ostler('start', prompt, '--json', ...settings)).task.id;

/** As a host agent asks: at the daemon's own socket. */
function atTheSocket(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath: join(world.home, 'run/daemon.sock'), method, path, headers: { 'content-type': 'application/json' } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece) => (text += piece));
      response.on('end', () => (response.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))));
    });
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}

/** The daemon does it, and nobody hears of it. */
async function loseTheFirstAnswer(page, path) {
  let lost = false;
  const told = new Promise((resolve) => {
    void page.route(path, async (route) => {
      if (lost) return route.continue();
      lost = true;
      const answer = await route.fetch();
      await route.abort();
      resolve(answer.status());
    });
  });
  return { status: told };
}

test('what a host agent asks is on the board although there is no task', async () => {
  const page = await world.tab();
  await page.getByText('No tasks yet').waitFor();
  const command = { command: 'touch gr\u202eeen\u{e0041}', cwd: '/stable', extra: null, network: null, writes_to_running: false };
  const content = { thread: null, turn: null, item: null, reason: 'The user wants it.', kind: { Command: command }, offers: ['Once', 'Session', 'Deny'] };
  const ask = await atTheSocket('POST', '/v1/host-asks', { key: 'one', owner: 'stable talk', cwd: '/stable', content });
  await asked(page).waitFor();
  await page.getByText('chat stable talk').waitFor();
  await page.getByText('touch gr\\u{202e}een\\u{e0041}').waitFor();
  await world.picture(page, 'host-ask');
  await allow(page).click();
  await asked(page).waitFor({ state: 'hidden' });
  assert.equal((await atTheSocket('GET', `/v1/asks/${ask.id}`)).decision.by.surface, 'web');
  await page.context().close();
});

test('a button works in the last of many windows', async () => {
  const ids = ['one', 'two', 'three', 'four', 'five'].map((name) => start(`tidy the notes of window ${name}`));
  const first = await world.tab();
  const pages = [first];
  await first.goto(`${world.base}/#/tasks/${ids[0]}`);
  for (const id of ids.slice(1)) pages.push(await world.beside(first, `${world.base}/#/tasks/${id}`));
  for (const page of pages) await asked(page).waitFor();
  for (const page of pages.toReversed()) {
    const answered = page.waitForResponse((response) => response.url().endsWith('/answer'));
    await allow(page).click();
    assert.equal((await answered).status(), 200);
  }
  for (const page of pages) await state(page, 'completed');
  // What the stream of a task carries is the board.
  await first.getByRole('link', { name: /Board/ }).first().click();
  await first.getByRole('heading', { name: 'Over' }).waitFor();
  for (const name of ['one', 'five']) await first.getByRole('link', { name: `tidy the notes of window ${name}` }).waitFor();
  await first.context().close();
});

test('a message whose answer was lost is sent again and counts once', async () => {
  const page = await world.tab();
  await world.start(page, 'look at this');
  await state(page, 'completed');
  const lost = await loseTheFirstAnswer(page, '**/send');
  await page.getByLabel('Message', { exact: true }).fill('look at this twice');
  await page.keyboard.press('Enter');
  assert.ok((await lost.status) < 300);
  await page.getByText('the daemon cannot be reached').waitFor();
  const again = page.waitForResponse((response) => response.url().endsWith('/send'));
  await page.keyboard.press('Enter');
  assert.ok((await again).ok());
  await page.locator('.user').filter({ hasText: 'look at this twice' }).waitFor();
  await state(page, 'completed');
  assert.equal(await page.locator('.user').filter({ hasText: 'look at this twice' }).count(), 1);
  const [, id] = page.url().split('#/tasks/');
  const { intents } = JSON.parse(world.ostler('receipts', id, '--json'));
  assert.equal(intents.filter((intent) => JSON.stringify(intent.wish).includes('look at this twice')).length, 1);
  await page.context().close();
});

test('an answer whose receipt was lost is one’s own, and nobody else was first', async () => {
  const page = await world.tab();
  await world.start(page, 'tidy the notes on a bad line');
  await asked(page).waitFor();
  // As a daemon answers that took the first one, was killed before it said so, and has forgotten its key.
  const own = `${userInfo().username} (web)`;
  const keys = [];
  await page.route('**/answer', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length === 1) return route.abort();
    const detail = `${own} has decided already`;
    return route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify({ title: 'conflict', status: 409, detail, data: { decided_by: own } }) });
  });
  await allow(page).click();
  await page.getByText('the daemon cannot be reached', { exact: true }).waitFor();
  await allow(page).click();
  await page.getByText('Codex is being told').waitFor();
  assert.equal(await page.getByText('was first').count(), 0);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  await page.context().close();
});

test('two who look at one board know of each other', async () => {
  start('tidy the notes for two');
  const [one, other] = [await world.tab(), await world.tab()];
  const card = (page) => page.getByRole('article').filter({ hasText: 'tidy the notes for two' });
  for (const page of [one, other]) await card(page).getByText(/also looking: .+ \(web\)/).waitFor();
  await world.picture(one, 'also-looking');
  await other.context().close();
  await card(one).getByText(/also looking/).waitFor({ state: 'hidden' });
  await allow(card(one)).click();
  await card(one).waitFor({ state: 'hidden' });
  await one.context().close();
});

test('the cookie alone shows nothing, and the page keeps its word over a reload', async () => {
  const page = await world.tab();
  const status = (path) => page.evaluate(async (path) => (await fetch(path)).status, path);
  for (const path of ['/v1/tasks', '/v1/events', '/v1/session', '/metrics']) assert.equal(await status(path), 401, path);
  assert.equal(await status('/'), 200);
  await page.reload();
  await page.getByRole('link', { name: /Board/ }).first().waitFor();
  await page.getByRole('heading', { name: 'At work' }).waitFor();
  await page.context().close();
});

test('a browser is logged out from another one', async () => {
  const [one, lost] = [await world.tab(), await world.tab()];
  await one.goto(`${world.base}/#/settings`);
  await one.getByText('this browser').waitFor();
  await world.picture(one, 'logins');
  await one.getByRole('button', { name: 'Log out everywhere else' }).click();
  await lost.getByText('Or paste the code from the link').waitFor();
  await one.getByRole('button', { name: 'Log out everywhere else' }).waitFor({ state: 'hidden' });
  assert.equal(await one.getByText('this browser').count(), 1);
  await Promise.all([one.context().close(), lost.context().close()]);
});

test('what a task told is counted until somebody has looked', async () => {
  // The bell counts refusals, too, and other tests were refused.
  world.ostler('audit');
  const page = await world.tab();
  await page.goto(`${world.base}/#/new`);
  await page.getByLabel('What is to be done').fill('look at this and tell me');
  await page.getByLabel('In this folder').fill(world.work);
  await page.getByText('Who is told how it goes').click();
  await page.getByLabel(/\(local\)/).check();
  await world.picture(page, 'notify-targets');
  await page.getByRole('button', { name: 'Start' }).click();
  await state(page, 'completed');
  const bell = page.getByRole('link', { name: /Notifications/ });
  await bell.getByText('1', { exact: false }).waitFor();
  await bell.click();
  await page.getByText('shown here', { exact: true }).waitFor();
  await world.picture(page, 'notifications');
  await page.getByRole('button', { name: 'I have seen all' }).click();
  await bell.getByText('new').waitFor({ state: 'hidden' });
  await page.context().close();
});

test('a refusal is counted by the bell and shown in the audit log', async () => {
  const page = await world.tab();
  // A program of this machine that asks for another name.
  const { port } = new URL(world.base);
  await new Promise((answered, failed) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write('GET /v1/health HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n'));
    socket.on('error', failed).on('end', answered).resume();
  });
  await page.goto(`${world.base}/#/notifications`);
  await page.reload();
  const bell = page.getByRole('link', { name: /Notifications/ });
  await bell.getByText('new').waitFor();
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('asked for another name').waitFor();
  await page.getByText(/rebound\.example/).waitFor();
  await world.picture(page, 'audit');
  await page.getByRole('button', { name: 'I have seen all' }).click();
  await bell.getByText('new').waitFor({ state: 'hidden' });
  await page.context().close();
});

test('nothing failed on the way, and the CSP had nothing to forbid', () => {
  assert.deepEqual(world.troubles, []);
});
