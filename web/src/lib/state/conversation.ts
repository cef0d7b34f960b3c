// One task as its stream tells it: what was said and done, in order, and how it stands now. Frames in, state out.
//
// Frames come in batches: collections are copied once per batch and then written to, so that ten thousand events cost no
// more than ten thousand steps.

import type {
  Agent,
  Ask,
  AskClosed,
  AskRecord,
  DecisionRecord,
  DeltaKind,
  Failure,
  Id,
  Intent,
  Item,
  ItemEnd,
  LogEvent,
  Partial,
  Plan,
  Task,
  TaskLine,
  TurnResult,
  Update,
  Usage,
  Viewer,
} from '../api/types';
import { reviewWords } from '../text/words';

export type Tone = 'plain' | 'good' | 'warning' | 'bad';

interface Placed {
  /** Unique in the task, and the same after a reload. */
  key: string;
  at: number;
  agent: Agent | null;
}

export type Entry =
  | (Placed & { entry: 'item'; turn: Id; item: Item; ended: ItemEnd | null; partial: string })
  | (Placed & { entry: 'turn'; turn: Id; number: number })
  | (Placed & { entry: 'turn_end'; result: TurnResult })
  | (Placed & {
      entry: 'ask';
      ask: Id;
      content: Ask;
      decision: DecisionRecord | null;
      closed: AskClosed | null;
    })
  | (Placed & { entry: 'note'; tone: Tone; text: string; detail: string | null });

/** The texts of one item that are still growing. */
export type Growing = Readonly<{ [kind in DeltaKind]?: string }>;

export interface Limits {
  used_percent: number | null;
  /** Unix seconds. */
  resets_at: number | null;
}

export interface Conversation {
  task: Task | null;
  asks: readonly AskRecord[];
  intents: readonly Intent[];
  entries: readonly Entry[];
  /** Where in `entries` the items are that have not ended, and asks that are not closed. */
  open: ReadonlyMap<string, number>;
  growing: ReadonlyMap<string, Growing>;
  lastSeq: number;
  turns: number;
  plan: Plan | null;
  usage: Usage | null;
  diff: string | null;
  limits: Limits | null;
  retrying: { failure: Failure; attempt: number } | null;
  viewers: readonly Viewer[];
  /** How many look beside those who are named. */
  unnamed: number;
}

export const EMPTY_CONVERSATION: Conversation = {
  task: null,
  asks: [],
  intents: [],
  entries: [],
  open: new Map(),
  growing: new Map(),
  lastSeq: 0,
  turns: 0,
  plan: null,
  usage: null,
  diff: null,
  limits: null,
  retrying: null,
  viewers: [],
  unnamed: 0,
};

interface Draft extends Conversation {
  entries: Entry[];
  open: Map<string, number>;
  growing: Map<string, Growing>;
  asks: AskRecord[];
  intents: Intent[];
}

export function reduceConversation(state: Conversation, lines: readonly TaskLine[]): Conversation {
  if (lines.length === 0) return state;
  const draft: Draft = {
    ...state,
    entries: [...state.entries],
    open: new Map(state.open),
    growing: new Map(state.growing),
    asks: [...state.asks],
    intents: [...state.intents],
  };
  for (const line of lines) step(draft, line);
  return draft;
}

/** Whether a snapshot is of an older log than what was read: the database was put back, and all is to be read anew. */
export function isOfAnotherLog(state: Conversation, line: TaskLine): boolean {
  return line.line === 'now' && line.task.last_seq < state.lastSeq;
}

export function itemKey(agent: Agent | null | undefined, turn: Id, item: Id): string {
  return `${agent?.thread ?? ''}/${turn}/${item}`;
}

