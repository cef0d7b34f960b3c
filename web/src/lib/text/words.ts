// What states, causes and decisions are called, in the same words everywhere on the page.

import type {
  Agent,
  AutoReview,
  AskClosed,
  AskKind,
  Cause,
  DecidedBy,
  Decision,
  Edge,
  Failure,
  IntentState,
  Interrupter,
  Notification,
  Outcome,
  Permissions,
  Rule,
  Sandboxing,
  TaskState,
  Wish,
} from '../api/types';
import { dateAndTime, duration, short } from './time';

export const STATE_NAMES: Record<TaskState, string> = {
  queued: 'queued',
  starting: 'starting',
  working: 'working',
  waiting_for_approval: 'waits for approval',
  waiting_for_user_input: 'waits for an answer',
  parked: 'parked',
  recovering: 'recovering',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export const stateName = (state: string): string => STATE_NAMES[state as TaskState] ?? state;

export type StateTone = 'you' | 'work' | 'wait' | 'good' | 'bad' | 'off';

export const STATE_TONES: Record<TaskState, StateTone> = {
  queued: 'wait',
  starting: 'work',
  working: 'work',
  waiting_for_approval: 'you',
  waiting_for_user_input: 'you',
  parked: 'wait',
  recovering: 'wait',
  completed: 'good',
  failed: 'bad',
  cancelled: 'off',
};

/** A path as it is seen from a folder. */
export function below(path: string, folder: string): string {
  return folder !== '' && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

export const isOver = (state: TaskState): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

export const isAtWork = (state: TaskState): boolean =>
  state === 'starting' ||
  state === 'working' ||
  state === 'waiting_for_approval' ||
  state === 'waiting_for_user_input' ||
  state === 'recovering';

export function causeWords(cause: Cause): string {
  switch (cause.cause) {
    case 'submitted':
      return 'somebody gave it something to do';
    case 'placed':
      return 'there is room for it';
    case 'turn_began':
      return 'Codex has begun a turn';
    case 'ask_opened':
      return 'Codex asks';
    case 'asks_closed':
      return 'nothing is asked any more';
    case 'turn_completed':
      return 'the turn is complete';
    case 'goal_goes_on':
      return 'Codex goes on with its goal';
    case 'turn_failed':
      return `the turn failed: ${failureWords(cause.failure)}`;
    case 'start_failed':
      return `it could not be started: ${failureWords(cause.failure)}`;
    case 'interrupted':
      return `interrupted by ${interrupterWords(cause.by)}`;
    case 'limit_reached':
      return `a limit is reached, until ${dateAndTime(cause.until)}`;
    case 'limit_passed':
      return 'the limit has passed';
    case 'waiting': {
      const next = cause.until === null ? '' : `; next try at ${dateAndTime(cause.until)}`;
      return `waiting for ${awaitedWords[cause.on]} since ${dateAndTime(cause.since)}: ${failureWords(cause.failure)}${next}`;
    }
    case 'tries_again':
      return `it has waited for ${awaitedWords[cause.on]} and tries again`;
    case 'waited_too_long':
      return `it waited too long for ${awaitedWords[cause.on]}: ${failureWords(cause.failure)}`;
    case 'limit_again':
      return `the limit was reached ${cause.times} times in a row: ${failureWords(cause.failure)}`;
    case 'server_lost':
      return `its app-server died: ${failureWords(cause.failure)}`;
    case 'continue_asked':
      return 'somebody is to decide whether it goes on';
    case 'budget_used':
      return `the budget is used up: ${edgeWords(cause.edge)}`;
    case 'goes_on':
      return `${cause.by} let it go on`;
    case 'stopped':
      return `${cause.by} stopped it`;
    case 'daemon_started':
      return 'the daemon was started anew and found it at work';
    case 'rejoined':
      return 'what became of it meanwhile is known';
    case 'withdrawn':
      return `${cause.by} took back what was left to do`;
    default:
      return (cause as { cause: string }).cause.replaceAll('_', ' ');
  }
}

const awaitedWords = {
  app_server: 'an app-server',
  codex: 'a Codex that can be used',
  model: 'the model',
  login: 'a login',
} as const;

export function failureWords(failure: Failure): string {
  return saidInside(failure.message) || failure.class.class.replaceAll('_', ' ');
}

/** Codex passes on what a model's API answered as it stands, which is JSON with the message inside. */
function saidInside(message: string): string {
  if (!message.startsWith('{')) return message;
  try {
    const answer = JSON.parse(message) as { error?: { message?: unknown } };
    return typeof answer.error?.message === 'string' && answer.error.message !== '' ? answer.error.message : message;
  } catch {
    return message;
  }
}

export function interrupterWords(by: Interrupter): string {
  switch (by.who) {
    case 'caller':
      return by.name;
    case 'decision':
      return `${by.by}, with an answer`;
    case 'stall':
      return 'the rule for turns that stand still';
    case 'codex':
      return 'Codex or another client of it';
  }
}

function edgeWords(edge: Edge): string {
  switch (edge.edge) {
    case 'tokens':
      return `${short(edge.used)} of ${short(edge.most)} tokens`;
    case 'work_time':
      return `${duration(edge.used_ms)} of ${duration(edge.most_ms)}`;
    case 'turns':
      return `${edge.used} of ${edge.most} turns`;
  }
}

export function outcomeWord(outcome: Outcome): string {
  return typeof outcome === 'string' ? outcome : outcome.other;
}

/** Where a command runs if it is allowed. */
export function sandboxWords(sandboxing: Sandboxing | undefined): string {
  switch (sandboxing) {
    case 'inside':
      return 'in the sandbox';
    case 'inside_first':
      return 'in the sandbox; what the sandbox stops, Codex may run again outside without asking';
    case 'outside':
      return 'outside of the sandbox';
    default:
      return 'in or outside of the sandbox: Codex does not say';
  }
}

export function askTitle(kind: AskKind): string {
  if ('Command' in kind) {
    if (kind.Command.command === null && kind.Command.network !== null) return 'May it connect?';
    return kind.Command.writes_to_running ? 'May it type into a running command?' : 'May it run this command?';
  }
  if ('FileChange' in kind) return 'May it change these files?';
  if ('Permissions' in kind) return 'May the sandbox be widened?';
  if ('UserInput' in kind) return 'The model has a question';
  if ('Elicitation' in kind) {
    const { want, server } = kind.Elicitation;
    if ('ToolApproval' in want) return `May it use a tool of ${server}?`;
    return 'Url' in want ? `${server} wants you to open a page` : `${server} has a question`;
  }
  if ('Continue' in kind) return 'Shall the task go on?';
  if ('ToolCall' in kind) return `Tool call: ${kind.ToolCall.tool}`;
  if ('TokenRefresh' in kind) return 'Codex wants fresh account tokens';
  return `Codex asks: ${kind.Other.name}`;
}

/** What is asked about, in one line. */
export function askSubject(kind: AskKind): string {
  if ('Command' in kind) return kind.Command.command ?? kind.Command.network?.host ?? '';
  if ('FileChange' in kind) return kind.FileChange.files.map((file) => file.path).join(', ');
  if ('Permissions' in kind) return permissionWords(kind.Permissions.wanted).join(', ');
  if ('UserInput' in kind) return kind.UserInput.questions.map((question) => question.text).join(' ');
  if ('Elicitation' in kind) return kind.Elicitation.message;
  if ('Continue' in kind) return kind.Continue.why;
  return '';
}

export function permissionWords(permissions: Permissions): string[] {
  return [
    ...(permissions.network === true ? ['use the network'] : []),
    ...permissions.read.map((path) => `read ${path}`),
    ...permissions.write.map((path) => `write ${path}`),
    ...permissions.rules.map((rule) => `rule ${rule}`),
  ];
}

export function decisionWords(decision: Decision): string {
  if (decision === 'Once') return 'allowed once';
  if (decision === 'Session') return 'allowed for the session';
  if (decision === 'Deny') return 'denied';
  if (decision === 'Cancel') return 'cancelled';
  if ('Always' in decision) return 'allowed always';
  if ('Grant' in decision) return decision.Grant.holds === 'Turn' ? 'granted for the turn' : 'granted for the session';
  if ('Answers' in decision) return 'answered';
  if ('Form' in decision) return 'filled in';
  return 'served';
}

export function deciderWords(by: DecidedBy): string {
  switch (by.who) {
    case 'person':
      return `${by.name} (${by.surface})`;
    case 'rule':
      return `rule ${by.rule.slice(0, 8)}`;
    case 'approver':
      return `the approver ${by.program}`;
    case 'nobody':
      return 'nobody: the task does not wait for people';
    case 'earlier':
      return 'the answer to the same question before';
  }
}

export function closedWords(closed: AskClosed): string {
  switch (closed.how) {
    case 'answered':
      return 'Codex has the answer';
    case 'withdrawn':
      return closed.reason === 'elsewhere'
        ? 'answered elsewhere'
        : closed.reason === 'turn_ended'
          ? 'withdrawn: the turn ended'
          : 'withdrawn: the connection broke';
    case 'declined':
      return `declined: ${closed.reason}`;
    case 'refused':
      return 'nobody is there for this kind of question';
    case 'served':
      return 'a program gave what was wanted';
    case 'overtaken':
      return 'the task has gone on without it';
  }
}

export function wishWords(wish: Wish): string {
  if (wish.wish === 'interrupt') return 'interrupt';
  if (wish.wish === 'goal') return `${wish.goal.change} the goal`;
  if (wish.wish === 'answer') return `answer: ${decisionWords(wish.decision)}`;
  return wish.if_busy === 'steer' || wish.if_busy === 'steer_only' ? 'steer' : 'send';
}

/** A sub-agent by its nickname and role, and by the end of its thread's id. */
export function agentWords(agent: Agent): string {
  const role = agent.role === undefined ? '' : `${agent.role}, `;
  return `${agent.name ?? 'sub-agent'} (${role}${agent.thread.slice(-6)})`;
}

export function reviewWords(review: AutoReview): string {
  const verdicts: Record<string, string> = {
    in_progress: 'reviews',
    approved: 'approved',
    denied: 'denied',
    timed_out: 'came to no decision in time on',
    aborted: 'broke off the review of',
  };
  const risk = review.risk === undefined ? '' : ` (risk ${review.risk})`;
  return `Codex's automatic reviewer ${verdicts[review.verdict] ?? review.verdict} ${review.action}${risk}`;
}

export function wishText(wish: Wish): string {
  if (wish.wish === 'goal') return wish.goal.change === 'set' ? wish.goal.objective : '';
  if (wish.wish !== 'send') return '';
  const { content } = wish.input;
  if (content === 'compaction') return 'compaction of the history';
  if ('review' in content) return 'a review';
  return content.message.map((part) => ('text' in part ? part.text : '')).filter(Boolean).join('\n') || '(a file)';
}

export function intentWords(state: IntentState): { word: string; tone: 'good' | 'bad' | 'wait' | 'off' } {
  switch (state.state) {
    case 'pending':
      return { word: 'not begun', tone: 'wait' };
    case 'sent':
      return { word: 'on its way', tone: 'wait' };
    case 'unknown':
      return { word: `unknown: ${state.why}`, tone: 'bad' };
    case 'done':
      switch (state.receipt.proof) {
        case 'taken':
          return { word: `Codex has it, in turn ${state.receipt.turn.slice(-6)}`, tone: 'good' };
        case 'answered':
          return { word: 'Codex has the answer', tone: 'good' };
        case 'interrupted':
          return { word: 'the turn has ended as interrupted', tone: 'good' };
        case 'goal_changed':
          return { word: 'Codex has it', tone: 'good' };
        case 'nothing':
          return { word: 'there was nothing to be done', tone: 'off' };
      }
    // eslint-disable-next-line no-fallthrough
    case 'not_done':
      switch (state.why.why) {
        case 'refused':
          return { word: `refused: ${failureWords(state.why.failure)}`, tone: 'bad' };
        case 'withdrawn':
          return { word: `taken back by ${state.why.by}`, tone: 'off' };
        case 'decided':
          return { word: `${state.why.by} was first`, tone: 'off' };
        case 'too_late':
          return { word: 'too late', tone: 'off' };
        case 'not_offered':
          return { word: 'the ask does not take it', tone: 'bad' };
        case 'needless':
          return { word: 'needless: the input was given again', tone: 'off' };
      }
  }
}

/** Whether it stands in the operator's file, where alone it can be changed: the daemon gives this name to no other. */
export function isOfFile(rule: Rule): boolean {
  return rule.id.startsWith('config-');
}

/** A rule in one sentence, as `ostler policy ls` says it. */
export function ruleWords(rule: Rule): string {
  const verb = rule.effect === 'allow' ? 'allows' : 'refuses';
  const cwd = rule.cwd === null ? '' : `, run in ${rule.cwd} or below`;
  return `${verb} ${matcherWords(rule)}${reachWords(rule)}${cwd}, ${scopeWords(rule)}`;
}

/** Where a command may run that a rule allows. */
function reachWords(rule: Rule): string {
  const isOfCommands = 'command' in rule.matcher || 'command_prefix' in rule.matcher;
  if (rule.effect === 'deny' || !isOfCommands) return '';
  if (rule.sandboxing === 'inside') return ', in the sandbox';
  if (rule.sandboxing === 'inside_first') return ', in the sandbox (what the sandbox stops, Codex may run again outside without asking)';
  return ', in or outside of the sandbox';
}

function matcherWords(rule: Rule): string {
  const { matcher } = rule;
  const besides = rule.effect === 'deny' ? ', and whatever could run it' : '';
  if ('command' in matcher) return `the command “${matcher.command.join(' ')}” with exactly these words${besides}`;
  if ('command_prefix' in matcher) return `every command that begins with “${matcher.command_prefix.join(' ')}”${besides}`;
  if ('host' in matcher) return `connections to ${matcher.host}`;
  if ('tool' in matcher) return `calls of the tool ${matcher.tool.tool} of ${matcher.tool.server}, with any arguments`;
  if ('files_below' in matcher) return `changes of files in ${matcher.files_below} and below`;
  return `a wider sandbox: ${permissionWords(matcher.permissions).join(', ')}`;
}

function scopeWords(rule: Rule): string {
  if (rule.scope === 'everywhere') return 'everywhere';
  if ('task' in rule.scope) return `in task ${rule.scope.task.slice(0, 8)}`;
  return `in ${rule.scope.directory} and below`;
}

const NOTICES: Record<string, string> = {
  finished: 'finished',
  failed: 'failed',
  needs_approval: 'needs your approval',
  needs_input: 'needs your answer',
  parked: 'is parked',
  cancelled: 'was stopped',
};

/** What a notification says of its task. */
export function noticeWords(kind: string): string {
  return NOTICES[kind] ?? kind.replaceAll('_', ' ');
}

/** What became of a notification. */
export function deliveryWords(one: Notification): string {
  const last = one.tries?.at(-1)?.why;
  switch (one.state) {
    case 'sent':
      return one.target === 'local' ? 'shown here' : `told to ${one.target}`;
    case 'pending':
      return last === undefined ? `on its way to ${one.target}` : `on its way to ${one.target}, tried ${one.attempts} times: ${last}`;
    case 'failed':
      return `${one.target} could not be told${last === undefined ? '' : `: ${last}`}`;
    case 'no_target':
      return 'told to nobody: the task names no target';
  }
}

/** Kinds of entries of the audit log. */
export const AUDIT_NAMES: Record<string, string> = {
  decision: 'decided',
  token_made: 'token made',
  key_removed: 'token or login removed',
  logged_in: 'logged in',
  self_approval: 'tried to answer its own question',
  agent_refused: 'agent refused',
  scope_refused: 'not allowed',
  key_refused: 'wrong token or code',
  guessing: 'guesses tokens or codes',
  host_refused: 'asked for another name',
  origin_refused: 'page of another site',
  csrf_refused: 'without the word of this page',
  stranger_refused: 'another user',
  malformed: 'ambiguous request',
};

export const isRefusal = (kind: string): boolean => !['decision', 'token_made', 'key_removed', 'logged_in'].includes(kind);
