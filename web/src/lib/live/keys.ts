// Keyboard shortcuts: single keys, which do nothing while somebody types, and pairs that begin with g.

export interface Shortcut {
  keys: string;
  meaning: string;
  run: (event: KeyboardEvent) => void;
}

const active: Shortcut[][] = [];

/** Adds shortcuts until the returned function is called. Those added last are asked first. */
export function addShortcuts(shortcuts: Shortcut[]): () => void {
  active.push(shortcuts);
  return () => {
    active.splice(active.indexOf(shortcuts), 1);
  };
}

/** How long the second key of a pair may take. */
const PAIR_MS = 1_200;

let begun: { key: string; at: number } | null = null;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

export function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
  const pair = begun !== null && event.timeStamp - begun.at < PAIR_MS ? `${begun.key} ${event.key}` : null;
  begun = event.key === 'g' && pair === null ? { key: 'g', at: event.timeStamp } : null;
  const wanted = pair ?? event.key;
  const found = active.toReversed().flat().find((shortcut) => shortcut.keys === wanted);
  if (found === undefined) return;
  event.preventDefault();
  found.run(event);
}
