import { expect, it } from 'vitest';
import type { LogEvent, TaskLine, Update } from '../api/types';
import { EMPTY_CONVERSATION, reduceConversation } from './conversation';
import { rows } from './rows';

let seq = 0;
const event = (what: LogEvent): TaskLine => ({ line: 'event', seq: (seq += 1), at: 0, event: what });
const scout = { thread: 'scout-123456', name: 'Scout' };
const step = (id: string, agent: typeof scout | null, update: 'item_began' | 'item_ended' = 'item_ended') =>
  event({
    event: 'thread',
    ...(agent === null ? {} : { agent }),
    update: { update, turn: 'one', item: { id, body: { kind: 'compaction' } }, how: 'reported' } as Update,
  });
const names = (lines: TaskLine[], unfolded: string[] = []) =>
  rows(reduceConversation(EMPTY_CONVERSATION, lines), new Set(unfolded)).map((row) => {
    if (row.row === 'agent') return `${row.name} ${row.steps}${row.atWork ? ' at work' : ''}`;
    if (row.row === 'entry' && row.entry.entry === 'item') return `${row.nested ? '> ' : ''}${row.entry.item.id}`;
    return row.row;
  });

it('folds the steps of a sub-agent under one row where it began', () => {
  const lines = [step('a', null), step('s1', scout), step('b', null), step('s2', scout), step('s3', scout, 'item_began')];
  expect(names(lines)).toEqual(['a', 'Scout 3 at work', 'b']);
  expect(names(lines, [scout.thread])).toEqual(['a', 'Scout 3 at work', '> s1', '> s2', '> s3', 'b']);
});

it('shows text whose item is not known yet, and leaves that of sub-agents to their row', () => {
  const partial = { turn: 'one', item: 'x', kind: 'message' as const, text: 'Hel' };
  expect(names([{ line: 'grown', ...partial }, { line: 'grown', ...partial, agent: scout }])).toEqual(['growing']);
});

it('gives each row a key of its own', () => {
  const lines = Array.from({ length: 200 }, (_, at) => step(`i${at}`, at % 3 === 0 ? scout : null));
  const keys = rows(reduceConversation(EMPTY_CONVERSATION, lines), new Set([scout.thread])).map((row) => row.key);
  expect(new Set(keys).size).toBe(keys.length);
});
