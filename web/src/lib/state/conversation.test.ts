import { describe, expect, it } from 'vitest';
import type { AskRecord, Item, LogEvent, Partial, Task, TaskLine, TurnResult, Update } from '../api/types';
import { EMPTY_CONVERSATION, isOfAnotherLog, reduceConversation, type Conversation } from './conversation';

const task = (last_seq: number) => ({ id: 't', state: 'working', last_seq, turn: 'one' }) as Task;
const now = (last_seq: number, asks: AskRecord[] = [], partials: Partial[] = []): TaskLine => ({
  line: 'now',
  task: task(last_seq),
  asks,
  intents: [],
  partials,
});
const event = (seq: number, what: LogEvent): TaskLine => ({ line: 'event', seq, at: seq * 1000, event: what });
const thread = (seq: number, update: Update, agent?: string): TaskLine =>
  event(seq, { event: 'thread', update, ...(agent === undefined ? {} : { agent: { thread: agent, name: null } }) });
const message = (id: string, text: string): Item => ({ id, body: { kind: 'agent_message', text, phase: 'unmarked' } });
const began = (seq: number, item: Item, agent?: string) => thread(seq, { update: 'item_began', turn: 'one', item }, agent);
const ended = (seq: number, item: Item, agent?: string) =>
  thread(seq, { update: 'item_ended', turn: 'one', item, how: 'reported' }, agent);
const grown = (text: string): TaskLine => ({ line: 'grown', turn: 'one', item: 'm', kind: 'message', text });
const ask = (id: string) => ({ id, task: 't', state: 'open', content: { kind: { Continue: { why: '' } } } }) as AskRecord;
const opened = (seq: number, id: string) => event(seq, { event: 'ask_opened', ask: id, content: ask(id).content, digest: '' });
const run = (...lines: TaskLine[]) => reduceConversation(EMPTY_CONVERSATION, lines);
const texts = (state: Conversation) =>
  state.entries.map((entry) => (entry.entry === 'item' && entry.item.body.kind === 'agent_message' ? entry.item.body.text : entry.entry));

describe('the log', () => {
  it('counts each event once, however often it comes', () => {
    const lines = [now(2), ended(1, message('a', 'one')), ended(2, message('b', 'two'))];
    const state = reduceConversation(run(...lines), lines);
    expect([texts(state), state.lastSeq]).toEqual([['one', 'two'], 2]);
  });

  it('puts the end of an item where it began', () => {
    const state = run(now(0), began(1, message('a', '')), began(2, message('b', '')), ended(3, message('b', 'two')), ended(4, message('a', 'one')));
    expect([texts(state), [...state.open]]).toEqual([['one', 'two'], []]);
  });

  it('calls an input refused only where it was', () => {
    const failure = { class: { class: 'server_gone' }, message: 'it died' } as never;
    const refused = (may_have_run: boolean) => thread(1, { update: 'input_refused', input: 'i', failure, may_have_run });
    const tones = [false, true].map((doubt) => run(now(0), refused(doubt)).entries.map((entry) => entry.entry === 'note' && entry.tone));
    expect(tones).toEqual([['bad'], ['warning']]);
  });

  it('says where retention has left a gap, and goes on after it', () => {
    const state = run(now(9), { line: 'gap', from: 1, to: 7, why: 'retention' }, ended(8, message('a', 'x')));
    expect([state.entries.map((entry) => entry.entry), state.lastSeq]).toEqual([['note', 'item'], 8]);
  });

  it('notices a log that is older than what it has read', () => {
    const state = run(now(2), ended(1, message('a', '')), ended(2, message('b', '')));
    expect([isOfAnotherLog(state, now(1)), isOfAnotherLog(state, now(2)), isOfAnotherLog(state, grown('x'))]).toEqual([true, false, false]);
  });

  it('has the diff of the turn that runs, and no longer', () => {
    const diff = (seq: number): TaskLine => thread(seq, { update: 'diff', turn: 'one', diff: '+x' });
    const over = { turn: 'one', end: { status: 'completed' }, usage: { calls: 0 }, plan: null } as TurnResult;
    const state = run(now(0), diff(1));
    expect([state.diff, reduceConversation(state, [thread(2, { update: 'turn_ended', result: over })]).diff]).toEqual(['+x', null]);
  });

  it('does not touch the state it was given', () => {
    const first = run(now(0), began(1, message('m', '')), grown('Hel'));
    const copy = structuredClone(first);
    reduceConversation(first, [grown('lo'), ended(2, message('m', 'Hello')), opened(3, 'x'), now(3)]);
    expect(first).toEqual(copy);
  });
});

describe('text that grows', () => {
  const key = '/one/m';

  it('is the snapshot and what came after it', () => {
    const partial: Partial = { turn: 'one', item: 'm', kind: 'message', text: 'Hel' };
    const state = run(now(1, [], [partial]), began(1, message('m', '')), grown('lo'));
    expect(state.growing.get(key)).toEqual({ message: 'Hello' });
  });

  it('is replaced, not doubled, by the snapshot of a new connection', () => {
    const first = run(now(1), began(1, message('m', '')), grown('Hel'), grown('lo'));
    const partial: Partial = { turn: 'one', item: 'm', kind: 'message', text: 'Hello th' };
    const state = reduceConversation(first, [now(1, [], [partial]), grown('ere')]);
    expect(state.growing.get(key)).toEqual({ message: 'Hello there' });
  });

  it('is replaced after a lag, and gone when its item ends', () => {
    const first = run(now(1), began(1, message('m', '')), grown('H'));
    const lagged = reduceConversation(first, [{ line: 'partials', partials: [{ turn: 'one', item: 'm', kind: 'message', text: 'Hello' }] }]);
    expect(lagged.growing.get(key)).toEqual({ message: 'Hello' });
    const over = reduceConversation(lagged, [ended(2, message('m', 'Hello!'))]);
    expect([over.growing.size, texts(over)]).toEqual([0, ['Hello!']]);
  });

  it('ends with its turn if nobody says that it ended', () => {
    const result = { turn: 'one', usage: { calls: 0 }, plan: null } as never;
    const state = run(now(1), began(1, message('m', 'Hel')), grown('Hel'), thread(2, { update: 'turn_ended', result }));
    const first = state.entries[0];
    expect([first?.entry === 'item' && first.ended, state.growing.size, state.open.size, state.task?.turn]).toEqual(['interrupted', 0, 0, null]);
  });
});

