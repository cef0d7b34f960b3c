import { describe, expect, it } from 'vitest';
import { markdown, safeAddress, type Block, type Inline } from './markdown';

/** The tree as short text, so that a test reads like what it tests. */
function inline(parts: Inline[]): string {
  return parts.map((part) => {
    if (part.is === 'text') return part.text;
    if (part.is === 'code') return `{${part.text}}`;
    if (part.is === 'break') return '|';
    if (part.is === 'link') return `<${part.address}: ${inline(part.inside)}>`;
    return `${part.is}(${inline(part.inside)})`;
  }).join('');
}
function shown(blocks: Block[]): unknown[] {
  return blocks.map((block) => {
    switch (block.is) {
      case 'paragraph':
        return inline(block.inside);
      case 'heading':
        return `h${block.level} ${inline(block.inside)}`;
      case 'code':
        return { code: block.text, language: block.language };
      case 'quote':
        return { quote: shown(block.inside) };
      case 'list':
        return { [block.ordered ? `from ${block.start}` : 'list']: block.items.map((item) => (item.done === null ? shown(item.inside) : [item.done, ...shown(item.inside)])) };
      case 'table':
        return { head: block.head.map(inline), rows: block.rows.map((row) => row.map(inline)) };
      case 'rule':
        return '---';
    }
  });
}
const read = (text: string) => shown(markdown(text));

describe('blocks', () => {
  it('are paragraphs, headings, rules and quotes', () => {
    expect(read('# One #\ntext\nmore\n\nTwo\n---\n\n***\n> a\n> > b\nlazy')).toEqual(['h1 One', 'text\nmore', 'h2 Two', '---', { quote: ['a', { quote: ['b\nlazy'] }] }]);
  });

  it('are code, also while the fence is not closed', () => {
    expect(read('```rust x\nlet a = "```";\n  b\n```\nafter')).toEqual([{ code: 'let a = "```";\n  b', language: 'rust' }, 'after']);
    expect(read('~~~\n# no heading')).toEqual([{ code: '# no heading', language: '' }]);
    expect(read('    four\n\n    more\ntext')).toEqual([{ code: 'four\n\nmore', language: '' }, 'text']);
  });

  it('are lists, in one another, loose or tight, numbered or with boxes', () => {
    expect(read('- a\n- b\n  - c\n  - d\n\n    under d\n- e')).toEqual([{ list: [['a'], ['b', { list: [['c'], ['d', 'under d']] }], ['e']] }]);
    expect(read('3. x\n4. y\n\n5. z\n\nafter')).toEqual([{ 'from 3': [['x'], ['y'], ['z']] }, 'after']);
    expect(read('- [x] done\n- [ ] not')).toEqual([{ list: [[true, 'done'], [false, 'not']] }]);
    expect(read('1. run\n   ```sh\n   ls\n   ```\n2. look')).toEqual([{ 'from 1': [['run', { code: 'ls', language: 'sh' }], ['look']] }]);
    expect(read('* a\n- b')).toEqual([{ list: [['a']] }, { list: [['b']] }]);
  });

  it('are tables', () => {
    expect(read('| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\n| 2 |\nafter')).toEqual([{ head: ['a', 'b'], rows: [['1', '{x|y}'], ['2', '']] }, 'after']);
    expect(read('a | b\nc | d')).toEqual(['a | b\nc | d']);
  });
});

describe('inside a line', () => {
  it('there is emphasis, and what only looks like it', () => {
    expect(read('**a** *b* ***c*** ~~d~~ __e__ _f_')).toEqual(['strong(a) em(b) strong(em(c)) del(d) strong(e) em(f)']);
    expect(read('a * b * c, snake_case_name, 2**3, **open')).toEqual(['a * b * c, snake_case_name, 2**3, **open']);
    expect(read('**a `**` b**')).toEqual(['strong(a {**} b)']);
  });

  it('there is code', () => {
    expect(read('`a` ``b ` c`` `` ` `` `open')).toEqual(['{a} {b ` c} {`} `open']);
  });

  it('there are links to places that can be opened, and no others', () => {
    expect(read('[a **b**](https://x.y/z_(1) "t") <https://a.b> see https://c.d/e_f.')).toEqual(['<https://x.y/z_(1): a strong(b)> <https://a.b: https://a.b> see <https://c.d/e_f: https://c.d/e_f>.']);
    expect(read('[x](javascript:alert(1)) [y](data:text/html,1) ![pic](https://x/p.png) ![q](file:///etc/passwd)')).toEqual([
      'x (javascript:alert(1)) y (data:text/html,1) <https://x/p.png: pic> q',
    ]);
  });

  it('a link that hides where it leads is text', () => {
    expect(read('[x](https://good.example@evil.example/a) <https://u:p@h> https://u:p@h.i')).toEqual([
      'x (https://good.example@evil.example/a) <https://u:p@h> https://u:p@h.i',
    ]);
  });

  it('HTML, entities and escapes are text', () => {
    expect(read('<img src=x onerror=alert(1)> &lt;b&gt; &amp;amp; &#x41; \\*no\\*')).toEqual(['<img src=x onerror=alert(1)> <b> &amp; A *no*']);
    expect(read('<script>alert(1)</script>')).toEqual(['<script>alert(1)</script>']);
  });

  it('lines break where it is said', () => {
    expect(read('a  \nb\\\nc\nd')).toEqual(['a|b|c\nd']);
  });
});

describe('addresses', () => {
  it.each(['javascript:alert(1)', ' JavaScript:x', 'java\nscript:x', 'data:text/html,x', 'vbscript:x', 'file:///x', '//x.y', '/v1/logout', 'https://x y', 'blob:https://x', 'https://user:pass@host', 'https://good.example@evil.example', 'https:\\\\good@evil.example', 'https://a\\@b', 'https://@b', 'https://x.y/\u202egpj.exe', 'https://'])('%j is not opened', (address) => {
    expect(safeAddress(address)).toBeNull();
  });
  it.each(['https://x.y', 'HTTP://x.y/z?a=b#c', 'mailto:a@b.c', 'https://x.y/@ada?to=a@b#@'])('%j is', (address) => {
    expect(safeAddress(address)).toBe(address);
  });
});

it('takes odd text without taking long', () => {
  const odd = ['*a **b _c __d ~~e `f [g](h ', '[', '![', '](', '**', '`'.repeat(3) + ' ', '> ', '- ', '1. ', '|a', '<http://', '&#', '\\', 'h'];
  for (const piece of odd) {
    const text = piece.repeat(Math.floor(60_000 / piece.length));
    const start = performance.now();
    markdown(text);
    expect(performance.now() - start, piece).toBeLessThan(1_500);
  }
});
