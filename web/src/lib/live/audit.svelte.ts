// The audit log: who was refused what, and who decided what; and how many refusals nobody has looked at.

import * as api from '../api/client';
import type { AuditEntry } from '../api/types';
import { may } from './session.svelte';

/** Refusals change no task, so nobody tells the page of them. */
const EVERY_MS = 30_000;
const PAGE = 50;

class Audit {
  unseen = $state(0);
  list = $state.raw<AuditEntry[]>([]);
  newest = $state(0);
  next = $state<number | null>(null);
  /** Left out within the last minute, because there were too many. */
  suppressed = $state(0);
  refusals = $state(false);
  known = $state(false);
  #timer: ReturnType<typeof setInterval> | undefined;

  open(): void {
    if (this.#timer !== undefined || !may('decide')) return;
    this.read().catch(() => {});
    this.#timer = setInterval(() => void this.count().catch(() => {}), EVERY_MS);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Only how many there are: what is listed stays where it is while somebody reads it. */
  async count(): Promise<void> {
    this.unseen = (await api.audit({ limit: 1 })).unseen;
  }

  async read(): Promise<void> {
    const page = await api.audit({ refusals: this.refusals, limit: PAGE });
    [this.list, this.unseen, this.newest, this.next] = [page.entries, page.unseen, page.newest, page.next];
    [this.suppressed, this.known] = [page.suppressed, true];
  }

  async more(): Promise<void> {
    const page = await api.audit({ refusals: this.refusals, limit: PAGE, before: this.next });
    this.list = [...this.list, ...page.entries];
    this.next = page.next;
  }

  /** Somebody has looked at all that is listed. */
  async seen(): Promise<void> {
    await api.readAudit(this.newest);
    await this.read();
  }
}

export const audit = new Audit();
