// Which screen is shown. It stands in the fragment of the address, so that the daemon serves one page and a reload comes
// back to the same place.

import type { Id } from '../api/types';

export type TaskTab = 'conversation' | 'changes' | 'timeline' | 'receipts' | 'settings';

export const TASK_TABS: readonly TaskTab[] = ['conversation', 'changes', 'timeline', 'receipts', 'settings'];

export type Route =
  | { screen: 'board' }
  | { screen: 'new' }
  | { screen: 'search'; words: string; state: string }
  | { screen: 'settings' }
  | { screen: 'notices' }
  | { screen: 'audit' }
  | { screen: 'task'; id: Id; tab: TaskTab };

export function readRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter((part) => part !== '').map(decode);
  const words = new URLSearchParams(query);
  switch (parts[0]) {
    case 'new':
      return { screen: 'new' };
    case 'search':
      return { screen: 'search', words: words.get('q') ?? '', state: words.get('state') ?? '' };
    case 'settings':
      return { screen: 'settings' };
    case 'notifications':
      return { screen: 'notices' };
    case 'audit':
      return { screen: 'audit' };
    case 'tasks': {
      const id = parts[1];
      const tab = TASK_TABS.find((known) => known === parts[2]) ?? 'conversation';
      return id === undefined ? { screen: 'board' } : { screen: 'task', id, tab };
    }
    default:
      return { screen: 'board' };
  }
}

export function taskAddress(id: Id, tab: TaskTab = 'conversation'): string {
  return `#/tasks/${encodeURIComponent(id)}${tab === 'conversation' ? '' : `/${tab}`}`;
}

export function searchAddress(words: string, state = ''): string {
  const query = new URLSearchParams();
  if (words !== '') query.set('q', words);
  if (state !== '') query.set('state', state);
  return `#/search?${query.toString()}`;
}

export const place = $state<{ route: Route }>({ route: readRoute(location.hash) });

export function go(address: string): void {
  location.hash = address;
}

/** Puts words into the address without a step in the history. */
export function replace(address: string): void {
  history.replaceState(null, '', address);
  place.route = readRoute(location.hash);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

window.addEventListener('hashchange', () => {
  place.route = readRoute(location.hash);
});
