// Every request of the page. The session is a cookie that scripts cannot read; each request carries the word besides that was told
// with it. What changes something has an idempotency key and a deadline: whoever repeats it after a broken connection gives the same
// key, and it counts once.

import { Problem, readProblem, silent, unreachable } from './problem';
import type {
  GoalChange,
  AccountLimits,
  AnswerRequest,
  AppServer,
  AskRecord,
  AuditList,
  Defaults,
  Id,
  IfBusy,
  Input,
  Intent,
  Keys,
  ModelShown,
  NotificationList,
  Rule,
  Session,
  StartRequest,
  Step,
  StoredFile,
  Task,
  TaskDiff,
  TaskList,
  Token,
  TokenScope,
} from './types';
import { keepWord, withWord } from './word';

/** Told of a request that was refused because nobody is logged in. */
let onLoggedOut: () => void = () => {};

export function whenLoggedOut(told: () => void): void {
  onLoggedOut = told;
}

type Body = { json: unknown } | { raw: Blob } | null;

/** The daemon answers within a moment. What takes longer waits for one of the few connections that a browser has for all tabs. */
const DEADLINE_MS = 20_000;
/** Git makes and merges worktrees of any size. */
const LONG_DEADLINE_MS = 180_000;

interface More {
  /** The same for the same request, if it may be repeated. */
  key?: string | undefined;
  /** Null: as long as it takes. */
  deadlineMs?: number | null;
}

async function request<T>(method: string, path: string, body: Body = null, more: More = {}): Promise<T> {
  const headers = withWord({ accept: 'application/json' });
  if (method === 'POST') headers['idempotency-key'] = more.key ?? crypto.randomUUID();
  const deadlineMs = more.deadlineMs === undefined ? DEADLINE_MS : more.deadlineMs;
  const signal = method === 'GET' || deadlineMs === null ? null : AbortSignal.timeout(deadlineMs);
  let payload: BodyInit | null = null;
  if (body !== null && 'json' in body) {
    headers['content-type'] = 'application/json';
    payload = JSON.stringify(body.json);
  } else if (body !== null) {
    headers['content-type'] = 'application/octet-stream';
    payload = body.raw;
  }
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: payload, credentials: 'same-origin', signal });
  } catch {
    throw signal?.aborted === true ? silent(deadlineMs ?? 0) : unreachable();
  }
  const text = await response.text().catch(() => {
    throw unreachable();
  });
  if (!response.ok) {
    if (response.status === 401) onLoggedOut();
    throw readProblem(response.status, text);
  }
  try {
    return (text === '' ? null : JSON.parse(text)) as T;
  } catch {
    throw new Problem(response.status, 'the daemon answered with something that is no JSON');
  }
}

const get = <T>(path: string) => request<T>('GET', path);
const post = <T>(path: string, json: unknown = {}, more: More = {}) => request<T>('POST', path, { json }, more);
const remove = <T>(path: string) => request<T>('DELETE', path);
const task = (id: Id) => `/v1/tasks/${encodeURIComponent(id)}`;

function query(values: Record<string, string | number | null | undefined>): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') words.set(name, String(value));
  }
  const text = words.toString();
  return text === '' ? '' : `?${text}`;
}

/** Lists may come bare or in an object under their name. */
function listOf<T>(answer: unknown, name: string): T[] {
  if (Array.isArray(answer)) return answer as T[];
  const inner = (answer as Record<string, unknown> | null)?.[name];
  return Array.isArray(inner) ? (inner as T[]) : [];
}

export const session = () => get<Session>('/v1/session');

export async function logIn(code: string): Promise<void> {
  const answer = await post<{ csrf: string }>('/v1/login', { code });
  keepWord(answer.csrf);
}

export async function logOut(): Promise<void> {
  await post('/v1/logout');
  keepWord(null);
}

export interface TaskQuery {
  state?: string;
  q?: string;
  before?: string | null;
  limit?: number;
}

