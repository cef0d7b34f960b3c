import { expect, it } from 'vitest';
import { Repeatable } from './repeat';

it('keeps its key for the same content until it is settled', () => {
  const request = new Repeatable();
  const first = request.keyFor({ text: 'go on', files: [] });
  expect(request.keyFor({ text: 'go on', files: [] })).toBe(first);
  request.settled();
  const second = request.keyFor({ text: 'go on', files: [] });
  expect(second).not.toBe(first);
  expect(request.keyFor({ text: 'go back', files: [] })).not.toBe(second);
});
