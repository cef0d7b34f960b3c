// What is told in passing: short messages at the edge of the page, which a screen reader reads out.

export interface Toast {
  id: number;
  tone: 'plain' | 'good' | 'bad';
  text: string;
  hint: string | null;
}

/** Long enough to look up from elsewhere and read two lines. */
const SHOWN_MS = 12_000;

let next = 1;

export const toasts = $state<{ list: Toast[]; heard: string }>({ list: [], heard: '' });

export function tell(tone: Toast['tone'], text: string, hint: string | null = null): void {
  const id = next;
  next += 1;
  toasts.list = [...toasts.list.slice(-3), { id, tone, text, hint }];
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.list = toasts.list.filter((toast) => toast.id !== id);
}

/** Read out, and not shown: for what is on the screen already. */
export function readOut(text: string): void {
  toasts.heard = text;
}
