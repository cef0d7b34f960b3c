// What people want of a task, and what became of it.

import type { Failure, Id, IfBusy } from './task';
import type { Decision } from './ask';

export type Part =
  | { text: string }
  | { image_url: string }
  | { image_file: string }
  | { skill: { name: string; path: string } }
  | { mention: { name: string; path: string } };

export type ReviewOf =
  | 'uncommitted_changes'
  | { base_branch: string }
  | { commit: string }
  | { custom: string };

export interface Input {
  content: { message: Part[] } | { review: ReviewOf } | 'compaction';
  model?: string;
  effort?: string;
  /** Model and effort hold for later turns, too. */
  stays?: boolean;
  /** In this turn the model asks and plans, and changes nothing. */
  plan?: boolean;
  output_schema?: string;
}

export type Wish =
  | { wish: 'send'; input: Input; if_busy: IfBusy }
  | { wish: 'interrupt' }
  | { wish: 'goal'; goal: GoalChange }
  | { wish: 'answer'; ask: Id; decision: Decision; reason: string | null };

export type GoalChange =
  | { change: 'set'; objective: string; token_budget: number | null }
  | { change: 'pause' | 'resume' | 'clear' };

export type Receipt =
  | { proof: 'taken'; turn: Id }
  | { proof: 'answered' }
  | { proof: 'interrupted'; turn: Id }
  | { proof: 'goal_changed' }
  | { proof: 'nothing' };

export type NotDone =
  | { why: 'refused'; failure: Failure }
  | { why: 'withdrawn'; by: string }
  | { why: 'decided'; by: string }
  | { why: 'too_late' }
  | { why: 'not_offered' }
  | { why: 'needless' };

export type IntentState =
  | { state: 'pending' }
  | { state: 'sent'; after: Id | null }
  | { state: 'done'; receipt: Receipt }
  | { state: 'not_done'; why: NotDone }
  | { state: 'unknown'; why: string };

export interface Intent {
  id: Id;
  task: Id;
  wish: Wish;
  by: string;
  at: number;
  state: IntentState;
}
