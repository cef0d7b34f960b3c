// Which model, effort and mode are chosen for what is sent next.

import type { Input } from '../api/types';

export interface ModelChoice {
  model: string;
  effort: string;
  stays: boolean;
  plan: boolean;
}

export const EMPTY_CHOICE: ModelChoice = { model: '', effort: '', stays: false, plan: false };

/** The input with what was chosen for it. What was not chosen is left out. */
export function withChoice(input: Input, choice: ModelChoice): Input {
  const made: Input = { ...input };
  if (choice.model !== '') made.model = choice.model;
  if (choice.effort !== '') made.effort = choice.effort;
  if (choice.stays && (choice.model !== '' || choice.effort !== '')) made.stays = true;
  if (choice.plan) made.plan = true;
  return made;
}
