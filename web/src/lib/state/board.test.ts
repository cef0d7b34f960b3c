import { describe, expect, it } from 'vitest';
import type { AskShown, Task } from '../api/types';
import { asksForPeople, columnCounts, columns, dealer, EMPTY_BOARD, othersLooking, reduceBoard, statesOf } from './board';

const task = (id: string, state: Task['state'], updated_at = 0) => ({ id, state, updated_at }) as Task;
const ask = (id: string, of: string, kind: object = { Continue: { why: '' } }, opened_at = 0) =>
  ({ ask: { id, task: of, opened_at, content: { kind } }, title: of, cwd: '/' }) as unknown as AskShown;
const now = (tasks: Task[], asks: AskShown[], counts = {}) => ({ line: 'now' as const, tasks, counts, asks });

describe('the board', () => {
  it('is replaced by a snapshot, so nothing that is gone stays', () => {
    const before = reduceBoard(EMPTY_BOARD, [now([task('a', 'working')], [ask('x', 'a')])]);
    const after = reduceBoard(before, [now([task('b', 'queued')], [])]);
    expect([[...after.tasks.keys()], after.asks]).toEqual([['b'], []]);
  });

  it('takes a task in, counts it once, and lets it go with its asks', () => {
    const first = reduceBoard(EMPTY_BOARD, [now([task('a', 'queued')], [ask('x', 'a')], { queued: 1 })]);
    const moved = reduceBoard(first, [
      { line: 'task', task: task('a', 'working') },
      { line: 'task', task: task('a', 'working', 1) },
      { line: 'task', task: task('b', 'queued') },
    ]);
    expect(moved.counts).toEqual({ queued: 1, working: 1 });
    const gone = reduceBoard(moved, [{ line: 'task_gone', task: 'a' }]);
    expect([gone.counts, [...gone.tasks.keys()], gone.asks]).toEqual([{ queued: 1, working: 0 }, ['b'], []]);
  });

  it('knows when its counts cannot be right: a task changed that it does not list', () => {
    const first = reduceBoard(EMPTY_BOARD, [now([task('a', 'queued')], [], { queued: 300 })]);
    const own = reduceBoard(first, [{ line: 'task', task: task('a', 'working') }]);
    const other = reduceBoard(own, [{ line: 'task', task: task('old', 'working') }, { line: 'task_gone', task: 'older' }]);
    expect([first.unlisted, own.unlisted, other.unlisted]).toEqual([0, 0, 2]);
  });

  it('takes the whole list of asks each time', () => {
    const first = reduceBoard(EMPTY_BOARD, [now([], [ask('x', 'a'), ask('y', 'a')])]);
    const next = reduceBoard(first, [{ line: 'asks', asks: [ask('y', 'a')] }]);
    expect(next.asks.map((shown) => shown.ask.id)).toEqual(['y']);
  });

  it('does not touch the state it was given', () => {
    const first = reduceBoard(EMPTY_BOARD, [now([task('a', 'queued')], [])]);
    reduceBoard(first, [{ line: 'task', task: task('a', 'working') }, { line: 'task_gone', task: 'a' }]);
    expect(first.tasks.get('a')?.state).toBe('queued');
  });

  it('puts what is asked first, also for a task that works, and the newest of a column on top', () => {
    const board = reduceBoard(EMPTY_BOARD, [
      now([task('a', 'working'), task('b', 'completed', 1), task('c', 'failed', 2), task('d', 'waiting_for_approval')], [ask('x', 'a')]),
    ]);
    const ids = Object.fromEntries(Object.entries(columns(board)).map(([name, list]) => [name, list.map((one) => one.id)]));
    expect(ids).toEqual({ needs_you: ['a', 'd'], at_work: [], waiting: [], over: ['c', 'b'] });
  });

  it('counts what is not listed, and each task once', () => {
    const board = reduceBoard(EMPTY_BOARD, [
      now([task('a', 'working'), task('b', 'working'), task('c', 'parked')], [ask('x', 'a')], { working: 5, parked: 1, queued: 300, completed: 9, waiting_for_approval: 2 }),
    ]);
    expect(columnCounts(board)).toEqual({ needs_you: 3, at_work: 4, waiting: 301, over: 9 });
    expect(statesOf('waiting')).toBe('queued,parked');
  });

  it('knows who else sees an ask: at the board, and at its task', () => {
    const viewer = (name: string, surface = 'web') => ({ name, surface });
    const board = reduceBoard(EMPTY_BOARD, [
      { line: 'lookers', board: [viewer('ada'), viewer('ada')], tasks: { t: [viewer('bea', 'api')], u: [viewer('cay')] } },
      now([], []),
    ]);
    expect(othersLooking(board.lookers, 't', 'ada')).toEqual([viewer('bea', 'api'), viewer('ada')]);
    expect(othersLooking(board.lookers, 'none', 'cay')).toEqual([viewer('ada'), viewer('ada')]);
  });

  it('shows people only what people answer, who waited longest first', () => {
    const board = reduceBoard(EMPTY_BOARD, [
      now([], [ask('late', 'a', { Continue: { why: '' } }, 9), ask('tool', 'a', { ToolCall: {} }), ask('early', 'a', { Continue: { why: '' } }, 3)]),
    ]);
    expect(asksForPeople(board).map((shown) => shown.ask.id)).toEqual(['early', 'late']);
  });
});

it('leaves each ask on its pile when others come and go', () => {
  const deal = dealer();
  const ids = (asks: AskShown[]) => deal(asks).map((pile) => pile.map(({ shown }) => shown.ask.id));
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((id) => ask(id, 't')) as [AskShown, AskShown, AskShown, AskShown, AskShown];
  expect(ids([a, b, c])).toEqual([['a', 'c'], ['b']]);
  expect(ids([b, c, d])).toEqual([['c', 'd'], ['b']]);
  expect(ids([c, d, e])).toEqual([['c', 'd'], ['e']]);
});
