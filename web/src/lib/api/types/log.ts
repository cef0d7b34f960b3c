// The log of a task, and the frames of the streams.

import type { Agent, AutoReview, Cause, Failure, Goal, Id, Plan, Task, TaskSettings, TaskState, TurnResult, Usage } from './task';
import type { Ask, AskClosed, AskRecord, AskShown, DecisionRecord } from './ask';
import type { Item, ItemEnd } from './item';
import type { Intent, IntentState } from './intent';

export type DeltaKind = 'message' | 'reasoning' | 'plan' | 'output';

export interface Partial {
  agent?: Agent | null;
  turn: Id;
  item: Id;
  kind: DeltaKind;
  text: string;
}

export type Update =
  | { update: 'turn_began'; turn: Id }
  | { update: 'input_queued'; input: Id }
  | { update: 'input_taken'; input: Id; turn: Id }
  | { update: 'input_refused'; input: Id; failure: Failure; may_have_run?: boolean }
  | { update: 'item_began'; turn: Id; item: Item }
  | { update: 'delta'; turn: Id; item: Id; kind: DeltaKind; text: string }
  | { update: 'item_ended'; turn: Id; item: Item; how: ItemEnd }
  | { update: 'ask_opened'; ask: Id; content: Ask }
  | { update: 'ask_closed'; ask: Id; how: unknown }
  | { update: 'decision_refused'; ask: Id; by: string; why: { why: string; by?: string } }
  | { update: 'usage'; turn: Id; usage: Usage }
  | { update: 'plan'; turn: Id; plan: Plan }
  | { update: 'diff'; turn: Id; diff: string }
  | { update: 'compacted'; turn: Id }
  | { update: 'goal'; goal: Goal | null }
  | { update: 'retrying'; turn: Id; failure: Failure; attempt: number; for_ms: number }
  | {
      update: 'stalled';
      turn: Id;
      quiet_ms: number;
      found: { found: 'answers'; state: string } | { found: 'silent'; reason: string };
      retrying: Failure | null;
    }
  | { update: 'stray'; why: string; turn: Id | null; item: Item | null }
  | { update: 'disconnected'; reason: string }
  | { update: 'reconnected' }
  | { update: 'turn_ended'; result: TurnResult };

export type LogEvent =
  | { event: 'created'; settings: TaskSettings; by: string }
  | { event: 'state'; from: TaskState; to: TaskState; cause: Cause }
  | { event: 'intended'; intent: Intent }
  | { event: 'intent_moved'; intent: Id; to: IntentState }
  | { event: 'placed'; keeper: string; codex_version: string; thread: Id }
  | { event: 'thread'; agent?: Agent | null; update: Update }
  | { event: 'notice'; name: string; json: string; agent?: Agent | null }
  | { event: 'ask_opened'; ask: Id; content: Ask; digest: string; agent?: Agent | null }
  | { event: 'ask_returned'; ask: Id }
  | { event: 'ask_parked'; ask: Id }
  | { event: 'ask_decided'; ask: Id; decision: DecisionRecord }
  | { event: 'ask_closed'; ask: Id; how: AskClosed }
  | { event: 'ask_escalated'; ask: Id }
  | { event: 'auto_review'; agent?: Agent | null; turn?: Id | null; review: AutoReview }
  | { event: 'self_approval_refused'; ask: Id | null; who: string; why: string }
  | { event: 'rule_made'; rule: Id; text: string; by: string }
  | { event: 'lost'; events: number; why: string };

export interface TaskDetail {
  task: Task;
  asks: AskRecord[];
  intents: Intent[];
  partials: Partial[];
}

export interface Viewer {
  name: string;
  surface: string;
}

/** One frame of `GET /v1/tasks/{id}/events`. */
export type TaskLine =
  | ({ line: 'now' } & TaskDetail)
  | { line: 'event'; seq: number; at: number; event: LogEvent }
  | ({ line: 'grown' } & Partial)
  | { line: 'partials'; partials: Partial[] }
  | { line: 'gap'; from: number; to: number; why: string }
  | { line: 'viewers'; viewers: Viewer[]; others?: number }
  /** What the board is told, on the same stream. */
  | { line: 'board'; board: BoardLine };

/** One frame of `GET /v1/events`. */
export type BoardLine =
  | { line: 'now'; tasks: Task[]; counts: Record<string, number>; asks: AskShown[] }
  | { line: 'task'; task: Task }
  | { line: 'task_gone'; task: Id }
  | { line: 'asks'; asks: AskShown[] }
  | { line: 'lookers'; board: Viewer[]; tasks: Record<Id, Viewer[]> }
  | { line: 'many' };
