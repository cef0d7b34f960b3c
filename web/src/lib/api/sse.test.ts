import { expect, it } from 'vitest';
import { FrameReader } from './sse';

const TEXT = 'retry: 1000\n\n: ping\n\nid: 7\nevent: event\ndata: {"a":1}\n\nevent:now\r\ndata:one\r\ndata: two\r\n\r\ndata: ü\n\n';
const FRAMES = [
  { event: 'event', data: '{"a":1}', id: '7' },
  { event: 'now', data: 'one\ntwo', id: null },
  { event: 'message', data: 'ü', id: null },
];

it('reads frames whole', () => {
  expect(new FrameReader().push(TEXT)).toEqual(FRAMES);
});

it('reads the same frames cut at every place', () => {
  for (let at = 0; at <= TEXT.length; at += 1) {
    const reader = new FrameReader();
    expect([...reader.push(TEXT.slice(0, at)), ...reader.push(TEXT.slice(at))], `cut at ${at}`).toEqual(FRAMES);
  }
  const reader = new FrameReader();
  expect([...TEXT].flatMap((letter) => reader.push(letter))).toEqual(FRAMES);
});

it('keeps back what is not complete', () => {
  expect(new FrameReader().push('data: half\n')).toEqual([]);
});
