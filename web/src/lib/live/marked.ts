// The ask or task that the keyboard is at.

import type { Shortcut } from './keys';

/** Moves the focus to the next or the previous of these. */
export function step(selector: string, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const at = all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
  const next = at < 0 ? (by === 1 ? 0 : all.length - 1) : at + by;
  all[next]?.focus();
  all[next]?.scrollIntoView({ block: 'nearest' });
}

function marked(): HTMLElement | null {
  const at = document.activeElement?.closest<HTMLElement>('[data-ask]');
  if (at !== null && at !== undefined) return at;
  // With one ask alone there is no doubt which is meant.
  const all = document.querySelectorAll<HTMLElement>('[data-ask]');
  return all.length === 1 ? (all[0] ?? null) : null;
}

function press(choice: string): void {
  marked()?.querySelector<HTMLButtonElement>(`${choice}:not(:disabled)`)?.click();
}

export function askShortcuts(): Shortcut[] {
  return [
    { keys: 'a', meaning: 'allow once', run: () => press('button.primary[data-choice]') },
    { keys: 'd', meaning: 'deny', run: () => press('[data-choice="deny"]') },
  ];
}
