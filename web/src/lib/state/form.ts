// Forms of MCP servers and questions of the model, from what was typed to what the daemon takes.

import type { Decision, FormField, FormOption, FormValue, Question } from '../api/types';

export type Typed = Record<string, string | boolean | string[]>;

export interface Filled {
  decision: Decision;
  /** What is wrong, by the name of the field. */
  errors: Record<string, string>;
}

export function emptyForm(fields: readonly FormField[]): Typed {
  const typed: Typed = {};
  for (const field of fields) {
    if (field.kind === 'Boolean') typed[field.name] = false;
    else if (typeof field.kind === 'object' && 'Choices' in field.kind) typed[field.name] = [];
    else typed[field.name] = '';
  }
  return typed;
}

export function options(field: FormField): FormOption[] {
  if (typeof field.kind !== 'object') return [];
  if ('Choice' in field.kind) return field.kind.Choice;
  return 'Choices' in field.kind ? field.kind.Choices : [];
}

export function fillForm(fields: readonly FormField[], typed: Typed): Filled {
  const values: Record<string, FormValue> = {};
  const errors: Record<string, string> = {};
  for (const field of fields) {
    const given = typed[field.name];
    const value = valueOf(field, given);
    if (typeof value === 'string') errors[field.name] = value;
    else if (value !== null) values[field.name] = value;
    else if (field.required) errors[field.name] = 'this is needed';
  }
  return { decision: { Form: values }, errors };
}

/** The value, null for an empty field, or what is wrong with it. */
function valueOf(field: FormField, given: Typed[string] | undefined): FormValue | string | null {
  if (typeof given === 'boolean') return { Boolean: given };
  if (Array.isArray(given)) return given.length === 0 && !field.required ? null : { Choices: given };
  const text = given ?? '';
  if (text === '') return null;
  if (field.kind === 'Integer') {
    const number = Number(text);
    return Number.isSafeInteger(number) ? { Integer: number } : 'a whole number, please';
  }
  if (field.kind === 'Number') {
    const number = Number(text);
    return Number.isFinite(number) ? { Number: number } : 'a number, please';
  }
  return { Text: text };
}

export interface Reply {
  /** The label that was chosen, or null. */
  chosen: string | null;
  other: string;
}

export function answerQuestions(questions: readonly Question[], replies: Record<string, Reply>): Filled {
  const answers: Record<string, string[]> = {};
  const errors: Record<string, string> = {};
  for (const question of questions) {
    const reply = replies[question.id];
    const text = reply?.other.trim() ?? '';
    const given = text !== '' ? text : (reply?.chosen ?? null);
    if (given === null) errors[question.id] = 'choose or write an answer';
    else answers[question.id] = [given];
  }
  return { decision: { Answers: answers }, errors };
}
