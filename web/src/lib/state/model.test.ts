import { expect, test } from 'vitest';
import { EMPTY_CHOICE, withChoice } from './model';

const content = { message: [{ text: 'brush the mare' }] };

test('what was not chosen is left out', () => {
  expect(withChoice({ content }, EMPTY_CHOICE)).toEqual({ content });
  // Nothing stays where nothing was chosen.
  expect(withChoice({ content }, { ...EMPTY_CHOICE, stays: true })).toEqual({ content });
});

test('a choice goes with the input', () => {
  const choice = { model: 'gpt-5.4', effort: 'high', stays: true, plan: true };
  expect(withChoice({ content }, choice)).toEqual({ content, model: 'gpt-5.4', effort: 'high', stays: true, plan: true });
});
