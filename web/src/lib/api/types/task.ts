// A task, its settings, and what its turns came to.

export type Id = string;

export type TaskState =
  | 'queued'
  | 'starting'
  | 'working'
  | 'waiting_for_approval'
  | 'waiting_for_user_input'
  | 'parked'
  | 'recovering'
  | 'completed'
  | 'failed'
  | 'cancelled';

export interface Agent {
  thread: Id;
  name: string | null;
  role?: string;
}

export interface Failure {
  class: { class: string; resets_at?: number | null; retry_after_ms?: number | null; word?: string | null };
  message: string;
  details: string | null;
  http_status: number | null;
  evidence: string | null;
}

export type Interrupter =
  | { who: 'caller'; name: string }
  | { who: 'decision'; by: string }
  | { who: 'stall' }
  | { who: 'codex' };

export type Edge =
  | { edge: 'tokens'; used: number; most: number }
  | { edge: 'work_time'; used_ms: number; most_ms: number }
  | { edge: 'turns'; used: number; most: number };

export type Awaited = 'app_server' | 'codex' | 'model' | 'login';

export type Cause =
  | { cause: 'submitted'; intent: Id }
  | { cause: 'placed' }
  | { cause: 'turn_began'; turn: Id }
  | { cause: 'ask_opened'; ask: Id }
  | { cause: 'asks_closed' }
  | { cause: 'turn_completed'; turn: Id }
  | { cause: 'goal_goes_on'; turn: Id }
  | { cause: 'turn_failed'; failure: Failure }
  | { cause: 'start_failed'; failure: Failure }
  | { cause: 'interrupted'; by: Interrupter }
  | { cause: 'limit_reached'; failure: Failure; until: number }
  | { cause: 'limit_passed' }
  | { cause: 'waiting'; on: Awaited; failure: Failure; since: number; until: number | null; tries: number }
  | { cause: 'tries_again'; on: Awaited }
  | { cause: 'waited_too_long'; on: Awaited; failure: Failure; since: number }
  | { cause: 'limit_again'; failure: Failure; times: number }
  | { cause: 'server_lost'; failure: Failure }
  | { cause: 'continue_asked'; ask: Id }
  | { cause: 'budget_used'; edge: Edge }
  | { cause: 'goes_on'; by: string }
  | { cause: 'stopped'; by: string }
  | { cause: 'daemon_started' }
  | { cause: 'rejoined' }
  | { cause: 'withdrawn'; by: string };

export type SandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access';
export type Approval = 'untrusted' | 'on-request' | 'never';
export type OnCrash = 'continue' | 'ask' | 'fail';
export type Unattended = 'wait' | 'decline';
export type OnStall = 'warn' | 'interrupt' | 'fail';
export type IfBusy = 'steer' | 'queue' | 'interrupt' | 'fail' | 'steer_only';

export interface Worktree {
  repository: string;
  path: string;
  branch: string;
  base: string;
  into: string | null;
}

export interface Budget {
  tokens: number | null;
  work_ms: number | null;
  turns: number | null;
}

export interface TaskSettings {
  cwd: string;
  sandbox: { mode: SandboxMode; writable_roots: string[]; network: boolean };
  approval: Approval;
  model: string | null;
  model_provider: string | null;
  effort: string | null;
  service_tier: string | null;
  developer_instructions: string | null;
  config: Record<string, string>;
  codex: { version: string | null; home: string | null };
  isolate: boolean;
  on_crash: OnCrash;
  crash_limit: number;
  unattended: Unattended;
  escalate_after_ms: number | null;
  turn_timeout_ms: number | null;
  on_stall: OnStall;
  budget: Budget;
  worktree: Worktree | null;
  /** Who is told of the task. */
  notify?: string[];
}

/** A model, and how it works. */
export interface Chosen {
  model: string | null;
  effort: string | null;
  plan?: boolean;
}

/** How far the running turn has come. */
export interface Running {
  began_at: number;
  tokens: number;
  /** Codex tries to reach the model, without success so far. */
  retrying?: { since: number; attempts: number; failure: Failure };
}

export interface Task {
  id: Id;
  state: TaskState;
  cause: Cause;
  title: string;
  settings: TaskSettings;
  started_by: string;
  thread: Id | null;
  keeper: string | null;
  codex_version: string | null;
  turn: Id | null;
  last_result: TurnResult | null;
  spent: { tokens: number; work_ms: number; turns: number };
  budget: Budget;
  wake_at: number | null;
  limit_streak: number;
  tally?: { running?: Running; usual?: Chosen; chosen?: Chosen };
  /** What Codex works towards over many turns; absent if there is nothing. */
  goal?: Goal | null;
  created_at: number;
  updated_at: number;
  ended_at: number | null;
  last_seq: number;
  forked_from: { task: Id; thread: Id; turn: Id | null } | null;
}

export interface Goal {
  objective: string;
  /** `active`, `paused`, `blocked`, `usage_limited`, `budget_limited`, `complete`, or a new word of Codex. */
  status: string;
  token_budget: number | null;
  tokens_used: number;
  seconds_used: number;
  rounds: number;
}

/** What Codex's own reviewer made of what a person would else be asked. */
export interface AutoReview {
  id: string;
  item?: Id;
  /** `in_progress`, `approved`, `denied`, `timed_out`, `aborted`, or a new word of Codex. */
  verdict: string;
  action: string;
  rationale?: string;
  risk?: string;
}

export interface Tokens {
  input: number;
  cached_input: number;
  output: number;
  reasoning_output: number;
}

export interface Usage {
  turn: Tokens;
  last_call: Tokens;
  calls: number;
  thread: Tokens;
  context_window: number | null;
}

export interface Plan {
  explanation: string | null;
  steps: { text: string; status: 'pending' | 'in_progress' | 'completed' }[];
}

export type TurnEnd =
  | { status: 'completed' }
  | { status: 'interrupted'; by: Interrupter }
  | { status: 'failed'; failure: Failure };

export interface TurnResult {
  turn: Id;
  inputs: Id[];
  unanswered?: Id[];
  end: TurnEnd;
  final_answer: string | null;
  tool_iterations: number;
  usage: Usage;
  plan: Plan | null;
  diff: string | null;
  /** Files were changed while nobody listened to Codex, so the diff may lack them. */
  unseen_changes?: boolean;
  compacted: boolean;
  retries: number;
  retire: boolean;
  elapsed_ms: number;
}
