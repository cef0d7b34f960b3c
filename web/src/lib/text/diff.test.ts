import { describe, expect, it } from 'vitest';
import { fileOf, pairs, parseDiff } from './diff';

const GIT = `diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@ fn main
 one
--- two
+++ zwei
 three
\\ No newline at end of file
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/p.png b/p.png
Binary files a/p.png and b/p.png differ
`;

describe('a diff', () => {
  it('is read file by file, and lines that look like heads stay lines', () => {
    const files = parseDiff(GIT).map(({ path, change, added, removed, isBinary }) => [path, change, added, removed, isBinary]);
    expect(files).toEqual([
      ['a.txt', 'changed', 1, 1, false],
      ['new.txt', 'added', 1, 0, false],
      ['old.txt', 'removed', 0, 1, false],
      ['p.png', 'changed', 0, 0, true],
    ]);
    expect(parseDiff(GIT)[0]?.hunks).toEqual([
      {
        head: 'fn main',
        lines: [
          { kind: 'context', text: 'one', before: 1, after: 1 },
          { kind: 'removed', text: '-- two', before: 2, after: null },
          { kind: 'added', text: '++ zwei', before: null, after: 2 },
          { kind: 'context', text: 'three', before: 3, after: 3 },
        ],
      },
    ]);
  });

  it('of Codex may be the whole text of a new file, or hunks alone', () => {
    expect(fileOf({ path: 'n', change: 'Add', diff: 'a\nb\n' })).toMatchObject({ change: 'added', added: 2, removed: 0 });
    expect(fileOf({ path: 'g', change: 'Delete', diff: 'a\n' })).toMatchObject({ change: 'removed', added: 0, removed: 1 });
    const moved = fileOf({ path: 'o', change: { Update: { moved_to: 'p' } }, diff: '@@ -1 +1 @@\n-untidy\n+tidy\n' });
    expect(moved).toMatchObject({ path: 'o', change: 'moved to p', added: 1, removed: 1 });
  });

  it('has what was removed beside what was added', () => {
    const [file] = parseDiff('@@ -1,4 +1,3 @@\n a\n-b\n-c\n+B\n d\n');
    const shown = pairs(file!.hunks[0]!).map(({ left, right }) => [left?.text ?? null, right?.text ?? null]);
    expect(shown).toEqual([['a', 'a'], ['b', 'B'], ['c', null], ['d', 'd']]);
  });

  it('that is none is no file', () => {
    expect([parseDiff(''), parseDiff('just words\nand more')]).toEqual([[], []]);
  });
});
