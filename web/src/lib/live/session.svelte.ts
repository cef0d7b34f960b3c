// Who is logged in. The one-time code stands in the fragment of the address, which no server ever sees.

import * as api from '../api/client';
import { asProblem, type Problem } from '../api/problem';
import type { Session, TokenScope } from '../api/types';
import { replace } from './route.svelte';

type Phase =
  | { phase: 'checking' }
  | { phase: 'out'; problem: Problem | null }
  | { phase: 'unreachable' }
  | { phase: 'in'; session: Session };

export const login = $state<{ now: Phase }>({ now: { phase: 'checking' } });

/** The daemon may be starting: asked again soon, and not for ever at once. */
const AGAIN_MS = 2_000;

export async function begin(): Promise<void> {
  api.whenLoggedOut(() => {
    if (login.now.phase === 'in') login.now = { phase: 'out', problem: null };
  });
  const code = oneTimeCode();
  if (code !== null) {
    history.replaceState(null, '', '/');
    await enter(code);
  } else {
    await look();
  }
}

/** A fragment that is no place on the page is a code. */
function oneTimeCode(): string | null {
  const fragment = location.hash.slice(1);
  return fragment === '' || fragment.startsWith('/') ? null : fragment;
}

export async function enter(code: string): Promise<void> {
  try {
    await api.logIn(code.trim());
  } catch (error) {
    login.now = { phase: 'out', problem: asProblem(error) };
    return;
  }
  await look();
  if (location.pathname !== '/') replace('/');
}

export async function leave(): Promise<void> {
  await api.logOut();
  login.now = { phase: 'out', problem: null };
}

async function look(): Promise<void> {
  try {
    login.now = { phase: 'in', session: await api.session() };
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 401 || problem.status === 403) {
      login.now = { phase: 'out', problem: null };
      return;
    }
    login.now = { phase: 'unreachable' };
    setTimeout(() => void look(), AGAIN_MS);
  }
}

export function may(scope: TokenScope): boolean {
  return login.now.phase === 'in' && login.now.session.scopes.includes(scope);
}
