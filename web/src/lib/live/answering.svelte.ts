// Answers that are on their way. The card itself goes when the stream says that the ask is gone.

import * as api from '../api/client';
import { asProblem, UNREACHABLE, type Problem } from '../api/problem';
import type { AnswerRequest, Id } from '../api/types';
import { Repeatable } from '../state/repeat';
import { decisionWords } from '../text/words';
import { tell } from './announce.svelte';
import { login } from './session.svelte';

type Sent = { sent: 'sending' } | { sent: 'given'; words: string } | { sent: 'refused'; problem: Problem };

export const answering = $state<Record<Id, Sent>>({});

/** Answers whose fate nobody has told: the daemon may have taken them. */
const unheard = new Map<Id, { request: Repeatable; key: string }>();

export async function giveAnswer(ask: Id, given: AnswerRequest): Promise<void> {
  if (answering[ask]?.sent === 'sending' || answering[ask]?.sent === 'given') return;
  answering[ask] = { sent: 'sending' };
  const words = decisionWords(given.decision);
  const before = unheard.get(ask);
  const request = before?.request ?? new Repeatable();
  const key = request.keyFor(given);
  try {
    await api.answer(ask, given, key);
    answering[ask] = { sent: 'given', words };
    unheard.delete(ask);
  } catch (error) {
    const problem = asProblem(error);
    const first = problem.decidedBy;
    if (problem.status === UNREACHABLE) unheard.set(ask, { request, key });
    // It was this very answer that counted; only its receipt was lost.
    if (first !== null && before?.key === key && first === ownName()) {
      answering[ask] = { sent: 'given', words };
      return;
    }
    answering[ask] = { sent: 'refused', problem };
    if (first !== null) tell('plain', `${first} was first`, 'your answer did not count');
  }
}

/** As a decision of this page is signed. */
function ownName(): string | null {
  return login.now.phase === 'in' ? `${login.now.session.name} (web)` : null;
}
