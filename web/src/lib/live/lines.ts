import type { Frame } from '../api/sse';

/** The JSON of frames. One that cannot be read is left out: a newer daemon may say more than this page knows. */
export function readLines<T>(frames: readonly Frame[]): T[] {
  const lines: T[] = [];
  for (const frame of frames) {
    try {
      lines.push(JSON.parse(frame.data) as T);
    } catch {
      console.warn('a frame could not be read', frame.event);
    }
  }
  return lines;
}
