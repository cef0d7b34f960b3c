// The markdown inside of a line: emphasis, code, links.

import { visible } from './visible';

export type Inline =
  | { is: 'text'; text: string }
  | { is: 'code'; text: string }
  | { is: 'strong' | 'em' | 'del'; inside: Inline[] }
  | { is: 'link'; address: string; inside: Inline[] }
  | { is: 'break' };

/** Emphasis in emphasis in emphasis; deeper is shown as text. */
const DEEPEST = 8;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}]/u;

/**
 * Addresses that a click may open. Everything else is shown as text: also one with a login in it, which is read as the host by people
 * (`https://good.example@evil.example`) or gives a secret away, and one with characters that nobody sees.
 */
export function safeAddress(address: string): string | null {
  const trimmed = address.trim();
  // Browsers take a backslash for a slash, and others do not: they disagree on the host.
  if (!/^(?:https?:\/\/|mailto:)[^\s\\\u0000-\u001f]+$/i.test(trimmed) || visible(trimmed) !== trimmed) return null;
  // More than two slashes are two.
  const host = /^https?:\/+([^/?#]*)/i.exec(trimmed)?.[1] ?? '';
  return host.includes('@') || !URL.canParse(trimmed) ? null : trimmed;
}

export function inlines(text: string, depth = 0): Inline[] {
  return new Reader(text, depth).read();
}

class Reader {
  readonly #text: string;
  readonly #depth: number;
  readonly #made: Inline[] = [];
  /** Marks that are known to have no end further on: looking once is enough, so odd text costs no more than other. */
  readonly #endless = new Set<string>();
  #plain = '';
  #at = 0;
  /** The next place where a link could end; -1 if there is none. */
  #nextEnd: number;

  constructor(text: string, depth: number) {
    this.#text = text;
    this.#depth = depth;
    this.#nextEnd = text.indexOf('](');
  }

  read(): Inline[] {
    if (this.#depth > DEEPEST) return [{ is: 'text', text: this.#text }];
    while (this.#at < this.#text.length) {
      const length = this.#special();
      if (length === 0) {
        this.#plain += this.#text[this.#at];
        this.#at += 1;
      } else {
        this.#at += length;
      }
    }
    this.#flush();
    return this.#made;
  }

  #push(part: Inline): void {
    this.#flush();
    this.#made.push(part);
  }

  #flush(): void {
    if (this.#plain !== '') this.#made.push({ is: 'text', text: this.#plain });
    this.#plain = '';
  }

  #inner(text: string): Inline[] {
    return inlines(text, this.#depth + 1);
  }

  /** How much of the text here is something else than plain text, which is then taken. */
  #special(): number {
    switch (this.#text[this.#at]) {
      case '\\':
        return this.#escape();
      case '\n':
        return this.#lineEnd();
      case '`':
        return this.#code();
      case '*':
      case '_':
      case '~':
        return this.#emphasis();
      case '[':
        return this.#link(this.#at);
      case '!':
        return this.#text[this.#at + 1] === '[' ? this.#image() : 0;
      case '<':
        return this.#angled();
      case '&':
        return this.#entity();
      case 'h':
        return this.#bare();
      default:
        return 0;
    }
  }

  #escape(): number {
    const next = this.#text[this.#at + 1] ?? '';
    if (next === '\n') {
      this.#push({ is: 'break' });
      return 2;
    }
    if (!PUNCTUATION.test(next)) return 0;
    this.#plain += next;
    return 2;
  }

  #lineEnd(): number {
    if (!this.#plain.endsWith('  ')) return 0;
    this.#plain = this.#plain.trimEnd();
    this.#push({ is: 'break' });
    return 1;
  }

  #code(): number {
    const ticks = /^`+/.exec(this.#text.slice(this.#at, this.#at + 40))?.[0] ?? '`';
    const from = this.#at + ticks.length;
    let end = this.#endless.has(ticks) ? -1 : this.#text.indexOf(ticks, from);
    while (end >= 0 && this.#text[end + ticks.length] === '`') {
      // A longer run of ticks is no end.
      let after = end + ticks.length;
      while (this.#text[after] === '`') after += 1;
      end = this.#text.indexOf(ticks, after);
    }
    if (end < 0) {
      this.#endless.add(ticks);
      this.#plain += ticks;
      return ticks.length;
    }
    const inside = this.#text.slice(from, end).replaceAll('\n', ' ');
    const isPadded = inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== '';
    this.#push({ is: 'code', text: isPadded ? inside.slice(1, -1) : inside });
    return end + ticks.length - this.#at;
  }

  #emphasis(): number {
    const sign = this.#text[this.#at] ?? '';
    const isDouble = this.#text[this.#at + 1] === sign;
    if (sign === '~' && !isDouble) return 0;
    const mark = isDouble ? sign + sign : sign;
    const from = this.#at + mark.length;
    const isOpening =
      /\S/.test(this.#text[from] ?? ' ') && !(sign === '_' && WORD.test(this.#text[this.#at - 1] ?? ''));
    const end = isOpening && !this.#endless.has(mark) ? this.#endOf(mark, from) : -1;
    if (end < 0) {
      if (isOpening) this.#endless.add(mark);
      this.#plain += mark;
      return mark.length;
    }
    const inside = this.#inner(this.#text.slice(from, end));
    this.#push({ is: sign === '~' ? 'del' : isDouble ? 'strong' : 'em', inside });
    return end + mark.length - this.#at;
  }

  #endOf(mark: string, from: number): number {
    const sign = mark[0] ?? '';
    let at = from;
    while (at < this.#text.length) {
      if (this.#text[at] === '\\') {
        at += 2;
        continue;
      }
      if (this.#text[at] === '`') {
        const close = this.#text.indexOf('`', at + 1);
        at = close < 0 ? at + 1 : close + 1;
        continue;
      }
      if (this.#text[at] !== sign) {
        at += 1;
        continue;
      }
      let run = 1;
      while (this.#text[at + run] === sign) run += 1;
      const isClosing =
        at > from &&
        /\S/.test(this.#text[at - 1] ?? ' ') &&
        !(sign === '_' && WORD.test(this.#text[at + run] ?? ''));
      if (isClosing && run === mark.length) return at;
      // Two ends at once: the inner one comes first.
      if (isClosing && run === 3) return at + (3 - mark.length);
      at += run;
    }
    return -1;
  }

  /** `[text](address "title")`, which begins at this place. */
  #link(from: number): number {
    const found = this.#linkParts(from);
    if (found === null) return 0;
    const address = safeAddress(found.address);
    if (address === null) {
      for (const part of this.#inner(found.text)) this.#push(part);
      this.#plain += ` (${found.address})`;
    } else {
      this.#push({ is: 'link', address, inside: this.#inner(found.text) });
    }
    return found.end - this.#at;
  }

  /** Images from elsewhere are not fetched: looking at an answer must not tell anybody that it was looked at. */
  #image(): number {
    const found = this.#linkParts(this.#at + 1);
    if (found === null) return 0;
    const address = safeAddress(found.address);
    const shown: Inline = { is: 'text', text: found.text === '' ? found.address : found.text };
    this.#push(address === null ? shown : { is: 'link', address, inside: [shown] });
    return found.end - this.#at;
  }

  #linkParts(from: number): { text: string; address: string; end: number } | null {
    // An address or a title longer than this is no link that anybody wrote, and looking further would take long.
    const MOST = 1_000;
    // Without an end in reach there is no link; where the next one is has to be found once only.
    if (this.#nextEnd >= 0 && this.#nextEnd < from) this.#nextEnd = this.#text.indexOf('](', from);
    if (this.#nextEnd < 0 || this.#nextEnd > from + MOST) return null;
    let depth = 0;
    const last = Math.min(this.#text.length, from + MOST);
    for (let at = from; at < last; at += 1) {
      const letter = this.#text[at];
      if (letter === '\\') at += 1;
      else if (letter === '[') depth += 1;
      else if (letter === ']' && (depth -= 1) === 0) {
        const rest = this.#text.slice(at + 1, at + 1 + MOST);
        const found = /^\(\s*(?:<([^<>\n]*)>|((?:[^\s()]|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(rest);
        if (found === null) return null;
        return { text: this.#text.slice(from + 1, at), address: found[1] ?? found[2] ?? '', end: at + 1 + found[0].length };
      }
    }
    return null;
  }

  #angled(): number {
    const found = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(this.#text.slice(this.#at, this.#at + 2_000));
    const address = found === null ? null : safeAddress(found[1] ?? '');
    if (found === null || address === null) return 0;
    this.#push({ is: 'link', address, inside: [{ is: 'text', text: address }] });
    return found[0].length;
  }

  #bare(): number {
    if (WORD.test(this.#text[this.#at - 1] ?? '')) return 0;
    const found = /^https?:\/\/[^\s<>"'`]+/.exec(this.#text.slice(this.#at, this.#at + 2_000))?.[0];
    if (found === undefined) return 0;
    const shown = found.replace(/[.,:;!?*_~]+$/, '').replace(/\)$/, (end) => (found.includes('(') ? end : ''));
    const address = safeAddress(shown);
    if (address === null) return 0;
    this.#push({ is: 'link', address, inside: [{ is: 'text', text: shown }] });
    return shown.length;
  }

  #entity(): number {
    const found = /^&(#\d{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos|nbsp);/i.exec(this.#text.slice(this.#at, this.#at + 12));
    if (found === null) return 0;
    const letter = entity((found[1] ?? '').toLowerCase());
    if (letter === null) return 0;
    this.#plain += letter;
    return found[0].length;
  }
}

const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

function entity(name: string): string | null {
  if (!name.startsWith('#')) return NAMED[name] ?? null;
  const code = name.startsWith('#x') ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  return code > 31 && code <= 0x10ffff ? String.fromCodePoint(code) : null;
}
