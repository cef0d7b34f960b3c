// Of all tabs of this page one is the watchman: it keeps its stream while hidden. When it is closed another takes over.

let holds = false;

void navigator.locks?.request('ostler-watchman', () => {
  holds = true;
  // Never settled: the lock is held for as long as the page lives.
  return new Promise<void>(() => {});
});

export function isWatchman(): boolean {
  return holds;
}
