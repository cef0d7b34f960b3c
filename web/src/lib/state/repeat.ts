// A request that is sent again because nobody heard its answer must count once, and another one must not be taken for it.

/** Gives the same key for the same content until it is settled. */
export class Repeatable {
  #content: string | null = null;
  #key = '';

  keyFor(content: unknown): string {
    const text = JSON.stringify(content);
    if (text !== this.#content) {
      this.#content = text;
      this.#key = crypto.randomUUID();
    }
    return this.#key;
  }

  /** The daemon has answered that it was done: the same content again is another request. */
  settled(): void {
    this.#content = null;
  }
}
