// Every screen, wide and on a phone, dark and light, with tasks of a real daemon in it: pictures to look at, and what can be
// told without looking.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { PHONE, stage, WIDE } from './stage.mjs';

const LOOKS = [
  ['wide-dark', { ...WIDE, colorScheme: 'dark' }],
  ['wide-light', { ...WIDE, colorScheme: 'light' }],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }],
  ['phone-light', { ...PHONE, colorScheme: 'light' }],
];

let world;
/** Tasks by what became of them. */
const tasks = {};
before(async () => {
  world = await stage();
  writeFileSync(join(world.work, 'prices.csv'), 'hay,4.20\noats,6.10\nstraw,2.80\nshoes,38.00\nbrush,9.90\n');
  writeFileSync(join(world.work, 'invoices.csv'), 'hay,4.20\noats,6.40\nstraw,2.80\nshoes,41.50\nbrush,9.90\n');
  const start = (prompt, ...settings) => JSON.parse(world.ostler('start', prompt, '--json', ...settings)).task.id;
  const becomes = async (id, state) => {
    for (;;) {
      const { task } = JSON.parse(world.ostler('show', id, '--json'));
      if (task.state === state) return;
      await new Promise((again) => setTimeout(again, 200));
    }
  };
  tasks.failed = start('Draw a horse that is out of its depth');
  await becomes(tasks.failed, 'failed');
  tasks.asks = start('Bring the price list in line with the invoices');
  await becomes(tasks.asks, 'waiting_for_approval');
  tasks.question = start('Paint the door, and ask me which colour', '--config', 'features.default_mode_request_user_input=true');
  await becomes(tasks.question, 'waiting_for_user_input');
  tasks.works = start('Write down how the stable is run');
  await becomes(tasks.works, 'working');
});
afterEach((test) => world.tidy(test.name));
after(async () => {
  await world?.end();
});

/** Name, place, and what stands there once it is loaded. */
const screens = () => [
  ['board', '#/', (page) => page.getByText('git push origin prices').first()],
  ['task', `#/tasks/${tasks.asks}`, (page) => page.getByRole('button', { name: 'Allow once' })],
  ['question', `#/tasks/${tasks.question}`, (page) => page.getByText('Which colour shall the door have?').first()],
  ['working', `#/tasks/${tasks.works}`, (page) => page.getByText('The day begins').first()],
  ['failed', `#/tasks/${tasks.failed}`, (page) => page.getByText('the image is too large').first()],
  ['changes', `#/tasks/${tasks.asks}/changes`, (page) => page.getByText('CHANGES.md').first()],
  ['timeline', `#/tasks/${tasks.asks}/timeline`, (page) => page.locator('main ol li, main table tr').first()],
  ['receipts', `#/tasks/${tasks.asks}/receipts`, (page) => page.getByText('Bring the price list').nth(1)],
  ['task-settings', `#/tasks/${tasks.asks}/settings`, (page) => page.getByText('workspace-write').first()],
  ['new', '#/new', (page) => page.getByRole('button', { name: 'Start' }).and(page.locator(':enabled'))],
  ['search', '#/search?q=the', (page) => page.getByText('Bring the price list').first()],
  ['notifications', '#/notifications', (page) => page.getByText('needs your approval').first()],
  ['audit', '#/audit', (page) => page.getByText('logged in').first()],
  ['settings', '#/settings', (page) => page.getByText(/\d threads/).and(page.locator('section:has-text("Nothing is known") ~ section *'))],
  ['missing', '#/tasks/nothing', (page) => page.getByRole('heading', { name: 'This task cannot be shown' })],
];

for (const [look, options] of LOOKS) {
  test(`every screen, ${look}`, { timeout: 240_000 }, async () => {
    const page = await world.tab(options);
    for (const [name, place, landmark] of screens()) {
      await page.goto(`${world.base}/${place}`);
      await landmark(page).waitFor();
      // Drawn, with its fonts.
      await page.evaluate(() => document.fonts.ready.then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))));
      await world.picture(page, `${name}-${look}`);
      const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(inner, outer, `${name} scrolls sideways`);
      const problems = name === 'missing' ? [] : await page.locator('.problem').allInnerTexts();
      assert.deepEqual(problems, [], name);
    }
    await page.context().close();
    const stranger = await world.stranger(options);
    await stranger.goto(world.base);
    await stranger.getByText('ostler open').waitFor();
    await world.picture(stranger, `login-${look}`);
    await stranger.context().close();
  });
}

test('nothing failed on the way, and the CSP had nothing to forbid', () => {
  assert.deepEqual(world.troubles, []);
});
