// Whatever Codex, a model or a user writes is text on the page and nothing else: every field that one of them controls holds what would be
// a script if it were taken for more. It is looked at as the page is served, and once more without its CSP, which must not be needed.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { stage, WIDE } from './stage.mjs';

const IMAGE = "<img src=x onerror='owned=1'>";
const SCRIPT = '<script>owned=1</script>';
const LINK = '[link](javascript:owned=1)';

let world;
const tasks = {};
before(async () => {
  world = await stage();
  // A folder's name can hold all but a slash.
  const cwd = join(world.work, IMAGE);
  mkdirSync(cwd);
  const start = (prompt, ...settings) => JSON.parse(world.ostler('start', prompt, '--cd', cwd, '--json', ...settings)).task.id;
  const becomes = async (id, state) => {
    while (JSON.parse(world.ostler('show', id, '--json')).task.state !== state) await new Promise((again) => setTimeout(again, 200));
  };
  tasks.question = start(`${SCRIPT} mischief question`, '--config', 'features.default_mode_request_user_input=true');
  await becomes(tasks.question, 'waiting_for_user_input');
  tasks.asks = start(`${IMAGE} mischief ${SCRIPT} ${LINK}`);
  await becomes(tasks.asks, 'waiting_for_approval');
  tasks.done = start(`${IMAGE} mischief done ${SCRIPT} ${LINK}`);
  await becomes(tasks.done, 'waiting_for_approval');
  const [ask] = JSON.parse(world.ostler('asks', '--json')).asks.filter(({ ask }) => ask.task === tasks.done);
  world.ostler('answer', ask.ask.id, 'once');
  await becomes(tasks.done, 'completed');
  tasks.hidden = start('mischief hidden \u202egpj.exe \u001b[31mred https://good.example@evil.example/x');
  await becomes(tasks.hidden, 'waiting_for_approval');
  world.ostler('token', 'new', `${IMAGE} token`, '--scope', 'read');
});
afterEach((test) => world.tidy(test.name));
after(async () => {
  await world?.end();
});

/** Name, place, and pieces of what somebody else wrote that can be read there, as they were written. */
const screens = () => [
  ['board', '#/', [`${IMAGE} mischief ${SCRIPT} ${LINK}`, 'away.log', `Because ${IMAGE} and ${SCRIPT}.`, `Which ${SCRIPT} one?`, `${IMAGE} label`]],
  ['task', `#/tasks/${tasks.asks}`, [`${IMAGE} mischief ${SCRIPT} ${LINK}`, `Saying ${IMAGE} and ${SCRIPT}.`, `echo "${IMAGE}" "${SCRIPT}"`, `${IMAGE} thinking`, `${IMAGE} ${SCRIPT}`, `Because ${IMAGE} and ${SCRIPT}.`, join(world.work, IMAGE)]],
  ['question', `#/tasks/${tasks.question}`, [`Which ${SCRIPT} one?`, `${IMAGE} label`, "<b onclick='owned=1'>"]],
  ['done', `#/tasks/${tasks.done}`, ['The end of the mischief.', `${IMAGE} heading`, "<svg onload='owned=1'>", "<details open ontoggle='owned=1'>", '<iframe srcdoc=', '<a href="javascript:owned=1">four</a>']],
  ['changes', `#/tasks/${tasks.asks}/changes`, [`${IMAGE}.html`, SCRIPT, `${IMAGE} in a file`]],
  ['timeline', `#/tasks/${tasks.done}/timeline`, [`${IMAGE} mischief done`]],
  ['receipts', `#/tasks/${tasks.done}/receipts`, [`${IMAGE} mischief done`]],
  ['task settings', `#/tasks/${tasks.done}/settings`, [IMAGE]],
  ['search', `#/search?q=${encodeURIComponent(IMAGE)}`, [`${IMAGE} mischief done`]],
  ['new', '#/new', []],
  ['settings', '#/settings', [`${IMAGE} token`, SCRIPT]],
];

/** What on the page could run something that it was not built with. */
const suspicious = (page) =>
  page.evaluate(() => {
    const found = [];
    for (const element of document.querySelectorAll('*')) {
      const name = element.localName;
      if (['iframe', 'object', 'embed', 'base'].includes(name)) found.push(element.outerHTML);
      if (name === 'script' && !element.src.startsWith(`${location.origin}/assets/`)) found.push(element.outerHTML);
      for (const { name: attribute, value } of element.attributes) {
        const runs = attribute.startsWith('on') || (['href', 'src', 'action', 'formaction', 'xlink:href'].includes(attribute) && /^\s*(javascript|vbscript|data:text)/i.test(value));
        if (runs) found.push(element.outerHTML);
      }
    }
    return found;
  });

