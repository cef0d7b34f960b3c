// Server-sent events from text as it arrives. The browser's own EventSource tells neither the status of a refused request
// nor that a connection has gone quiet, and both are needed after a laptop slept.

export interface Frame {
  event: string;
  data: string;
  id: string | null;
}

/** Takes text in pieces of any size and gives the frames that are complete. */
export class FrameReader {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id: string | null = null;

  push(text: string): Frame[] {
    const frames: Frame[] = [];
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (this.#data.length > 0) {
          frames.push({ event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id });
        }
        this.#event = '';
        this.#data = [];
        this.#id = null;
      } else {
        this.#field(line);
      }
    }
    return frames;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    // A line that begins with a colon is a comment; the daemon's pings are such.
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
    else if (name === 'id') this.#id = value;
  }
}