describe('asks', () => {
  it('appear live, and go when somebody decided', () => {
    const first = run(now(0), opened(1, 'x'));
    expect(first.asks.map((one) => one.id)).toEqual(['x']);
    const decision = { decision: 'Once', by: { who: 'person', name: 'ada', surface: 'web' }, reason: null, at: 2 } as const;
    const state = reduceConversation(first, [event(2, { event: 'ask_decided', ask: 'x', decision }), event(3, { event: 'ask_closed', ask: 'x', how: { how: 'answered' } })]);
    expect(state.asks).toEqual([]);
    expect(state.entries).toMatchObject([{ entry: 'ask', ask: 'x', decision, closed: { how: 'answered' } }]);
  });

  it('of the past do not come back when the log is read again', () => {
    const state = run(now(5), opened(1, 'old'), opened(4, 'older'));
    expect(state.asks).toEqual([]);
  });

  it('are not doubled if the snapshot knew them before the log did', () => {
    const state = run(now(3, [ask('x')]), opened(4, 'x'));
    expect(state.asks.map((one) => one.id)).toEqual(['x']);
  });

  it('that were answered while nobody was connected are gone with the next snapshot', () => {
    const first = run(now(1, [ask('x')]));
    expect(reduceConversation(first, [now(9)]).asks).toEqual([]);
  });

  it('are parked and return as the same', () => {
    const parked = run(now(0), opened(1, 'x'), event(2, { event: 'ask_parked', ask: 'x' }));
    expect(parked.asks.map((one) => one.state)).toEqual(['parked']);
    const back = reduceConversation(parked, [event(3, { event: 'ask_returned', ask: 'x' })]);
    expect(back.asks.map((one) => [one.id, one.state])).toEqual([['x', 'open']]);
  });
});

describe('what the task is given', () => {
  it('is shown until it is proven', () => {
    const intent = { id: 'i', task: 't', wish: { wish: 'interrupt' }, by: 'ada', at: 0, state: { state: 'pending' } } as const;
    const first = run(now(0), event(1, { event: 'intended', intent }), event(2, { event: 'intent_moved', intent: 'i', to: { state: 'sent', after: null } }));
    expect(first.intents.map((one) => one.state.state)).toEqual(['sent']);
    const done = reduceConversation(first, [event(3, { event: 'intent_moved', intent: 'i', to: { state: 'done', receipt: { proof: 'nothing' } } })]);
    expect(done.intents).toEqual([]);
  });
});

describe('what Codex does by itself', () => {
  it('is shown: its goal, and what its own reviewer decided', () => {
    const goal = { objective: 'win', status: 'usage_limited', token_budget: null, tokens_used: 1, seconds_used: 0, rounds: 0 };
    const review = { id: 'r', verdict: 'denied', action: '`rm x`', risk: 'high', rationale: 'it removes x' };
    const state = run(
      now(0),
      thread(1, { update: 'goal', goal }),
      event(2, { event: 'auto_review', turn: 'one', review }),
      thread(3, { update: 'goal', goal: null }),
    );
    expect(state.entries).toMatchObject([
      { entry: 'note', tone: 'plain', text: 'goal usage limited', detail: 'win' },
      { entry: 'note', tone: 'warning', text: "Codex's automatic reviewer denied `rm x` (risk high)", detail: 'it removes x' },
    ]);
  });
});

describe('the usage and the plan', () => {
  it('are those of the task, not of its sub-agents', () => {
    const usage = (input: number) => ({ turn: { input }, calls: 1 }) as never;
    const state = run(
      now(0),
      thread(1, { update: 'usage', turn: 'one', usage: usage(7) }),
      thread(2, { update: 'usage', turn: 'two', usage: usage(99) }, 'sub'),
      event(3, { event: 'notice', name: 'rate_limits', json: '{"notice":"rate_limits","used_percent":34,"resets_at":5}' }),
    );
    expect([state.usage, state.limits]).toEqual([{ turn: { input: 7 }, calls: 1 }, { used_percent: 34, resets_at: 5 }]);
  });

  it('survive notices that are no JSON', () => {
    const state = run(now(0), event(1, { event: 'notice', name: 'warning', json: 'plain words' }));
    expect(state.entries).toMatchObject([{ entry: 'note', tone: 'warning', text: 'plain words' }]);
  });
});

it('knows who looks, and how many more', () => {
  const ada = { name: 'ada', surface: 'web' };
  const many = run(now(0), { line: 'viewers', viewers: [ada], others: 7 });
  const few = reduceConversation(many, [{ line: 'viewers', viewers: [ada] }]);
  expect([many.viewers, many.unnamed, few.unnamed]).toEqual([[ada], 7, 0]);
});

it('reads ten thousand items in one go', () => {
  const lines = [now(0), ...Array.from({ length: 10_000 }, (_, at) => [began(at * 2 + 1, message(`m${at}`, '')), ended(at * 2 + 2, message(`m${at}`, 'x'))]).flat()];
  const state = run(...lines);
  expect([state.entries.length, state.open.size]).toEqual([10_000, 0]);
});
