// The page in real Chromium, on a real daemon and real Codex with the scripted model. README.md says how to run it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { PHONE, stage } from './stage.mjs';

let world;
before(async () => {
  world = await stage();
});
afterEach((test) => world.tidy(test.name));
after(async () => {
  await world?.end();
});

const asked = (page) => page.getByRole('heading', { name: 'May it run this command?' });
const state = (page, word) => page.locator('main header').getByText(word, { exact: true }).waitFor();
/** How often the command that is asked for has run. */
const runs = () => {
  const log = join(world.work, 'outside.log');
  return existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0;
};
const kill = () => process.kill(JSON.parse(world.ostler('daemon', 'status', '--json')).pid, 'SIGKILL');
const numbers = async (story) => [...(await story.innerText()).matchAll(/\d{8}/g)].map(([number]) => Number(number));
/** Waits until so much more was told. */
async function grows(story, more) {
  const last = (await numbers(story)).at(-1);
  while ((await numbers(story)).at(-1) < last + more) await story.page().waitForTimeout(100);
}
const allow = (page) => page.getByRole('button', { name: 'Allow once' });

test('a task is started, watched and approved, and what the model wrote is only text', async () => {
  const page = await world.tab();
  await world.start(page, 'tidy the notes');
  await page.getByText('the first line').first().waitFor();
  await asked(page).waitFor();
  await page.getByText('The archive is outside.').waitFor();
  await world.picture(page, 'approval');
  assert.equal(runs(), 0);
  await allow(page).click();
  await page.getByText('Done: the notes are').waitFor();
  await state(page, 'completed');
  assert.equal(await asked(page).count(), 0);
  assert.equal(runs(), 1);
  assert.equal(await page.locator('main img').count(), 0);
  await page.waitForFunction(() => document.title === 'Ostler');
  await page.getByText('allowed once').first().waitFor();
  await page.getByRole('link', { name: 'Changes' }).click();
  await page.getByText('tidy.txt').first().waitFor();
  await page.context().close();
});

test('a refusal tells the model why', async () => {
  const page = await world.tab();
  await world.start(page, 'tidy the notes, and I will say no');
  await asked(page).waitFor();
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByLabel(/What the model is told/).fill('leave the archive alone');
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('leave the archive alone').first().waitFor();
  await page.getByText('denied').first().waitFor();
  await state(page, 'completed');
  assert.equal(runs(), 1);
  await page.context().close();
});

test('a rule is made on a card, and the same is not asked again', async () => {
  const page = await world.tab();
  const called = join(world.work, 'farrier.log');
  await world.start(page, 'call the farrier');
  await asked(page).waitFor();
  await page.getByRole('button', { name: 'Make a rule…' }).click();
  await page.getByLabel('Where').selectOption('everywhere');
  await page.getByLabel('For how long').selectOption('hour');
  await page.getByText('From now on allowed without asking: exactly this command, word for word, everywhere, in every task, for one hour.').waitFor();
  await world.picture(page, 'rule');
  await page.getByRole('button', { name: 'Allow and remember' }).click();
  await state(page, 'completed');
  rmSync(called);
  await world.start(page, 'call the farrier again');
  await page.getByText('The farrier is called.').waitFor();
  await state(page, 'completed');
  assert.equal(await asked(page).count(), 0);
  assert.equal(existsSync(called), true);
  await page.goto(`${world.base}/#/settings`);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No rules').waitFor();
  await page.context().close();
});

test('what was done in a worktree is merged', async () => {
  const yard = join(world.work, 'yard');
  mkdirSync(yard);
  const git = (...words) => execFileSync('git', ['-c', 'user.name=inn', '-c', 'user.email=inn@example.org', ...words], { cwd: yard, stdio: 'pipe' });
  git('init', '--initial-branch', 'main');
  git('commit', '--allow-empty', '--message', 'the yard');
  const { task } = JSON.parse(world.ostler('start', 'mend the gate', '--worktree', '--cd', yard, '--json'));
  const page = await world.tab();
  await page.goto(`${world.base}/#/tasks/${task.id}/changes`);
  await state(page, 'completed');
  await page.getByText('gate.txt').first().waitFor();
  assert.equal(existsSync(join(yard, 'gate.txt')), false);
  await world.picture(page, 'worktree');
  await page.getByRole('button', { name: 'Merge into main' }).click();
  await page.getByText('merged into main').waitFor();
  assert.equal(readFileSync(join(yard, 'gate.txt'), 'utf8'), 'mended\n');
  await page.context().close();
});

