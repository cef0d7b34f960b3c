// Markdown as a tree that components render to elements of their own. Nothing here or there ever makes HTML of text, so
// what Codex or a person wrote can only be shown, never run. It is the markdown that models write: GitHub's, without
// references, footnotes and HTML, which stay text.

import { inlines, type Inline } from './inline';

export type { Inline } from './inline';
export { safeAddress } from './inline';

export type Block =
  | { is: 'paragraph'; inside: Inline[] }
  | { is: 'heading'; level: number; inside: Inline[] }
  | { is: 'code'; language: string; text: string }
  | { is: 'quote'; inside: Block[] }
  | { is: 'list'; ordered: boolean; start: number; items: ListItem[] }
  | { is: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { is: 'rule' };

export interface ListItem {
  /** Whether the box before it is ticked; null without a box. */
  done: boolean | null;
  inside: Block[];
}

/** How deep lists and quotes may be nested; deeper is shown as text. Nobody writes this, but a model can be made to. */
const DEEPEST = 12;
/** Longer text is shown as it is: making elements of it would stop the page for long. */
const LONGEST = 200_000;

export function markdown(text: string): Block[] {
  if (text.length > LONGEST) return [{ is: 'code', language: '', text }];
  return blocks(text.replace(/\r\n?/g, '\n').split('\n'), 0);
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const MARKER = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const DASHES = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const INDENTED = /^(?: {4}|\t)/;
const BOX = /^\[([ xX])\] +/;

const isBlank = (line: string) => line.trim() === '';

/** Whether a line ends the paragraph before it. */
function beginsBlock(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || MARKER.test(line);
}

function blocks(lines: readonly string[], depth: number): Block[] {
  if (depth > DEEPEST) return [paragraph(lines)];
  const made: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    if (isBlank(line)) {
      at += 1;
      continue;
    }
    const [block, next] = blockAt(lines, at, line, depth);
    made.push(block);
    at = next;
  }
  return made;
}

/** The block that begins at this line, and the line after it. */
function blockAt(lines: readonly string[], at: number, line: string, depth: number): [Block, number] {
  const fence = FENCE.exec(line);
  if (fence !== null) return fenced(lines, at, fence[1] ?? '', fence[2] ?? '');
  const heading = HEADING.exec(line);
  if (heading !== null) {
    return [{ is: 'heading', level: (heading[1] ?? '').length, inside: inlines(heading[2] ?? '') }, at + 1];
  }
  if (RULE.test(line)) return [{ is: 'rule' }, at + 1];
  if (QUOTE.test(line)) return quote(lines, at, depth);
  if (MARKER.test(line)) return list(lines, at, depth);
  if (INDENTED.test(line)) return indented(lines, at);
  if (line.includes('|') && DASHES.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-')) {
    const found = table(lines, at);
    if (found !== null) return found;
  }
  return text(lines, at);
}

function fenced(lines: readonly string[], at: number, mark: string, language: string): [Block, number] {
  const end = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
  const inside: string[] = [];
  let next = at + 1;
  // A fence that is not closed goes to the end: so it looks while the model still writes.
  while (next < lines.length && !end.test(lines[next] ?? '')) {
    inside.push(lines[next] ?? '');
    next += 1;
  }
  return [{ is: 'code', language: language.trim().split(/\s/)[0] ?? '', text: inside.join('\n') }, next + 1];
}

function indented(lines: readonly string[], at: number): [Block, number] {
  const inside: string[] = [];
  let next = at;
  while (next < lines.length && (INDENTED.test(lines[next] ?? '') || isBlank(lines[next] ?? ''))) {
    inside.push((lines[next] ?? '').replace(INDENTED, ''));
    next += 1;
  }
  return [{ is: 'code', language: '', text: inside.join('\n').trimEnd() }, next];
}

function quote(lines: readonly string[], at: number, depth: number): [Block, number] {
  const inside: string[] = [];
  let next = at;
  while (next < lines.length && !isBlank(lines[next] ?? '')) {
    const line = lines[next] ?? '';
    if (!QUOTE.test(line) && beginsBlock(line)) break;
    inside.push(line.replace(QUOTE, ''));
    next += 1;
  }
  return [{ is: 'quote', inside: blocks(inside, depth + 1) }, next];
}

function list(lines: readonly string[], at: number, depth: number): [Block, number] {
  const kind = (marker: string) => (/\d/.test(marker) ? marker.slice(-1) : marker);
  const first = MARKER.exec(lines[at] ?? '')?.[2] ?? '-';
  const items: ListItem[] = [];
  let next = at;
  for (;;) {
    const marker = MARKER.exec(lines[next] ?? '');
    if (marker === null || kind(marker[2] ?? '') !== kind(first) || (items.length > 0 && RULE.test(lines[next] ?? ''))) break;
    const [inside, after] = itemLines(lines, next, marker);
    const box = BOX.exec(inside[0] ?? '');
    if (box !== null) inside[0] = (inside[0] ?? '').slice(box[0].length);
    items.push({ done: box === null ? null : box[1] !== ' ', inside: blocks(inside, depth + 1) });
    next = after;
    // One empty line between two items is part of the list.
    if (isBlank(lines[next] ?? 'x') && MARKER.test(lines[next + 1] ?? '')) next += 1;
  }
  const ordered = /\d/.test(first);
  return [{ is: 'list', ordered, start: ordered ? parseInt(first, 10) : 1, items }, next];
}

/** The lines of one item without their indent, and the line after it. */
function itemLines(lines: readonly string[], at: number, marker: RegExpExecArray): [string[], number] {
  const space = marker[3] ?? '';
  const before = (marker[1] ?? '').length + (marker[2] ?? '').length;
  const indent = before + (space.length === 0 || space.length > 4 ? 1 : space.length);
  const inside = [(lines[at] ?? '').slice(indent)];
  let next = at + 1;
  while (next < lines.length) {
    const line = lines[next] ?? '';
    const own = line.search(/[^ ]/);
    if (isBlank(line)) {
      const following = lines[next + 1];
      if (following === undefined || isBlank(following) || following.search(/[^ ]/) < indent) break;
      inside.push('');
    } else if (own >= indent) {
      inside.push(line.slice(indent));
    } else if (!beginsBlock(line) && !isBlank(inside.at(-1) ?? '')) {
      inside.push(line.trimStart());
    } else {
      break;
    }
    next += 1;
  }
  return [inside, next];
}

function table(lines: readonly string[], at: number): [Block, number] | null {
  const head = cells(lines[at] ?? '');
  if (head.length !== cells(lines[at + 1] ?? '').length) return null;
  const rows: Inline[][][] = [];
  let next = at + 2;
  while (next < lines.length && !isBlank(lines[next] ?? '') && (lines[next] ?? '').includes('|')) {
    const row = cells(lines[next] ?? '');
    rows.push(head.map((_, column) => inlines(row[column] ?? '')));
    next += 1;
  }
  return [{ is: 'table', head: head.map(inlines), rows }, next];
}

function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function text(lines: readonly string[], at: number): [Block, number] {
  const inside = [lines[at] ?? ''];
  let next = at + 1;
  while (next < lines.length) {
    const line = lines[next] ?? '';
    const under = UNDERLINE.exec(line);
    if (under !== null) {
      const level = (under[1] ?? '').startsWith('=') ? 1 : 2;
      return [{ is: 'heading', level, inside: inlines(inside.join('\n').trim()) }, next + 1];
    }
    if (isBlank(line) || beginsBlock(line)) break;
    inside.push(line);
    next += 1;
  }
  return [paragraph(inside), next];
}

function paragraph(lines: readonly string[]): Block {
  return { is: 'paragraph', inside: inlines(lines.map((line) => line.trimStart()).join('\n').trimEnd()) };
}
