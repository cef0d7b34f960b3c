// What Codex, a model, a command or another program wrote is never put into a template as it is: it could hide a part of itself, or turn
// the rest of the line around. This reads the templates themselves, so that a place that is added is held to it as well.

/// <reference types="vite/client" />
import { expect, it } from 'vitest';

/** Fields that hold what others wrote. */
const FOREIGN = /\b(?:task|body|part|step|toast|problem|entry|intent|row|rule|worktree|file|content|asked|attachment|viewer)\.(?:\w+\.)*(?:title|command|cwd|text|tool|error|result|output|arguments|path|message|query|detail|prompt|json|review|name|hint|by|made_by|branch|into|evidence|reason|address|started_by|who|place|what|why)\b/;

/** Expressions that become text or an attribute that is shown. A property of one of our own components is not: the component shows it. */
function shown(template: string): string[] {
  const markup = template.replace(/<script[\s\S]*?<\/script>/g, '').replace(/<style[\s\S]*?<\/style>/g, '');
  const found: string[] = [];
  for (let at = 0; at < markup.length; at += 1) {
    if (markup[at] !== '{') continue;
    let depth = 0;
    let end = at;
    for (; end < markup.length; end += 1) {
      if (markup[end] === '{') depth += 1;
      else if (markup[end] === '}' && (depth -= 1) === 0) break;
    }
    const before = markup.slice(0, at);
    const tag = before.slice(before.lastIndexOf('<'));
    const isInTag = !tag.includes('>') || /=["']?[^"'>]*$/.test(tag);
    const attribute = /([\w:-]+)=["']?[^"']*$/.exec(tag)?.[1] ?? '';
    const isShown = !isInTag || ['title', 'alt', 'aria-label', 'placeholder'].includes(attribute);
    const expression = markup.slice(at + 1, end);
    if (isShown && !/^[#:/@]/.test(expression)) found.push(expression);
    if (!/^#/.test(expression)) at = end;
  }
  return found;
}

/** The expression without what is made visible, conditions and comparisons. */
function bare(expression: string): string {
  let text = expression;
  for (let start = text.search(/\b(?:visible|outcomeWord)\(/); start >= 0; start = text.search(/\b(?:visible|outcomeWord)\(/)) {
    let depth = 0;
    let end = text.indexOf('(', start);
    for (; end < text.length; end += 1) {
      if (text[end] === '(') depth += 1;
      else if (text[end] === ')' && (depth -= 1) === 0) break;
    }
    text = text.slice(0, start) + text.slice(end + 1);
  }
  return text.replace(/[\w.?]+ (?:===|!==) (?:''|null|undefined|'[^']*'|\d+)/g, '');
}

/** Its text is made visible where it is taken apart, see `ansi.ts`. */
const CLEAN = ['./Ansi.svelte'];

const sources = import.meta.glob<string>(['./*.svelte', '../../screens/*.svelte'], { query: '?raw', import: 'default', eager: true });
const files = Object.entries(sources).filter(([file]) => !CLEAN.includes(file));

it('there are templates to look at', () => {
  expect(files.length).toBeGreaterThan(40);
});

it.each(files)('%s shows what others wrote as it is', (_, source) => {
  expect(shown(source).filter((expression) => FOREIGN.test(bare(expression)))).toEqual([]);
});
