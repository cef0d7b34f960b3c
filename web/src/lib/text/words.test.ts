import { expect, it } from 'vitest';
import type { Failure } from '../api/types';
import { failureWords } from './words';

it('says what a model answered, and not how it was wrapped', () => {
  const words = (message: string) => failureWords({ class: { class: 'bad_request' }, message } as Failure);
  expect(words('{"error":{"code":null,"message":"the image is too large"}}')).toBe('the image is too large');
  expect(['{"error":{}}', '{"error"', 'no model', ''].map(words)).toEqual(['{"error":{}}', '{"error"', 'no model', 'bad request']);
});