async function looks(page, name, place, texts) {
  await page.goto(`${world.base}/${place}`);
  await page.locator('main').waitFor();
  // Whatever is folded is unfolded, each once: what is unfolded does not match any more. Items come one after the other.
  const folds = page.locator('main [role=feed] button[aria-expanded="false"]');
  const shows = async (text) => {
    const wanted = page.getByText(text, { exact: false }).first();
    for (let tries = 0; tries < 60; tries += 1) {
      for (let left = await folds.count(); left > 0; left -= 1) await folds.first().click({ timeout: 2000 }).catch(() => {});
      const isThere = await wanted.waitFor({ timeout: 1000 }).then(() => true, () => false);
      if (isThere) return;
    }
    throw new Error(`${name} does not show ${text}`);
  };
  for (const text of texts) await shows(text);
  // Long enough for an image that is not there to fail.
  await page.evaluate(() => new Promise((drawn) => setTimeout(() => requestAnimationFrame(drawn), 300)));
  assert.deepEqual(await suspicious(page), [], name);
  assert.equal(await page.evaluate(() => window.owned), undefined, name);
}

for (const [manner, options] of [
  ['as it is served', WIDE],
  ['without its CSP', { ...WIDE, bypassCSP: true }],
]) {
  test(`what others write is only text, ${manner}`, { timeout: 120_000 }, async () => {
    const page = await world.tab(options);
    if (options.bypassCSP !== true) {
      await page.goto(`${world.base}/#/settings`);
      await page.getByRole('button', { name: 'Add a rule' }).click();
      await page.getByLabel('The words it begins with').fill(`${SCRIPT} rule`);
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByText(SCRIPT).first().waitFor();
    }
    for (const [name, place, texts] of screens()) await looks(page, name, place, texts);
    await world.picture(page, `text-${manner.replaceAll(' ', '-')}`);
    if (options.bypassCSP === true) {
      // The test would show nothing if what it looks for could not run at all.
      await page.evaluate((image) => document.body.insertAdjacentHTML('beforeend', image), IMAGE);
      await page.waitForFunction(() => window.owned === 1);
    }
    await page.context().close();
  });
}

test('what hides a part of itself or turns the rest around is shown, and a link with a login in it is none', async () => {
  const page = await world.tab();
  for (const place of ['#/', `#/tasks/${tasks.hidden}`, `#/tasks/${tasks.hidden}/receipts`, '#/search?q=hidden']) {
    await page.goto(`${world.base}/${place}`);
    await page.getByText('mischief hidden \\u{202e}gpj.exe \\u{1b}[31mred', { exact: false }).first().waitFor();
    const raw = await page.evaluate(() => {
      const shown = Array.from(document.querySelectorAll('*'), (element) => ['title', 'alt', 'aria-label'].map((name) => element.getAttribute(name) ?? '').join(' '));
      return `${document.title} ${document.body.innerText} ${shown.join(' ')}`.match(/[\u001b\u202e]/g);
    });
    assert.equal(raw, null, place);
    assert.equal(await page.locator('a[href*="evil.example"]').count(), 0, place);
  }
  await page.context().close();
});

test('a file that was written to be a page is for saving', async () => {
  const page = await world.tab();
  const name = encodeURIComponent(`${IMAGE}.html`);
  const word = await page.evaluate(() => localStorage.getItem('ostler-word'));
  const answer = await page.context().request.get(`${world.base}/v1/tasks/${tasks.done}/files/${name}`, { headers: { 'x-ostler-csrf': word } });
  const headers = answer.headers();
  assert.equal(answer.status(), 200);
  assert.match(await answer.text(), /<script>owned=1<\/script>/);
  assert.deepEqual([headers['content-type'], headers['x-content-type-options']], ['application/octet-stream', 'nosniff']);
  assert.match(headers['content-disposition'], /^attachment; /);
  await page.context().close();
});

test('nothing failed on the way, and the CSP had nothing to forbid', () => {
  assert.deepEqual(world.troubles, []);
});