test('a question is answered on the board', async () => {
  const page = await world.tab();
  await world.start(page, 'ask me which colour', 'features.default_mode_request_user_input=true');
  await page.getByRole('link', { name: /Board/ }).first().click();
  await page.getByText('Which colour shall the door have?').waitFor();
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByText('choose or write an answer').waitFor();
  await page.getByLabel('blue').check();
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByText('Which colour shall the door have?').waitFor({ state: 'hidden' });
  await page.context().close();
});

test('a reload in the middle of a turn finds the open approval again', async () => {
  const page = await world.tab();
  await world.start(page, 'tidy the notes once more');
  await asked(page).waitFor();
  await page.reload();
  await asked(page).waitFor();
  assert.equal(await asked(page).count(), 1);
  await allow(page).click();
  await state(page, 'completed');
  await page.context().close();
});

test('of two tabs that answer at once one counts, and the other is told who was first', async () => {
  const one = await world.tab();
  await world.start(one, 'tidy the notes in two tabs');
  await asked(one).waitFor();
  const other = await world.beside(one, one.url());
  await asked(other).waitFor();
  // Both have pressed the button before either answer has arrived; the one that pressed first arrives second.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await other.route('**/answer', async (route) => {
    await held;
    await route.continue();
  });
  const answered = (page) => page.waitForResponse((response) => response.url().endsWith('/answer'));
  const second = answered(other);
  await allow(other).click();
  const first = answered(one);
  await allow(one).click();
  assert.equal((await first).status(), 200);
  release();
  assert.equal((await second).status(), 409);
  await other.getByText('was first').waitFor();
  await Promise.all([state(one, 'completed'), state(other, 'completed')]);
  assert.deepEqual(await Promise.all([asked(one).count(), asked(other).count()]), [0, 0]);
  await one.context().close();
});

test('a turn is steered, goes on over a killed daemon, and is interrupted', { timeout: 180_000 }, async () => {
  const page = await world.tab();
  await world.start(page, 'tell me a long story');
  await page.getByText('00000005').first().waitFor();
  await page.getByLabel('Message', { exact: true }).fill('and make it a sad one');
  await page.keyboard.press('Enter');
  await page.getByText('and make it a sad one').first().waitFor();
  // The answer that was under way is given up for a new one. A daemon that is killed before that learns of it only at the end.
  await page.getByText('this answer broke off and was asked for again').waitFor();
  const story = page.locator('.agent').last();
  await story.getByText('00000010').waitFor();

  kill();
  await page.getByText('The daemon cannot be reached').waitFor();
  await page.getByText('not connected').waitFor();
  await world.picture(page, 'daemon-gone');
  world.ostler('daemon', 'start');
  await page.getByText('The daemon cannot be reached').waitFor({ state: 'hidden' });
  await grows(story, 50);
  // Nothing is doubled or out of order. Pieces that Codex said while no daemon listened come with the end of the item.
  const told = await numbers(story);
  assert.deepEqual(told, [...new Set(told)].sort((first, second) => first - second));
  assert.equal(told[0], 0);

  await page.locator('form').getByRole('button', { name: 'Interrupt', exact: true }).last().click();
  await page.getByText('interrupted by').first().waitFor();
  await page.context().close();
});

test('an answer that began while there was no daemon is watched all the same', { timeout: 180_000 }, async () => {
  const page = await world.tab();
  await world.start(page, 'tell a story when I say go');
  await page.getByText('until [ -e go ]').first().waitFor();
  kill();
  await page.getByText('The daemon cannot be reached').waitFor();
  writeFileSync(join(world.work, 'go'), '');
  while (!existsSync(join(world.work, 'went'))) await page.waitForTimeout(50);
  world.ostler('daemon', 'start');
  const story = page.locator('.agent, .growing').filter({ hasText: /\d{8} \d{8}/ });
  await story.waitFor();
  await grows(story, 50);
  await page.locator('form').getByRole('button', { name: 'Interrupt', exact: true }).last().click();
  await page.getByText('interrupted by').first().waitFor();
  await page.context().close();
});

