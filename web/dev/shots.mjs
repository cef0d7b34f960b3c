// Pictures of every screen on canned tasks: node dev/shots.mjs [NAME…]. Needs Chromium; CHROMIUM names it.

import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const base = process.env.PAGE ?? 'http://127.0.0.1:7878';
const folder = fileURLToPath(new URL('../shots', import.meta.url));
mkdirSync(folder, { recursive: true });
const wanted = process.argv.slice(2);
const SIZES = { wide: { width: 1360, height: 860 }, phone: { width: 390, height: 844 } };
const SHOTS = [
  ['board', '#/', ['wide-light', 'wide-dark', 'phone-dark']],
  ['task', '#/tasks/task-command', ['wide-light', 'wide-dark', 'phone-light']],
  ['working', '#/tasks/task-working', ['wide-dark', 'phone-light']],
  ['changes', '#/tasks/task-command/changes', ['wide-light', 'phone-dark']],
  ['timeline', '#/tasks/task-command/timeline', ['wide-light']],
  ['receipts', '#/tasks/task-command/receipts', ['wide-dark']],
  ['task-settings', '#/tasks/task-command/settings', ['wide-light']],
  ['big', '#/tasks/task-big', ['wide-light']],
  ['new', '#/new', ['wide-light', 'phone-dark']],
  ['search', '#/search?q=the', ['wide-dark']],
  ['settings', '#/settings', ['wide-light', 'wide-dark', 'phone-light']],
  ['missing', '#/tasks/nothing', ['wide-light']],
];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const [name, address, looks] of SHOTS) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  for (const look of looks) {
    const [size, scheme] = look.split('-');
    const page = await browser.newPage({ viewport: SIZES[size], colorScheme: scheme, deviceScaleFactor: 1 });
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && console.log(name, look, message.type(), message.text()));
    page.on('pageerror', (error) => console.log(name, look, 'PAGE ERROR', error.message));
    await page.goto(`${base}/${address}`);
    await page.waitForTimeout(name === 'big' ? 2500 : 900);
    await page.screenshot({ path: `${folder}/${name}-${look}.png` });
    await page.close();
  }
}
await browser.close();
