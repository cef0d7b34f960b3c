// What tasks have told, as far as it is shown here, and how much of it nobody has looked at.

import * as api from '../api/client';
import type { Notification } from '../api/types';

/** Changes of tasks come in bursts, and what is told of them follows within a moment. */
const SOON_MS = 1_000;
/** A page has this many at once. */
const PAGE = 50;

class Notices {
  unread = $state(0);
  list = $state.raw<Notification[]>([]);
  newest = $state<number | null>(null);
  next = $state<number | null>(null);
  known = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Something has changed that may have been told. */
  soon(): void {
    // Whatever goes on changing is looked at all the same.
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.read().catch(() => {});
      },
      this.known ? SOON_MS : 0,
    );
  }

  async read(): Promise<void> {
    const page = await api.notifications({ limit: PAGE });
    [this.list, this.unread, this.newest, this.next, this.known] = [page.notifications, page.unread, page.newest, page.next, true];
  }

  async more(): Promise<void> {
    const page = await api.notifications({ limit: PAGE, before: this.next });
    this.list = [...this.list, ...page.notifications];
    this.next = page.next;
  }

  /** Somebody has looked at all that is listed. */
  async seen(): Promise<void> {
    if (this.newest === null) return;
    await api.readNotifications(this.newest);
    await this.read();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

export const notices = new Notices();