test('a link logs in once, and whoever logs out is out', async () => {
  const link = world.ostler('open', '--print').trim();
  const [page, late] = [await world.stranger(), await world.stranger()];
  await page.goto(link);
  await page.getByRole('link', { name: /Board/ }).first().waitFor();
  assert.equal(page.url(), `${world.base}/`);
  await late.goto(link);
  await late.getByText('this code does not count').waitFor();
  await page.goto(`${world.base}/#/settings`);
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await page.getByText('Or paste the code from the link').waitFor();
  await page.reload();
  await page.getByText('Or paste the code from the link').waitFor();
  await Promise.all([page.context().close(), late.context().close()]);
});

test('a token counts until it is revoked, and a rule is made and removed', async () => {
  const page = await world.tab();
  await page.goto(`${world.base}/#/settings`);
  await page.getByLabel('A new one for').fill('the nightly build');
  await page.getByRole('button', { name: 'Make a token' }).click();
  const token = (await page.locator('.secret').innerText()).trim();
  const ask = async () => (await fetch(`${world.base}/v1/tasks`, { headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal(await ask(), 200);
  await page.getByRole('button', { name: 'Revoke the nightly build' }).click();
  await page.getByText('No tokens.').waitFor();
  assert.equal(await ask(), 401);
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByLabel('The words it begins with').fill('git status');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No rules').waitFor();
  assert.deepEqual(await page.locator('.problem').allInnerTexts(), []);
  await page.context().close();
});

test('a picture goes with a message and is shown', async () => {
  const page = await world.tab();
  await world.start(page, 'look at this');
  await state(page, 'completed');
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
  await page.locator('input[type=file]').setInputFiles({ name: 'a dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') });
  await page.getByText('a dot.png').waitFor();
  await page.getByLabel('Message', { exact: true }).fill('look at this picture');
  await page.keyboard.press('Enter');
  const shown = page.locator('main img');
  await shown.waitFor();
  await page.waitForFunction(() => document.querySelector('main img')?.naturalWidth === 1);
  await page.context().close();
});

test('a copy goes on by itself, and what is over is forgotten', async () => {
  const page = await world.tab();
  await world.start(page, 'look at this');
  await state(page, 'completed');
  const [, first] = page.url().split('#');
  await page.getByRole('button', { name: 'Fork' }).click();
  await page.getByLabel('What it shall do').fill('look at this again');
  await world.picture(page, 'fork');
  await page.getByRole('button', { name: 'Start the copy' }).click();
  await page.getByRole('heading', { name: 'look at this again', level: 1 }).waitFor();
  await state(page, 'completed');
  await page.goto(`${world.base}/#${first}`);
  await page.getByRole('button', { name: 'Forget', exact: true }).click();
  await page.getByRole('button', { name: 'Forget it' }).click();
  await page.getByText('the task is forgotten').waitFor();
  await page.goto(`${world.base}/#${first}`);
  await page.getByRole('heading', { name: 'This task cannot be shown' }).waitFor();
  await page.context().close();
});

test('a phone shows the board and a task without scrolling sideways', async () => {
  const page = await world.tab(PHONE);
  await world.start(page, 'tidy the notes on the phone');
  await asked(page).waitFor();
  for (const place of [page.url(), page.url().replace(/#.*/, '#/'), page.url().replace(/#.*/, '#/settings')]) {
    await page.goto(place);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.equal(inner, outer, place);
  }
  await world.picture(page, 'phone');
  await page.goto(page.url().replace(/#.*/, '#/'));
  const card = page.getByRole('article').filter({ hasText: 'tidy the notes on the phone' });
  await allow(card).tap();
  await asked(card).waitFor({ state: 'hidden' });
  await page.context().close();
});

test('nothing failed on the way, and the CSP had nothing to forbid', () => {
  assert.deepEqual(world.troubles, []);
});