function step(draft: Draft, line: TaskLine): void {
  switch (line.line) {
    case 'now':
      draft.task = line.task;
      draft.asks = [...line.asks];
      draft.intents = [...line.intents];
      draft.growing = grown(line.partials);
      return;
    case 'partials':
      draft.growing = grown(line.partials);
      return;
    case 'grown':
      grow(draft.growing, line);
      return;
    case 'viewers':
      draft.viewers = line.viewers;
      draft.unnamed = line.others ?? 0;
      return;
    case 'gap':
      push(draft, {
        ...note('warning', `events ${line.from} to ${line.to} are not kept any more`, line.why),
        key: `gap-${line.from}`,
        at: 0,
        agent: null,
      });
      draft.lastSeq = Math.max(draft.lastSeq, line.to);
      return;
    case 'event':
      // A connection that was opened twice, or a snapshot that overlaps: each event counts once.
      if (line.seq <= draft.lastSeq) return;
      draft.lastSeq = line.seq;
      hear(draft, line.seq, line.at, line.event);
      return;
  }
}

function grown(partials: readonly Partial[]): Map<string, Growing> {
  const growing = new Map<string, Growing>();
  for (const partial of partials) grow(growing, partial);
  return growing;
}

function grow(growing: Map<string, Growing>, partial: Partial): void {
  const key = itemKey(partial.agent, partial.turn, partial.item);
  const before = growing.get(key) ?? {};
  growing.set(key, { ...before, [partial.kind]: (before[partial.kind] ?? '') + partial.text });
}

function hear(draft: Draft, seq: number, at: number, event: LogEvent): void {
  const placed = { key: `e${seq}`, at, agent: 'agent' in event ? (event.agent ?? null) : null };
  const say = (tone: Tone, text: string, detail: string | null = null) =>
    push(draft, { ...note(tone, text, detail), ...placed });
  switch (event.event) {
    case 'thread':
      return hearThread(draft, placed, event.update);
    case 'state':
      if (draft.task !== null && seq > draft.task.last_seq) {
        draft.task = {
          ...draft.task,
          state: event.to,
          cause: event.cause,
          updated_at: at,
          last_seq: seq,
          turn: event.cause.cause === 'turn_began' ? event.cause.turn : draft.task.turn,
        };
      }
      return;
    case 'created':
      return;
    case 'intended':
      if (isNews(draft, seq)) {
        draft.intents = draft.intents.filter((intent) => intent.id !== event.intent.id);
        draft.intents.push(event.intent);
      }
      return;
    case 'intent_moved': {
      const moved = event.to;
      if (moved.state === 'done' || moved.state === 'not_done' || moved.state === 'unknown') {
        draft.intents = draft.intents.filter((intent) => intent.id !== event.intent);
      } else if (isNews(draft, seq)) {
        draft.intents = draft.intents.map((intent) =>
          intent.id === event.intent ? { ...intent, state: moved } : intent,
        );
      }
      if (moved.state === 'unknown') say('bad', 'what was sent may or may not have reached Codex', moved.why);
      if (moved.state === 'not_done' && moved.why.why === 'refused') {
        say('bad', 'Codex refused the input', moved.why.failure.message);
      }
      return;
    }
    case 'placed':
      return say('plain', `opened in Codex ${event.codex_version}`);
    case 'notice':
      return hearNotice(draft, placed, event.name, event.json);
    case 'ask_opened':
      draft.open.set(`ask/${event.ask}`, draft.entries.length);
      push(draft, { entry: 'ask', ask: event.ask, content: event.content, decision: null, closed: null, ...placed });
      if (isNews(draft, seq) && draft.task !== null && !draft.asks.some((ask) => ask.id === event.ask)) {
        draft.asks.push({
          id: event.ask,
          task: draft.task.id,
          agent: event.agent ?? null,
          source: null,
          content: event.content,
          digest: event.digest,
          opened_at: at,
          state: 'open',
          decision: null,
          closed: null,
        });
      }
      return;
    case 'ask_returned':
      if (isNews(draft, seq)) markAsk(draft, event.ask, 'open');
      return;
    case 'ask_parked':
      if (isNews(draft, seq)) markAsk(draft, event.ask, 'parked');
      return;
    case 'ask_decided':
      changeAsk(draft, event.ask, (entry) => ({ ...entry, decision: event.decision }));
      draft.asks = draft.asks.filter((ask) => ask.id !== event.ask);
      return;
    case 'ask_closed':
      changeAsk(draft, event.ask, (entry) => ({ ...entry, closed: event.how }));
      draft.open.delete(`ask/${event.ask}`);
      draft.asks = draft.asks.filter((ask) => ask.id !== event.ask);
      return;
    case 'auto_review':
      return say(
        event.review.verdict === 'denied' ? 'warning' : 'plain',
        reviewWords(event.review),
        event.review.rationale ?? null,
      );
    case 'ask_escalated':
      return say('warning', 'nobody has answered for long; those who are to know were told again');
    case 'self_approval_refused':
      return say('bad', `an agent tried to answer its own question and was refused: ${event.who}`, event.why);
    case 'rule_made':
      return say('plain', `${event.by} made a rule`, event.text);
    case 'lost':
      return say('bad', `${event.events} events could not be kept`, event.why);
  }
}

