// Output of commands with the colours that terminals understand. Few are kept; all other control characters are taken out, and marks that
// turn the direction or hide are shown.

import { visible } from './visible';

export interface AnsiPart {
  text: string;
  classes: string;
}

const COLOURS: Record<number, string> = { 31: 'red', 32: 'green', 33: 'yellow', 34: 'other', 35: 'other', 36: 'other' };

// Colours, other sequences of terminals, and titles of windows.
const SEQUENCE = /\u001b\[([\d;]*)m|\u001b\[[\d;?]*[A-Za-z]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b./g;

export function ansiParts(text: string): AnsiPart[] {
  const parts: AnsiPart[] = [];
  let [bold, dim, colour] = [false, false, ''];
  let from = 0;
  const add = (piece: string) => {
    const clean = visible(overwritten(piece).replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ''));
    if (clean === '') return;
    const classes = [bold ? 'bold' : '', dim ? 'dim' : '', colour].filter(Boolean).join(' ');
    parts.push({ text: clean, classes });
  };
  for (const found of text.matchAll(SEQUENCE)) {
    add(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (!found[0].endsWith('m')) continue;
    for (const code of (found[1] ?? '').split(';').map(Number)) {
      if (code === 0) [bold, dim, colour] = [false, false, ''];
      else if (code === 1) bold = true;
      else if (code === 2 || code === 90) dim = true;
      else if (code === 22) [bold, dim] = [false, false];
      else if (code === 39) colour = '';
      else colour = COLOURS[code >= 90 ? code - 60 : code] ?? colour;
    }
  }
  add(text.slice(from));
  return parts;
}

/** A line that returned to its start shows what was written last, as progress bars mean it. */
function overwritten(text: string): string {
  if (!text.includes('\r')) return text;
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.replace(/\r+$/, '').split('\r').at(-1) ?? '')
    .join('\n');
}
