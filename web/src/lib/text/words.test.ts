import { expect, it } from 'vitest';
import type { Failure, Rule } from '../api/types';
import { failureWords, isOfFile } from './words';

it('says what a model answered, and not how it was wrapped', () => {
  const words = (message: string) => failureWords({ class: { class: 'bad_request' }, message } as Failure);
  expect(words('{"error":{"code":null,"message":"the image is too large"}}')).toBe('the image is too large');
  expect(['{"error":{}}', '{"error"', 'no model', ''].map(words)).toEqual(['{"error":{}}', '{"error"', 'no model', 'bad request']);
});

it('tells rules of the config file from those that people made', () => {
  expect(['config-1', '4f1c0a9b'].map((id) => isOfFile({ id } as Rule))).toEqual([true, false]);
});
