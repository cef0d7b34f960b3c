// A world of its own for the browser tests: a home, the scripted model, a real daemon with a port, a real Codex, and Chromium.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = fileURLToPath(new URL('.', import.meta.url));
const pictures = process.env.PICTURES ?? join(here, '../shots');
export const WIDE = { viewport: { width: 1280, height: 860 } };
export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

function named(variable, what) {
  const value = process.env[variable];
  if (!value) throw new Error(`set ${variable} to ${what}; scripts/browser-tests does`);
  return value;
}

/** The first line that matches what a program says. */
function said(child, pattern) {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (piece) => {
      text += piece;
      const found = pattern.exec(text);
      if (found !== null) resolve(found);
    });
    child.on('exit', (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
}

/** A port that nobody has. The daemon must come back on the same one, so that the system cannot choose it each time. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** With the Codex that the variable `codex` names, and a model that says what is in `script`. */
export async function stage({ codex = 'CODEX', script = join(here, 'script.toml') } = {}) {
  // Codex refuses a home below /tmp, and a socket's path has at most 107 bytes.
  const above = process.env.STAGE_ROOT ?? join(process.env.HOME, '.cache');
  mkdirSync(above, { recursive: true });
  const root = mkdtempSync(join(above, 'page-'));
  const home = join(root, 'home');
  const work = join(root, 'work');
  mkdirSync(join(home, 'config'), { recursive: true });
  mkdirSync(work);
  const ostler = named('OSTLER', 'the ostler binary');
  // Codex runs commands in a login shell, and what this machine's user has in its profile may take its time.
  const environment = { ...process.env, OSTLER_HOME: home, HOME: root };
  const run = (...words) => execFileSync(ostler, words, { env: environment, cwd: work, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  const model = spawn(named('SCRIPTED_MODEL', "the scripted model's example `serve`"), [script, join(home, 'codex')], { stdio: ['ignore', 'pipe', 'inherit'] });
  await said(model, /serves/);
  const port = await freePort();
  const configuration = `[codex]
path = "${named(codex, 'a codex binary')}"
home = "${join(home, 'codex')}"
[tasks]
sandbox = "workspace-write"
[server]
listen = "127.0.0.1:${port}"
`;
  writeFileSync(join(home, 'config/config.toml'), configuration);
  run('daemon', 'start');
  const base = `http://127.0.0.1:${port}`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  mkdirSync(pictures, { recursive: true });

  const troubles = [];
  /** Scripts that fail, and what the CSP forbids, are troubles. */
  function watched(page) {
    page.on('pageerror', (error) => troubles.push(error.message));
    page.on('console', (message) => /Content Security Policy/.test(message.text()) && troubles.push(message.text()));
    // For a machine whose cores have other things to do.
    page.setDefaultTimeout(60_000);
    return page;
  }

  return {
    ostler: run,
    base,
    home,
    work,
    troubles,
    /** A tab of a browser that nobody has logged in with. */
    stranger: async (options = WIDE) => watched(await (await browser.newContext(options)).newPage()),
    /** A tab of a browser of its own, logged in by the link of `ostler open`. */
    async tab(options = WIDE) {
      const page = await this.stranger(options);
      await page.goto(run('open', '--print').trim());
      await page.getByRole('link', { name: /Board/ }).first().waitFor();
      return page;
    },
    /** One more tab of the same browser, and the same login. */
    async beside(page, address = base) {
      const other = watched(await page.context().newPage());
      await other.goto(address);
      return other;
    },
    async start(page, prompt, settings = '') {
      await page.goto(`${base}/#/new`);
      await page.getByLabel('What is to be done').fill(prompt);
      await page.getByLabel('In this folder').fill(work);
      if (settings !== '') {
        await page.getByText('Codex and the model').click();
        await page.getByLabel(/Settings of Codex/).fill(settings);
      }
      await page.getByRole('button', { name: 'Start' }).click();
      await page.getByRole('heading', { name: prompt, level: 1 }).waitFor();
    },
    /** Closes all tabs. A test closes its own when it is done: what is still open shows why one failed, and is kept as a picture. */
    async tidy(test) {
      for (const context of browser.contexts()) {
        for (const [at, page] of context.pages().entries()) {
          await this.picture(page, `FAILED ${test} ${at + 1}`.replaceAll(/[^\w]+/g, '-')).catch(() => {});
        }
        await context.close();
      }
    },
    picture: (page, name) => page.screenshot({ path: join(pictures, `${name}.png`) }),
    async end() {
      await browser.close();
      run('daemon', 'stop');
      for (const { id } of JSON.parse(run('keeper', 'list', '--json')).keepers) run('keeper', 'stop', '--now', id);
      model.kill();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
