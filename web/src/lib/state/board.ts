// All tasks and all open asks, as the stream of all tasks tells them. Frames in, state out; nothing else.

import type { AskShown, BoardLine, Id, Task, TaskState, Viewer } from '../api/types';

export interface Board {
  /** False until the first frame has come. */
  known: boolean;
  tasks: ReadonlyMap<Id, Task>;
  counts: Readonly<Record<string, number>>;
  asks: readonly AskShown[];
  lookers: Lookers;
  /** How often a task has changed that is not listed: how it stood before is not known, and so the counts are not. */
  unlisted: number;
}

/** Who looks at the board, and who at which task. */
export interface Lookers {
  board: readonly Viewer[];
  tasks: Readonly<Record<Id, readonly Viewer[]>>;
}

export const EMPTY_BOARD: Board = { known: false, tasks: new Map(), counts: {}, asks: [], lookers: { board: [], tasks: {} }, unlisted: 0 };

export function reduceBoard(board: Board, lines: readonly BoardLine[]): Board {
  let next = board;
  for (const line of lines) {
    switch (line.line) {
      case 'now':
        // It replaces everything: what is not in it any more is gone, also a card that was open a moment ago.
        next = {
          known: true,
          tasks: new Map(line.tasks.map((task) => [task.id, task])),
          counts: line.counts,
          asks: line.asks,
          lookers: next.lookers,
          unlisted: next.unlisted,
        };
        break;
      case 'task':
        next = withTask(next, line.task);
        break;
      case 'task_gone': {
        const gone = next.tasks.get(line.task);
        const tasks = new Map(next.tasks);
        tasks.delete(line.task);
        const asks = next.asks.filter((shown) => shown.ask.task !== line.task);
        const unlisted = next.unlisted + (gone === undefined ? 1 : 0);
        next = { ...next, tasks, asks, unlisted, counts: recount(next.counts, gone?.state, undefined) };
        break;
      }
      case 'asks':
        next = { ...next, asks: line.asks };
        break;
      case 'lookers':
        next = { ...next, lookers: { board: line.board, tasks: line.tasks } };
        break;
      case 'many':
        // A `now` follows.
        break;
    }
  }
  return next;
}

function withTask(board: Board, task: Task): Board {
  const before = board.tasks.get(task.id);
  const tasks = new Map(board.tasks);
  tasks.set(task.id, task);
  const unlisted = board.unlisted + (before === undefined ? 1 : 0);
  return { ...board, tasks, unlisted, counts: recount(board.counts, before?.state, task.state) };
}

function recount(
  counts: Readonly<Record<string, number>>,
  from: TaskState | undefined,
  to: TaskState | undefined,
): Readonly<Record<string, number>> {
  if (from === to) return counts;
  const next = { ...counts };
  if (from !== undefined) next[from] = Math.max(0, (next[from] ?? 0) - 1);
  if (to !== undefined) next[to] = (next[to] ?? 0) + 1;
  return next;
}

export type ColumnName = 'needs_you' | 'at_work' | 'waiting' | 'over';

export const COLUMN_OF: Record<TaskState, ColumnName> = {
  waiting_for_approval: 'needs_you',
  waiting_for_user_input: 'needs_you',
  starting: 'at_work',
  working: 'at_work',
  recovering: 'at_work',
  queued: 'waiting',
  parked: 'waiting',
  completed: 'over',
  failed: 'over',
  cancelled: 'over',
};

/** The tasks of each column, those that changed last first. A task with an open ask needs somebody whatever its state. */
export function columns(board: Board): Record<ColumnName, Task[]> {
  const asking = new Set(board.asks.map((shown) => shown.ask.task));
  const made: Record<ColumnName, Task[]> = { needs_you: [], at_work: [], waiting: [], over: [] };
  for (const task of board.tasks.values()) {
    made[asking.has(task.id) ? 'needs_you' : COLUMN_OF[task.state] ?? 'waiting'].push(task);
  }
  for (const column of Object.values(made)) column.sort((one, other) => other.updated_at - one.updated_at);
  return made;
}

/**
 * How many tasks a column has, also those that are too old to be listed. The daemon counts by state; a task that works and asks stands
 * among those that need somebody.
 */
export function columnCounts(board: Board): Record<ColumnName, number> {
  const made: Record<ColumnName, number> = { needs_you: 0, at_work: 0, waiting: 0, over: 0 };
  for (const [state, count] of Object.entries(board.counts)) made[COLUMN_OF[state as TaskState] ?? 'waiting'] += count;
  for (const task of columns(board).needs_you) {
    const counted = COLUMN_OF[task.state] ?? 'waiting';
    if (counted === 'needs_you') continue;
    made[counted] -= 1;
    made.needs_you += 1;
  }
  return made;
}

/** The states of a column, for whoever looks for all of it. */
export function statesOf(column: ColumnName): string {
  return Object.entries(COLUMN_OF).filter(([, of]) => of === column).map(([state]) => state).join(',');
}

/** Who sees this ask beside whoever reads it: those at the board and those at its task. */
export function othersLooking(lookers: Lookers, task: Id, own: string): Viewer[] {
  const all = [...(lookers.tasks[task] ?? []), ...lookers.board];
  const at = all.findIndex((viewer) => viewer.name === own && viewer.surface === 'web');
  return all.filter((_, place) => place !== at);
}

/** Asks that a person answers, the oldest first: who waited longest is served first. */
export function asksForPeople(board: Board): AskShown[] {
  return board.asks.filter((shown) => isForPeople(shown.ask.content.kind)).toSorted(
    (one, other) => one.ask.opened_at - other.ask.opened_at,
  );
}

export function isForPeople(kind: object): boolean {
  return !('ToolCall' in kind || 'TokenRefresh' in kind || 'Other' in kind);
}

type Dealt = { shown: AskShown; at: number }[];

/** Deals asks onto two piles. Each stays on the pile that it came to first, whatever becomes of the others. */
export function dealer(): (asks: readonly AskShown[]) => [Dealt, Dealt] {
  let piles = new Map<Id, 0 | 1>();
  return (asks) => {
    const next = new Map<Id, 0 | 1>();
    const dealt: [Dealt, Dealt] = [[], []];
    for (const { ask } of asks) {
      const pile = piles.get(ask.id);
      if (pile !== undefined) next.set(ask.id, pile);
    }
    for (const [at, shown] of asks.entries()) {
      const count = (pile: 0 | 1) => [...next.values()].filter((one) => one === pile).length;
      const pile = next.get(shown.ask.id) ?? (count(0) <= count(1) ? 0 : 1);
      next.set(shown.ask.id, pile);
      dealt[pile].push({ shown, at });
    }
    piles = next;
    return dealt;
  };
}
