/** As long as a hidden page waits: browsers stop its frames, and what came must not pile up. */
const HIDDEN_MS = 500;

/** Gathers what comes and hands it over once per frame, so that a flood of text costs one update of the page each. */
export function batched<T>(hand: (all: T[]) => void): { push: (some: T[]) => void; drop: () => void } {
  let waiting: T[] = [];
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    [frame, timer] = [0, undefined];
    const all = waiting;
    waiting = [];
    if (all.length > 0) hand(all);
  };
  return {
    push(some) {
      for (const one of some) waiting.push(one);
      if (timer !== undefined) return;
      frame = requestAnimationFrame(flush);
      timer = setTimeout(flush, HIDDEN_MS);
    },
    drop() {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      [waiting, timer] = [[], undefined];
    },
  };
}
