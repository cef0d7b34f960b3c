// The word that the daemon told with the login, and wants with every request. The session's cookie goes to whatever else listens on this
// host, because cookies know no ports; what a page stores is kept per port.

const NAME = 'ostler-word';

/** For a browser that stores nothing: then a reload wants a new login. */
let kept: string | null = null;

/** Read each time: another tab may have logged in anew. */
export function word(): string | null {
  try {
    return localStorage.getItem(NAME) ?? kept;
  } catch {
    return kept;
  }
}

export function keepWord(given: string | null): void {
  kept = given;
  try {
    if (given === null) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, given);
  } catch {
    // It is kept for as long as the page lives.
  }
}

export function withWord(headers: Record<string, string>): Record<string, string> {
  const given = word();
  return given === null || given === '' ? headers : { ...headers, 'x-ostler-csrf': given };
}
