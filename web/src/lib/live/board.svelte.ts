// The board, kept fresh for as long as the page is open: by the stream of all tasks, or by that of the task which is shown, which
// carries the same. A browser has few connections for all its tabs, so each tab needs but one.

import * as api from '../api/client';
import type { Frame } from '../api/sse';
import { openStream, type Stream } from '../api/stream';
import type { BoardLine } from '../api/types';
import { asksForPeople, EMPTY_BOARD, reduceBoard, type Board } from '../state/board';
import { askTitle } from '../text/words';
import { readOut } from './announce.svelte';
import { batched } from './batch';
import { readLines } from './lines';
import { isWatchman } from './watchman';
import { login } from './session.svelte';

/** Tasks that are not listed change in bursts. */
const COUNT_AFTER_MS = 1_000;

class LiveBoard {
  state = $state.raw<Board>(EMPTY_BOARD);
  connected = $state(false);
  /** Those that a person answers. */
  asks = $derived(asksForPeople(this.state));
  #wanted = false;
  #stream: Stream | null = null;
  /** Whoever brings the lines instead of a stream of the board's own. */
  #carrier: object | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #batch = batched<BoardLine>((lines) => this.#take(lines));

  open(): void {
    this.#wanted = true;
    if (this.#stream !== null || this.#carrier !== null) return;
    this.#stream = openStream(() => '/v1/events', {
      frames: (frames: Frame[]) => this.#batch.push(readLines<BoardLine>(frames)),
      connected: (is) => {
        this.connected = is;
      },
      // One tab keeps the stream also while it is hidden, so that its title says what waits.
      mayRest: () => !isWatchman(),
      refused: (status) => {
        this.close();
        if (status === 401 && login.now.phase === 'in') login.now = { phase: 'out', problem: null };
      },
    });
  }

  close(): void {
    this.#wanted = false;
    this.#end();
    this.connected = false;
  }

  /** From now on `carrier` hears what the board is told. */
  carriedBy(carrier: object): void {
    this.#carrier = carrier;
    this.#end();
  }

  /** What it has heard. */
  hear(carrier: object, lines: BoardLine[]): void {
    if (this.#carrier === carrier) this.#batch.push(lines);
  }

  heard(carrier: object, is: boolean): void {
    if (this.#carrier === carrier) this.connected = is;
  }

  /** It hears no more. */
  putDown(carrier: object): void {
    if (this.#carrier !== carrier) return;
    this.#carrier = null;
    if (this.#wanted) this.open();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stream?.close();
    this.#stream = null;
    this.#batch.drop();
  }

  #countSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#count().catch(() => {});
    }, COUNT_AFTER_MS);
  }

  async #count(): Promise<void> {
    const before = this.state;
    const { counts } = await api.tasks({ limit: 1 });
    // What changed meanwhile may be in them or not.
    if (this.state !== before) this.#countSoon();
    this.state = { ...this.state, counts };
  }

  #take(lines: BoardLine[]): void {
    const before = new Set(this.state.asks.map((shown) => shown.ask.id));
    const { known, unlisted } = this.state;
    this.state = reduceBoard(this.state, lines);
    if (this.state.unlisted !== unlisted) this.#countSoon();
    const fresh = this.asks.find((shown) => !before.has(shown.ask.id));
    if (known && fresh !== undefined) readOut(`${askTitle(fresh.ask.content.kind)} ${fresh.title}`);
  }
}

export const board = new LiveBoard();
