import { expect, it } from 'vitest';
import { ansiParts } from './ansi';

it('keeps few colours and no control characters', () => {
  expect(ansiParts('a\u001b[1;31mb\u001b[0mc\u001b[2K\u001b]0;title\u0007d\u0007')).toEqual([
    { text: 'a', classes: '' },
    { text: 'b', classes: 'bold red' },
    { text: 'c', classes: '' },
    { text: 'd', classes: '' },
  ]);
});

it('shows of a progress bar what was written last', () => {
  expect(ansiParts('10 %\r50 %\r100 %\ndone\r\n')).toEqual([{ text: '100 %\ndone\n', classes: '' }]);
});

it('shows what turns the line around or is not seen', () => {
  expect(ansiParts('\u001b[32mok\u001b[0m \u202egpj.exe\u200b')).toEqual([
    { text: 'ok', classes: 'green' },
    { text: ' \\u{202e}gpj.exe\\u{200b}', classes: '' },
  ]);
});
