// A stream of the daemon that is opened again whenever it breaks: after a restart, a lost network, a night in a closed
// laptop. It goes on after the last event it has seen, and whoever listens is told while it is down.

import { FrameReader, type Frame } from './sse';
import { withWord } from './word';

/** The daemon pings every 15 s. Two missed and some time for a busy machine: the connection is dead. */
const QUIET_MS = 40_000;
/** A daemon restarts in about a second; a machine that is away for long is not to be asked ten times a second. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * A page that nobody looks at gives its stream back after this time, and one that is opened behind others begins without: a browser
 * has six connections to a server that speaks HTTP/1.1, whatever the number of tabs, and one more than that waits for ever.
 */
const HIDDEN_MS = 20_000;

export interface Listener {
  /** Frames that came together. */
  frames(frames: Frame[]): void;
  connected(is: boolean): void;
  /** The daemon refused for good: nobody is logged in, or there is no such task. */
  refused(status: number, body: string): void;
  /** Whether it may be given back while nobody looks at the page. */
  mayRest(): boolean;
}

export interface Stream {
  /** Opens it anew, from the address as it is now. */
  restart(): void;
  close(): void;
}

/** The address is asked for at each attempt, because it names the last event that was seen. */
export function openStream(address: () => string, listener: Listener): Stream {
  let closed = false;
  let attempt: AbortController | null = null;
  let wait = FIRST_WAIT_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let heardAt = 0;
  let hiddenAt: number | null = null;
  let rests = false;

  async function run(): Promise<void> {
    const own = new AbortController();
    attempt = own;
    heardAt = Date.now();
    try {
      const response = await fetch(address(), {
        headers: withWord({ accept: 'text/event-stream' }),
        credentials: 'same-origin',
        cache: 'no-store',
        signal: own.signal,
      });
      if (response.status >= 400 && response.status < 500 && response.status !== 429) {
        const body = await response.text();
        if (own.signal.aborted) return;
        close();
        listener.refused(response.status, body);
        return;
      }
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      const frames = new FrameReader();
      listener.connected(true);
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        heardAt = Date.now();
        wait = FIRST_WAIT_MS;
        const whole = frames.push(decoder.decode(value, { stream: true }));
        if (whole.length > 0 && !own.signal.aborted) listener.frames(whole);
      }
    } catch {
      // What broke does not matter: the stream is opened again.
    }
    if (attempt === own && !closed && !rests) later();
  }

  function later(): void {
    listener.connected(false);
    clearTimeout(timer);
    timer = setTimeout(() => void run(), wait * (0.7 + Math.random() * 0.6));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }

  function restart(): void {
    if (closed) return;
    rests = false;
    clearTimeout(timer);
    wait = FIRST_WAIT_MS;
    attempt?.abort();
    void run();
  }

  /** A page that comes back from sleep has timers that ran late and a connection that nobody closed. */
  function look(): void {
    const now = Date.now();
    if (document.visibilityState === 'hidden') {
      hiddenAt ??= now;
      if (!rests && now - hiddenAt > HIDDEN_MS && listener.mayRest()) rest();
      // The tab that watched for all of them was closed, and this one has taken over.
      if (rests && !listener.mayRest()) restart();
      return;
    }
    hiddenAt = null;
    if (rests || now - heardAt > QUIET_MS) {
      listener.connected(false);
      restart();
    }
  }

  /** The network is back. Whoever rests goes on to rest. */
  function wake(): void {
    if (!rests) restart();
  }

  function rest(): void {
    rests = true;
    clearTimeout(timer);
    attempt?.abort();
    listener.connected(false);
  }

  const watch = setInterval(look, 5_000);
  document.addEventListener('visibilitychange', look);
  window.addEventListener('online', wake);
  if (document.visibilityState === 'hidden' && listener.mayRest()) rests = true;
  else void run();

  function close(): void {
    closed = true;
    clearInterval(watch);
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
    window.removeEventListener('online', wake);
    attempt?.abort();
  }

  return { restart, close };
}
