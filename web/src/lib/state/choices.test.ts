import { describe, expect, it } from 'vitest';
import type { Ask, AskKind, Decision } from '../api/types';
import { always, canBeRemembered, choices } from './choices';

const command: AskKind = { Command: { command: 'rm x', cwd: '/a', writes_to_running: false, network: null, extra: null } };
const ask = (kind: AskKind, offers: Decision[]): Ask => ({ thread: null, turn: null, item: null, reason: null, kind, offers });
const wanted = { network: true, read: [], write: ['/a'], rules: [] };

describe('choices', () => {
  it('are those that the ask offers, refusals last', () => {
    const offers: Decision[] = ['Cancel', 'Deny', { Always: { CommandPrefix: ['git', 'push'] } }, 'Session', 'Once'];
    expect(choices(ask(command, offers), '/a').map((choice) => choice.id)).toEqual(['once', 'session', 'always-prefix', 'deny', 'cancel']);
    expect(choices(ask(command, ['Deny']), '/a').map((choice) => choice.decision)).toEqual(['Deny']);
  });

  it('say what is remembered before it is', () => {
    const host = (allowed: boolean): Decision => ({ Always: { Host: { host: 'h.test', allowed } } });
    const made = choices(ask(command, [{ Always: { CommandPrefix: ['git', 'push'] } }, host(true), host(false)]), '/a');
    const until = 'in /a and below, by a rule that holds until it is removed in the settings';
    expect(made.map(({ lasts, tone, meaning }) => [lasts, tone, meaning])).toEqual([
      [true, 'yes', `every command that begins with “git push”, ${until}`],
      [true, 'yes', `every connection to h.test is allowed ${until}`],
      [true, 'no', `every connection to h.test is refused ${until}`],
    ]);
  });

  it('of a wider sandbox grant what was asked, for the turn or the session', () => {
    const made = choices(ask({ Permissions: { cwd: null, wanted } }, ['Deny']), '/a').map((choice) => choice.decision);
    expect(made).toEqual([{ Grant: { permissions: wanted, holds: 'Turn' } }, { Grant: { permissions: wanted, holds: 'Session' } }, 'Deny']);
  });

  it('leave out what this page does not know', () => {
    expect(choices(ask(command, ['Once', { ToolResult: { succeeded: true, outputs: [] } }]), '/a').map((choice) => choice.id)).toEqual(['once']);
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
