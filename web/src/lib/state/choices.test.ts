import { describe, expect, it } from 'vitest';
import type { Ask, AskKind, Decision } from '../api/types';
import { always, canBeRemembered, choices } from './choices';

const command: AskKind = { Command: { command: 'rm x', cwd: '/a', writes_to_running: false, network: null, extra: null } };
const ask = (kind: AskKind, offers: Decision[]): Ask => ({ thread: null, turn: null, item: null, reason: null, kind, offers });
const wanted = { network: true, read: [], write: ['/a'], rules: [] };

describe('choices', () => {
  it('are those that the ask offers, refusals last', () => {
    const offers: Decision[] = ['Cancel', 'Deny', { Always: { CommandPrefix: ['git', 'push'] } }, 'Session', 'Once'];
    expect(choices(ask(command, offers)).map((choice) => choice.id)).toEqual(['once', 'session', 'always-prefix', 'deny', 'cancel']);
    expect(choices(ask(command, ['Deny'])).map((choice) => choice.decision)).toEqual(['Deny']);
  });

  it('say what is remembered before it is', () => {
    const [choice] = choices(ask(command, [{ Always: { CommandPrefix: ['git', 'push'] } }]));
    expect([choice?.lasts, choice?.meaning.includes('“git push”')]).toEqual([true, true]);
  });

  it('of a wider sandbox grant what was asked, for the turn or the session', () => {
    const made = choices(ask({ Permissions: { cwd: null, wanted } }, ['Deny'])).map((choice) => choice.decision);
    expect(made).toEqual([{ Grant: { permissions: wanted, holds: 'Turn' } }, { Grant: { permissions: wanted, holds: 'Session' } }, 'Deny']);
  });

  it('leave out what this page does not know', () => {
    expect(choices(ask(command, ['Once', { ToolResult: { succeeded: true, outputs: [] } }])).map((choice) => choice.id)).toEqual(['once']);
  });
});

describe('a rule', () => {
  it('comes of commands, sandboxes and tools, never of files or questions', () => {
    const kinds: AskKind[] = [
      command,
      { Permissions: { cwd: null, wanted } },
      { FileChange: { files: [], grant_root: null } },
      { UserInput: { questions: [], resolves_itself_after_ms: null } },
    ];
    expect(kinds.map((kind) => canBeRemembered(ask(kind, ['Once'])))).toEqual([true, true, false, false]);
  });

  it('is made of a yes for this once, as the command line does', () => {
    expect(always(ask(command, ['Once']), true, { directory: null }, 'hour', 1000)).toEqual({
      decision: 'Once',
      remember: { reach: { directory: null }, expires_at: 3_601_000 },
    });
    expect(always(ask(command, ['Once', 'Deny']), false, 'everywhere', 'good', 0)).toEqual({
      decision: 'Deny',
      remember: { reach: 'everywhere', expires_at: null },
    });
  });
});