export const tasks = (wanted: TaskQuery) => get<TaskList>(`/v1/tasks${query({ ...wanted })}`);
export const start = (wanted: StartRequest, key: string) =>
  post<{ task: Task; known: boolean }>('/v1/tasks', { ...wanted, key }, { key, deadlineMs: LONG_DEADLINE_MS });
export const send = (id: Id, input: Input, if_busy: IfBusy, key: string) => post<{ unchecked?: string }>(`${task(id)}/send`, { input, if_busy }, { key });
export const changeGoal = (id: Id, change: GoalChange, key: string) => post(`${task(id)}/goal`, change, { key });
export const interrupt = (id: Id, key: string) => post(`${task(id)}/interrupt`, {}, { key });
export const fork = (id: Id, prompt: string, turn: Id | null, key: string) =>
  post<{ task: Task }>(`${task(id)}/fork`, { prompt, turn }, { key, deadlineMs: LONG_DEADLINE_MS });
export const removeTask = (id: Id) => remove(task(id));
export const answer = (ask: Id, given: AnswerRequest, key: string) =>
  post<AskRecord>(`/v1/asks/${encodeURIComponent(ask)}/answer`, { surface: 'web', ...given }, { key });
export const why = (id: Id) => get<{ task: Task; steps: Step[] }>(`${task(id)}/why`);
export const receipts = (id: Id) => get<{ task: Id; intents: Intent[] }>(`${task(id)}/receipts`);
export const diff = (id: Id, turns: 'last' | 'all') => get<TaskDiff>(`${task(id)}/diff?turns=${turns}`);
export const mergeWorktree = (id: Id) => post<{ merged: { how: string; into: string } }>(`${task(id)}/worktree/merge`, {}, { deadlineMs: LONG_DEADLINE_MS });

export const storedFiles = async (id: Id) => listOf<StoredFile>(await get(`${task(id)}/files`), 'files');
export const upload = (id: Id, file: File, key: string) =>
  request<StoredFile>('POST', `${task(id)}/files${query({ name: file.name })}`, { raw: file }, { key, deadlineMs: null });
/** Where a file below the task's folder can be fetched. */
export const fileAddress = (id: Id, path: string) =>
  `${task(id)}/files/${path.split('/').map(encodeURIComponent).join('/')}`;

export const defaults = () => get<Defaults>('/v1/defaults');
export const models = async () => listOf<ModelShown>(await get('/v1/models'), 'models');
export const limits = async () => listOf<AccountLimits>(await get('/v1/limits'), 'limits');
export const appServers = async () => listOf<AppServer>(await get('/v1/app-servers'), 'app_servers');

export const rules = async () => listOf<Rule>(await get('/v1/rules'), 'rules');
export const addRule = (rule: Rule) => post<Rule>('/v1/rules', rule);
export const removeRule = (id: Id) => remove(`/v1/rules/${encodeURIComponent(id)}`);

/** A file of the daemon's, which a plain link or image could not fetch: it carries no word. */
export async function file(address: string): Promise<Blob> {
  const response = await fetch(address, { headers: withWord({}), credentials: 'same-origin' }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw readProblem(response.status, await response.text());
  return response.blob();
}

export const notifications = (wanted: { unread?: boolean; before?: number | null; limit?: number }) =>
  get<NotificationList>(`/v1/notifications${query({ ...wanted, unread: wanted.unread === true ? 'true' : null })}`);
export const readNotifications = (up_to: number) => post('/v1/notifications/read', { up_to });

export const audit = (wanted: { refusals?: boolean; before?: number | null; limit?: number }) =>
  get<AuditList>(`/v1/audit${query({ ...wanted, refusals: wanted.refusals === true ? 'true' : null })}`);
export const readAudit = (up_to: number) => post('/v1/audit/read', { up_to });

/** Tokens, and the browsers that are logged in. */
export const keys = () => get<Keys>('/v1/tokens');
export const addToken = (name: string, scopes: TokenScope[]) =>
  post<Token & { token: string }>('/v1/tokens', { name, scopes });
/** Of a token or a login. */
export const removeKey = (id: Id) => remove(`/v1/tokens/${encodeURIComponent(id)}`);
