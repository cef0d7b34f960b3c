import { expect, it } from 'vitest';
import type { Defaults, TaskSettings } from '../api/types';
import { readConfig, startForm, startRequest } from './start';

const settings: TaskSettings = {
  cwd: '',
  sandbox: { mode: 'read-only', writable_roots: ['/cache'], network: false },
  approval: 'on-request',
  model: null,
  model_provider: null,
  effort: null,
  service_tier: null,
  developer_instructions: null,
  config: {},
  codex: { version: null, home: null },
  isolate: false,
  on_crash: 'continue',
  crash_limit: 3,
  unattended: 'wait',
  escalate_after_ms: 1_800_000,
  turn_timeout_ms: null,
  on_stall: 'warn',
  budget: { tokens: null, work_ms: null, turns: null },
  worktree: null,
};
const defaults: Defaults = { settings, models: [], cwds: ['/home/ada/inn'] };

it('starts with the defaults and asks for no more than they say', () => {
  const form = { ...startForm(defaults), prompt: 'tidy' };
  expect(startRequest(form, settings)).toEqual({
    request: {
      prompt: 'tidy',
      cwd: '/home/ada/inn',
      sandbox: 'read-only',
      network: false,
      approval: 'on-request',
      isolate: false,
      on_crash: 'continue',
      unattended: 'wait',
      on_stall: 'warn',
      worktree: false,
      escalate_after_ms: 1_800_000,
    },
    errors: {},
  });
});

it('names who is told only where it is not the usual', () => {
  const told = { ...settings, notify: ['ops'] };
  const form = { ...startForm({ ...defaults, settings: told }), prompt: 'tidy' };
  expect(form.notify).toEqual(['ops']);
  expect(startRequest(form, told).request.notify).toBeUndefined();
  expect(startRequest({ ...form, notify: ['ops', 'local'] }, told).request.notify).toEqual(['ops', 'local']);
  expect(startRequest({ ...form, notify: [] }, told).request.notify).toEqual([]);
});

it('says what was emptied of the defaults, since what is left out is as they say', () => {
  const full: TaskSettings = {
    ...settings,
    model: 'mare',
    effort: 'high',
    developer_instructions: 'be brief',
    config: { a: '1', b: '2' },
    budget: { tokens: 9, work_ms: 60_000, turns: 3 },
  };
  const form = { ...startForm({ ...defaults, settings: full }), prompt: 'tidy' };
  expect(startRequest(form, full).request.unset).toBeUndefined();

  const emptied = { ...form, writable_roots: '', model: '', developer_instructions: ' ', escalate_minutes: '', budget_turns: '', config: 'b=2' };
  const { request, errors } = startRequest(emptied, full);
  expect(errors).toEqual({});
  expect(request.unset).toEqual(['writable_roots', 'model', 'developer_instructions', 'escalate_after_ms', 'budget_turns', 'config']);
  expect([request.writable_roots, request.model, request.effort, request.budget_tokens, request.config]).toEqual([undefined, undefined, 'high', 9, { b: '2' }]);
});

it('turns minutes into milliseconds and says which fields are wrong', () => {
  const form = { ...startForm(defaults), cwd: 'here', turn_minutes: '1.5', budget_tokens: '-3', config: 'nonsense' };
  const { request, errors } = startRequest(form, settings);
  expect(request.turn_timeout_ms).toBe(90_000);
  expect(Object.keys(errors).sort()).toEqual(['budget_tokens', 'config', 'cwd', 'prompt']);
});

it('reads settings of Codex as JSON, and what is none as text', () => {
  expect(readConfig('tools.web_search = true\nname=Ada=Ada\n\nlist=[1,2]')).toEqual({ 'tools.web_search': 'true', name: '"Ada=Ada"', list: '[1,2]' });
});
