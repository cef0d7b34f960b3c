import { expect, it } from 'vitest';
import { offsets, rowAt } from './window';

it('knows where rows are, and the nearest one beyond both ends', () => {
  const places = offsets([10, 20, 30], (height) => height);
  expect([...places]).toEqual([0, 10, 30, 60]);
  expect([-5, 0, 9, 10, 29, 30, 59, 60, 999].map((place) => rowAt(places, place))).toEqual([0, 0, 0, 1, 1, 2, 2, 2, 2]);
});

it('is content with an empty list', () => {
  expect(rowAt(offsets([], () => 1), 5)).toBe(0);
});
