// What routes take and give.

import type { Approval, Cause, Id, OnCrash, OnStall, SandboxMode, Task, TaskSettings, TaskState, Unattended, Worktree } from './task';
import type { Permissions, Sandboxing } from './ask';
import type { Input } from './intent';

export interface TaskList {
  tasks: Task[];
  counts: Record<string, number>;
  next: string | null;
}

export interface StartRequest {
  prompt?: string;
  input?: Input;
  cwd: string;
  sandbox?: SandboxMode;
  writable_roots?: string[];
  network?: boolean;
  approval?: Approval;
  model?: string;
  model_provider?: string;
  effort?: string;
  service_tier?: string;
  developer_instructions?: string;
  config?: Record<string, string>;
  codex_version?: string;
  codex_home?: string;
  isolate?: boolean;
  on_crash?: OnCrash;
  unattended?: Unattended;
  escalate_after_ms?: number;
  turn_timeout_ms?: number;
  on_stall?: OnStall;
  budget_tokens?: number;
  budget_work_ms?: number;
  budget_turns?: number;
  worktree?: boolean;
  notify?: string[];
  /** What of the configuration shall not hold, where nothing is given in its place. */
  unset?: Unset[];
  key?: string;
}

export type Unset =
  | 'writable_roots'
  | 'model'
  | 'model_provider'
  | 'effort'
  | 'service_tier'
  | 'developer_instructions'
  | 'config'
  | 'codex_version'
  | 'codex_home'
  | 'escalate_after_ms'
  | 'turn_timeout_ms'
  | 'budget_tokens'
  | 'budget_work_ms'
  | 'budget_turns';

export interface Step {
  seq: number;
  at: number;
  from: TaskState;
  to: TaskState;
  cause: Cause;
}

export interface TaskDiff {
  task: Id;
  from:
    | { from: 'worktree'; worktree: Worktree }
    | { from: 'disk'; notes: string[] }
    | { from: 'unknown'; why: string; turns: number };
  diff: string;
}

export type Matcher =
  | { command: string[] }
  | { command_prefix: string[] }
  | { host: string }
  | { tool: { server: string; tool: string } }
  | { files_below: string }
  | { permissions: Permissions };

export interface Rule {
  version: '1';
  id: Id;
  effect: 'allow' | 'deny';
  matcher: Matcher;
  sandboxing: Sandboxing;
  cwd: string | null;
  scope: 'everywhere' | { task: Id } | { directory: string };
  expires_at: number | null;
  made_by: string;
  made_at: number;
  from_ask: Id | null;
}

export type TokenScope = 'read' | 'operate' | 'decide';

export interface Session {
  name: string;
  scopes: TokenScope[];
  /** Which of the logins this is; null for whoever came by a token. */
  login: Id | null;
}

export interface Token {
  id: Id;
  name: string;
  scopes: TokenScope[];
  created_at?: number;
  last_used_at?: number | null;
  expires_at?: number | null;
}

export interface Keys {
  tokens: Token[];
  logins: Token[];
}

/** What a task has told to one target. */
export interface Notification {
  id: Id;
  task: Id;
  kind: string;
  target: string;
  at: number;
  content: { title: string; why: string; asked?: { what: string } | null };
  state: 'pending' | 'sent' | 'failed' | 'no_target';
  attempts: number;
  tries?: { at: number; why: string }[];
  is_unread?: boolean;
}

/** An entry of the audit log. */
export interface AuditEntry {
  number: number;
  kind: string;
  at: number;
  who: string;
  place: string;
  what: string;
  why?: string;
  task?: Id;
  ask?: Id;
  suppressed?: number;
}

export interface AuditList {
  entries: AuditEntry[];
  unseen: number;
  newest: number;
  suppressed: number;
  next: number | null;
}

export interface NotificationList {
  notifications: Notification[];
  unread: number;
  newest: number | null;
  next: number | null;
}

export interface ModelShown {
  id: string;
  display_name?: string | null;
  description?: string | null;
  is_default?: boolean;
  hidden?: boolean;
  efforts?: (string | { effort: string; description?: string | null })[];
  default_effort?: string | null;
}

export interface Defaults {
  settings: TaskSettings;
  models: ModelShown[];
  cwds: string[];
  worktree?: boolean;
  /** Who can be told of a task by name. */
  targets?: string[];
}

export interface LimitWindow {
  used_percent?: number | null;
  window_minutes?: number | null;
  /** Unix seconds. */
  resets_at?: number | null;
}

export interface AccountLimits {
  account?: string | null;
  codex_home?: string | null;
  plan?: string | null;
  primary?: LimitWindow | null;
  secondary?: LimitWindow | null;
  /** Why nothing is known of it. */
  unknown_because?: string | null;
}

export interface AppServer {
  keeper: string | null;
  codex_version: string;
  codex_home: string;
  threads: number;
  isolated_for: Id | null;
  is_full: boolean;
}

export interface StoredFile {
  name: string;
  path: string;
  bytes: number;
}

export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail?: string;
  hint?: string;
  data?: unknown;
}
