// Unified diffs, for the eye: files, hunks, lines with their numbers, and pairs for two columns.

import type { FileDiff } from '../api/types';

export type LineKind = 'context' | 'added' | 'removed';

export interface DiffLine {
  kind: LineKind;
  text: string;
  before: number | null;
  after: number | null;
}

export interface Hunk {
  head: string;
  lines: DiffLine[];
}

export interface ShownFile {
  path: string;
  /** What happened to the file in a word, such as "added". */
  change: string;
  hunks: Hunk[];
  added: number;
  removed: number;
  isBinary: boolean;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

/** A diff of many files, as git or Codex writes it. */
export function parseDiff(text: string): ShownFile[] {
  const files: ShownFile[] = [];
  let file: ShownFile | null = null;
  let hunk: Hunk | null = null;
  let [before, after, leftBefore, leftAfter] = [0, 0, 0, 0];
  const begin = (path: string): ShownFile => {
    const begun = { path, change: 'changed', hunks: [], added: 0, removed: 0, isBinary: false };
    files.push(begun);
    return begun;
  };
  for (const line of linesOf(text)) {
    // Inside a hunk its counts say what belongs to it: a removed line may well begin with "-- ".
    if (hunk !== null && file !== null && (leftBefore > 0 || leftAfter > 0)) {
      const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'context';
      if (line.startsWith('\\')) continue;
      hunk.lines.push({
        kind,
        text: line.slice(1),
        before: kind === 'added' ? null : before,
        after: kind === 'removed' ? null : after,
      });
      if (kind !== 'added') [before, leftBefore] = [before + 1, leftBefore - 1];
      if (kind !== 'removed') [after, leftAfter] = [after + 1, leftAfter - 1];
      if (kind === 'added') file.added += 1;
      if (kind === 'removed') file.removed += 1;
      continue;
    }
    const found = HUNK.exec(line);
    if (found !== null) {
      file ??= begin('');
      [before, after] = [Number(found[1]), Number(found[3])];
      [leftBefore, leftAfter] = [Number(found[2] ?? 1), Number(found[4] ?? 1)];
      hunk = { head: (found[5] ?? '').trim(), lines: [] };
      file.hunks.push(hunk);
    } else if (line.startsWith('diff --git ')) {
      file = begin(line.slice(11).split(' b/').at(-1) ?? line);
      hunk = null;
    } else if (line.startsWith('--- ')) {
      if (file === null || file.hunks.length > 0) file = begin(pathOf(line));
      if (line.endsWith('/dev/null')) file.change = 'added';
      hunk = null;
    } else if (line.startsWith('+++ ') && file !== null) {
      if (line.endsWith('/dev/null')) file.change = 'removed';
      else file.path = pathOf(line);
    } else if (file !== null) {
      if (line.startsWith('new file')) file.change = 'added';
      else if (line.startsWith('deleted file')) file.change = 'removed';
      else if (line.startsWith('rename from ')) file.change = `moved from ${line.slice(12)}`;
      else if (line.startsWith('Binary files')) file.isBinary = true;
    }
  }
  return files;
}

/** One file of a change as Codex tells it: a diff, or the whole text of a new or removed file. */
export function fileOf(given: FileDiff): ShownFile {
  const { path, change, diff } = given;
  if (change === 'Add') return whole(path, 'added', 'added', diff);
  if (change === 'Delete') return whole(path, 'removed', 'removed', diff);
  const parsed = parseDiff(diff);
  const moved = typeof change === 'object' && 'Update' in change ? change.Update.moved_to : null;
  return {
    path,
    change: moved === null ? 'changed' : `moved to ${moved}`,
    hunks: parsed.flatMap((file) => file.hunks),
    added: sum(parsed.map((file) => file.added)),
    removed: sum(parsed.map((file) => file.removed)),
    isBinary: parsed.some((file) => file.isBinary),
  };
}

function whole(path: string, change: string, kind: 'added' | 'removed', text: string): ShownFile {
  // Some versions of Codex give a diff here too.
  const parsed = parseDiff(text);
  if (parsed.some((file) => file.hunks.length > 0)) {
    const counts = { added: sum(parsed.map((file) => file.added)), removed: sum(parsed.map((file) => file.removed)) };
    return { path, change, hunks: parsed.flatMap((file) => file.hunks), ...counts, isBinary: false };
  }
  const lines = linesOf(text).map((line, index): DiffLine => {
    const number = index + 1;
    return { kind, text: line, before: kind === 'removed' ? number : null, after: kind === 'added' ? number : null };
  });
  const counts = kind === 'added' ? { added: lines.length, removed: 0 } : { added: 0, removed: lines.length };
  return { path, change, hunks: lines.length > 0 ? [{ head: '', lines }] : [], ...counts, isBinary: false };
}

export interface Pair {
  left: DiffLine | null;
  right: DiffLine | null;
}

/** The lines of a hunk side by side: what was removed stands beside what was added in its place. */
export function pairs(hunk: Hunk): Pair[] {
  const made: Pair[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      made.push({ left: removed[at] ?? null, right: added[at] ?? null });
    }
    [removed, added] = [[], []];
  };
  for (const line of hunk.lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === 'added') {
      added.push(line);
    } else {
      flush();
      made.push({ left: line, right: line });
    }
  }
  flush();
  return made;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function pathOf(line: string): string {
  const path = line.slice(4).split('\t')[0] ?? '';
  return path.replace(/^[ab]\//, '');
}

function sum(numbers: number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
