// The plan of a turn, by a Codex whose model is offered the tool for it.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { stage } from './stage.mjs';

let world;
before(async () => {
  world = await stage({ codex: 'CODEX_WITH_PLANS' });
});
afterEach((test) => world.tidy(test.name));
after(async () => {
  await world?.end();
});

test('a plan is shown with how far it is', async () => {
  const page = await world.tab();
  await world.start(page, 'plan the day');
  const panel = page.getByLabel('How the task stands');
  await panel.getByRole('heading', { name: 'Plan 1/3' }).waitFor();
  const steps = await panel.getByRole('listitem').allTextContents();
  assert.deepEqual(steps.map((step) => step.trim()), ['Water the horses (completed)', 'Feed them (in progress)', 'Sweep the yard (pending)']);
  await world.picture(page, 'plan');
  // It is still there after a reload, and when the turn is over.
  await page.reload();
  await panel.getByRole('heading', { name: 'Plan 1/3' }).waitFor();
  await page.locator('form').getByRole('button', { name: 'Interrupt', exact: true }).last().click();
  await page.getByText('interrupted by').first().waitFor();
  await panel.getByRole('heading', { name: 'Plan 1/3' }).waitFor();
  assert.deepEqual(world.troubles, []);
  await page.context().close();
});
