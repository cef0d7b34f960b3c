// How somebody likes to look at things; kept in this browser.

const KEY = 'ostler-diff';

export type DiffStyle = 'inline' | 'split';

export const view = $state<{ diff: DiffStyle }>({ diff: localStorage.getItem(KEY) === 'split' ? 'split' : 'inline' });

const narrow = window.matchMedia('(max-width: 640px)');
const screen = $state({ isNarrow: narrow.matches });
narrow.addEventListener('change', () => (screen.isNarrow = narrow.matches));

/** Two columns do not fit a phone. */
export function diffStyle(): DiffStyle {
  return screen.isNarrow ? 'inline' : view.diff;
}

export function chooseDiff(style: DiffStyle): void {
  view.diff = style;
  localStorage.setItem(KEY, style);
}
