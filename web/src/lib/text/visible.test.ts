import { expect, it } from 'vitest';
import { visible } from './visible';

it('shows what cannot be seen, and what turns the rest around', () => {
  const cases: [string, string][] = [
    ['rm -rf \u202e/emoh', 'rm -rf \\u{202e}/emoh'],
    ['a\u200bb\u2066c\u2069', 'a\\u{200b}b\\u{2066}c\\u{2069}'],
    ['a\u061cb', 'a\\u{61c}b'],
    ['if (x)\u{e0069}\u{e0066}', 'if (x)\\u{e0069}\\u{e0066}'],
    ['a\u{e0100}\ufe01\u3164', 'a\\u{e0100}\\u{fe01}\\u{3164}'],
    ['\u001b[31mred\r', '\\u{1b}[31mred\\u{d}'],
    ['a\u200d&&\ufe0f', 'a\\u{200d}&&\\u{fe0f}'],
  ];
  for (const [hidden, shown] of cases) expect(visible(hidden)).toBe(shown);
});

it('leaves alone what people write', () => {
  for (const text of ['tab\tand\nline', 'Straße, 日本語, שלום, مرحبا', '👩‍🚀 ❤️ 👍🏽', '']) expect(visible(text)).toBe(text);
});