/** Whether an event is newer than the snapshot, which already knows of those before. */
function isNews(draft: Draft, seq: number): boolean {
  return draft.task !== null && seq > draft.task.last_seq;
}

function hearThread(draft: Draft, placed: Placed, update: Update): void {
  const { agent } = placed;
  const say = (tone: Tone, text: string, detail: string | null = null) =>
    push(draft, { ...note(tone, text, detail), ...placed });
  switch (update.update) {
    case 'turn_began':
      if (agent !== null) return;
      draft.turns += 1;
      draft.retrying = null;
      draft.diff = null;
      push(draft, { entry: 'turn', turn: update.turn, number: draft.turns, ...placed });
      return;
    case 'item_began':
      return itemBegan(draft, placed, update.turn, update.item);
    case 'item_ended':
      return itemEnded(draft, placed, update.turn, update.item, update.how);
    case 'delta':
      return grow(draft.growing, { ...update, agent });
    case 'usage':
      if (agent === null) draft.usage = update.usage;
      return;
    case 'plan':
      if (agent === null) draft.plan = update.plan;
      return;
    case 'diff':
      if (agent === null) draft.diff = update.diff;
      return;
    case 'compacted':
      return say('plain', 'the history was summed up to make room');
    case 'goal':
      if (update.goal === null) return;
      return say('plain', `goal ${update.goal.status.replace('_', ' ')}`, update.goal.objective);
    case 'retrying':
      draft.retrying = { failure: update.failure, attempt: update.attempt };
      return say('warning', `Codex tries again (attempt ${update.attempt})`, update.failure.message);
    case 'stalled': {
      const found = update.found;
      const detail = found.found === 'answers' ? `the app-server answers: ${found.state}` : found.reason;
      return say('warning', `no progress for ${Math.round(update.quiet_ms / 1000)} s`, detail);
    }
    case 'disconnected':
      return say('warning', 'the connection to Codex broke', update.reason);
    case 'reconnected':
      return say('plain', 'connected to Codex again');
    case 'input_refused':
      // What became of such a one is looked for in the thread, and stands in its receipt.
      if (update.may_have_run) return say('warning', 'nobody could say whether Codex has an input', update.failure.message);
      return say('bad', 'an input was not taken', update.failure.message);
    case 'decision_refused':
      return say('warning', `an answer of ${update.by} did not count`, update.why.by ?? update.why.why);
    case 'turn_ended':
      return turnEnded(draft, placed, update.result);
    case 'input_queued':
    case 'input_taken':
    case 'ask_opened':
    case 'ask_closed':
    case 'stray':
      return;
  }
}

function itemBegan(draft: Draft, placed: Placed, turn: Id, item: Item): void {
  const partial = itemKey(placed.agent, turn, item.id);
  if (draft.open.has(partial)) return;
  draft.open.set(partial, draft.entries.length);
  draft.retrying = null;
  push(draft, { entry: 'item', turn, item, ended: null, partial, ...placed });
}

