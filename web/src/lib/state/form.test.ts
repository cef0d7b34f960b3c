import { expect, it } from 'vitest';
import type { FormField, Question } from '../api/types';
import { answerQuestions, emptyForm, fillForm } from './form';

const field = (name: string, kind: FormField['kind'], required = true): FormField => ({ name, title: null, description: null, kind, required });
const fields = [
  field('name', 'Text'),
  field('age', 'Integer'),
  field('weight', 'Number', false),
  field('kind', { Choice: [{ value: 'mare', title: null }] }),
  field('colours', { Choices: [{ value: 'bay', title: null }] }, false),
  field('shod', 'Boolean', false),
];

it('makes values of the kinds that the fields have', () => {
  const typed = { ...emptyForm(fields), name: 'Ada', age: '7', kind: 'mare', colours: ['bay'], shod: true };
  expect(fillForm(fields, typed)).toEqual({
    decision: { Form: { name: { Text: 'Ada' }, age: { Integer: 7 }, kind: { Text: 'mare' }, colours: { Choices: ['bay'] }, shod: { Boolean: true } } },
    errors: {},
  });
});

it('says what is missing or wrong, field by field', () => {
  const typed = { ...emptyForm(fields), age: '7.5', weight: 'much', kind: 'mare' };
  expect(fillForm(fields, typed).errors).toEqual({ name: 'this is needed', age: 'a whole number, please', weight: 'a number, please' });
});

it('takes words of one’s own before a choice, and wants every question answered', () => {
  const question = (id: string): Question => ({ id, header: '', text: '', options: [], allows_other: true, is_secret: false });
  const filled = answerQuestions([question('a'), question('b'), question('c')], {
    a: { chosen: 'red', other: '' },
    b: { chosen: 'red', other: ' blue ' },
  });
  expect(filled).toEqual({ decision: { Answers: { a: ['red'], b: ['blue'] } }, errors: { c: 'choose or write an answer' } });
});
