const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long, in at most two units: "1 h 20 min". */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return two(ms, MINUTE, 'min', SECOND, 's');
  if (ms < DAY) return two(ms, HOUR, 'h', MINUTE, 'min');
  return two(ms, DAY, 'd', HOUR, 'h');
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  const head = `${Math.floor(ms / large)} ${largeName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** How long ago, as short as a list wants it. */
export function ago(at: number, now: number): string {
  const ms = Math.max(0, now - at);
  if (ms < 10 * SECOND) return 'now';
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** The same in a sentence. */
export function since(at: number, now: number): string {
  const passed = ago(at, now);
  return passed === 'now' ? 'just now' : `${passed} ago`;
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

export function dateAndTime(at: number): string {
  return new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });
}

/** A time to come: only the clock if it is within a day. */
export function upcoming(at: number, now: number): string {
  const time: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };
  if (at - now < DAY) return new Date(at).toLocaleTimeString([], time);
  return new Date(at).toLocaleString([], { ...time, month: 'short', day: 'numeric' });
}

/** A count of tokens or bytes, short: 12.4k. */
export function short(number: number): string {
  if (number < 1000) return String(number);
  if (number < 100_000) return `${(number / 1000).toFixed(1).replace(/\.0$/, '')}k`;
  if (number < 1_000_000) return `${Math.round(number / 1000)}k`;
  return `${(number / 1_000_000).toFixed(1).replace(/\.0$/, '')}M`;
}

export function bytes(number: number): string {
  return `${short(number)}B`.replace(/^(\d+)B$/, '$1 B');
}