function itemEnded(draft: Draft, placed: Placed, turn: Id, item: Item, how: ItemEnd): void {
  const partial = itemKey(placed.agent, turn, item.id);
  draft.growing.delete(partial);
  const at = draft.open.get(partial);
  const begun = at === undefined ? undefined : draft.entries[at];
  if (at === undefined || begun === undefined || begun.entry !== 'item') {
    push(draft, { entry: 'item', turn, item, ended: how, partial, ...placed });
    return;
  }
  draft.open.delete(partial);
  draft.entries[at] = { ...begun, item, ended: how };
}

function turnEnded(draft: Draft, placed: Placed, result: TurnResult): void {
  const prefix = `${placed.agent?.thread ?? ''}/${result.turn}/`;
  for (const [key, at] of draft.open) {
    const entry = draft.entries[at];
    if (!key.startsWith(prefix) || entry?.entry !== 'item') continue;
    draft.entries[at] = { ...entry, ended: 'interrupted' };
    draft.open.delete(key);
    draft.growing.delete(key);
  }
  if (placed.agent !== null) return;
  draft.retrying = null;
  draft.diff = null;
  draft.usage = result.usage.calls > 0 ? result.usage : draft.usage;
  draft.plan = result.plan ?? draft.plan;
  if (draft.task !== null && draft.task.turn === result.turn) draft.task = { ...draft.task, turn: null };
  push(draft, { entry: 'turn_end', result, ...placed });
}

function hearNotice(draft: Draft, placed: Placed, name: string, json: string): void {
  const push_ = (tone: Tone, text: string, detail: string | null = null) =>
    push(draft, { ...note(tone, text, detail), ...placed });
  let notice: Record<string, unknown>;
  try {
    const read: unknown = JSON.parse(json);
    notice = typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : { text: json };
  } catch {
    notice = { text: json };
  }
  const text = (field: string) => (typeof notice[field] === 'string' ? (notice[field] as string) : null);
  const number = (field: string) => (typeof notice[field] === 'number' ? (notice[field] as number) : null);
  switch (name) {
    case 'rate_limits':
      draft.limits = { used_percent: number('used_percent'), resets_at: number('resets_at') };
      return;
    case 'warning':
      return push_('warning', text('text') ?? json);
    case 'mcp_server':
      if (text('error') === null) return;
      return push_('warning', `the MCP server ${text('name') ?? ''} could not be started`, text('error'));
    case 'model_rerouted':
      return push_('warning', `Codex uses ${text('to') ?? '?'} instead of ${text('from') ?? '?'}`);
    case 'renewed':
      return push_('warning', 'Codex had forgotten the thread; the work goes on in a new one');
    case 'left_behind':
      return push_('bad', 'more happened than could be read; the log has less than that');
    case 'login':
      return notice['succeeded'] === true ? undefined : push_('bad', 'a login failed', text('error'));
    default:
      // The rest is kept in the log and says nothing to a reader of the conversation.
      return;
  }
}

function note(tone: Tone, text: string, detail: string | null) {
  return { entry: 'note' as const, tone, text, detail };
}

function push(draft: Draft, entry: Entry): void {
  draft.entries.push(entry);
}

function markAsk(draft: Draft, ask: Id, state: AskRecord['state']): void {
  draft.asks = draft.asks.map((record) => (record.id === ask ? { ...record, state } : record));
}

type AskEntry = Extract<Entry, { entry: 'ask' }>;

function changeAsk(draft: Draft, ask: Id, change: (entry: AskEntry) => Entry): void {
  const at = draft.open.get(`ask/${ask}`);
  const entry = at === undefined ? undefined : draft.entries[at];
  if (at !== undefined && entry?.entry === 'ask') draft.entries[at] = change(entry);
}
