// The start form, from what was filled in to the request. What was emptied of the defaults is said to be unset: a field that
// is left out is as the configuration says.

import type { Approval, Defaults, OnCrash, OnStall, SandboxMode, StartRequest, TaskSettings, Unattended, Unset } from '../api/types';

export interface StartForm {
  prompt: string;
  cwd: string;
  sandbox: SandboxMode;
  writable_roots: string;
  network: boolean;
  approval: Approval;
  model: string;
  model_provider: string;
  effort: string;
  service_tier: string;
  developer_instructions: string;
  config: string;
  codex_version: string;
  codex_home: string;
  isolate: boolean;
  on_crash: OnCrash;
  unattended: Unattended;
  escalate_minutes: string;
  turn_minutes: string;
  on_stall: OnStall;
  budget_tokens: string;
  budget_minutes: string;
  budget_turns: string;
  worktree: boolean;
  /** By name, or the address of a webhook. */
  notify: string[];
}

const MINUTE_MS = 60_000;
const minutes = (ms: number | null) => (ms === null ? '' : String(ms / MINUTE_MS));
const number = (value: number | null) => (value === null ? '' : String(value));

export function startForm(defaults: Defaults): StartForm {
  const { settings } = defaults;
  return {
    prompt: '',
    cwd: settings.cwd || defaults.cwds[0] || '',
    sandbox: settings.sandbox.mode,
    writable_roots: settings.sandbox.writable_roots.join('\n'),
    network: settings.sandbox.network,
    approval: settings.approval,
    model: settings.model ?? '',
    model_provider: settings.model_provider ?? '',
    effort: settings.effort ?? '',
    service_tier: settings.service_tier ?? '',
    developer_instructions: settings.developer_instructions ?? '',
    config: Object.entries(settings.config).map(([key, value]) => `${key}=${value}`).join('\n'),
    codex_version: settings.codex.version ?? '',
    codex_home: settings.codex.home ?? '',
    isolate: settings.isolate,
    on_crash: settings.on_crash,
    unattended: settings.unattended,
    escalate_minutes: minutes(settings.escalate_after_ms),
    turn_minutes: minutes(settings.turn_timeout_ms),
    on_stall: settings.on_stall,
    budget_tokens: number(settings.budget.tokens),
    budget_minutes: minutes(settings.budget.work_ms),
    budget_turns: number(settings.budget.turns),
    worktree: defaults.worktree ?? false,
    notify: [...(settings.notify ?? [])],
  };
}

export interface Wanted {
  request: StartRequest;
  /** What is wrong, by field. */
  errors: Partial<Record<keyof StartForm, string>>;
}

export function startRequest(form: StartForm, defaults: TaskSettings): Wanted {
  const errors: Wanted['errors'] = {};
  const unset: Unset[] = [];
  const request: StartRequest = { prompt: form.prompt, cwd: form.cwd.trim() };
  if (form.prompt.trim() === '') errors.prompt = 'say what is to be done';
  if (!request.cwd.startsWith('/')) errors.cwd = 'give the whole path of the folder, from /';

  request.sandbox = form.sandbox;
  request.network = form.network;
  request.approval = form.approval;
  request.isolate = form.isolate;
  request.on_crash = form.on_crash;
  request.unattended = form.unattended;
  request.on_stall = form.on_stall;
  request.worktree = form.worktree;

  const usual = defaults.notify ?? [];
  if (form.notify.length !== usual.length || form.notify.some((target) => !usual.includes(target))) request.notify = [...form.notify];

  const roots = lines(form.writable_roots);
  if (roots.join('\n') !== defaults.sandbox.writable_roots.join('\n')) {
    if (roots.length > 0) request.writable_roots = roots;
    else unset.push('writable_roots');
  }

  const words = [
    ['model', defaults.model],
    ['model_provider', defaults.model_provider],
    ['effort', defaults.effort],
    ['service_tier', defaults.service_tier],
    ['codex_version', defaults.codex.version],
    ['codex_home', defaults.codex.home],
    ['developer_instructions', defaults.developer_instructions],
  ] as const;
  for (const [name, usually] of words) {
    const value = name === 'developer_instructions' ? form[name] : form[name].trim();
    if (value.trim() !== '') request[name] = value;
    else if (usually !== null) unset.push(name);
  }

  const { budget } = defaults;
  const numbers = [
    ['escalate_minutes', 'escalate_after_ms', MINUTE_MS, defaults.escalate_after_ms],
    ['turn_minutes', 'turn_timeout_ms', MINUTE_MS, defaults.turn_timeout_ms],
    ['budget_tokens', 'budget_tokens', 1, budget.tokens],
    ['budget_minutes', 'budget_work_ms', MINUTE_MS, budget.work_ms],
    ['budget_turns', 'budget_turns', 1, budget.turns],
  ] as const;
  for (const [field, name, unit, usually] of numbers) {
    const text = form[field].trim();
    if (text === '') {
      if (usually !== null) unset.push(name);
      continue;
    }
    const value = Math.round(Number(text) * unit);
    if (Number.isFinite(value) && value > 0) request[name] = value;
    else errors[field] = 'a number above zero, please';
  }

  const config = readConfig(form.config);
  if (typeof config === 'string') errors.config = config;
  else {
    if (Object.keys(config).length > 0) request.config = config;
    // What is given is put over the defaults, so a line that was taken away would hold all the same.
    if (Object.keys(defaults.config).some((key) => !(key in config))) unset.push('config');
  }
  if (unset.length > 0) request.unset = unset;
  return { request, errors };
}

/** Settings of Codex, a line each: `key=value`, where the value is JSON, or a text without its quotes. */
export function readConfig(text: string): Record<string, string> | string {
  const config: Record<string, string> = {};
  for (const line of lines(text)) {
    const at = line.indexOf('=');
    if (at <= 0) return `“${line}” has no “=”; write key=value`;
    config[line.slice(0, at).trim()] = jsonText(line.slice(at + 1).trim());
  }
  return config;
}

function jsonText(value: string): string {
  try {
    JSON.parse(value);
    return value;
  } catch {
    return JSON.stringify(value);
  }
}

function lines(text: string): string[] {
  return text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
}
