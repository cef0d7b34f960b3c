// What a person can answer to an ask: only what the ask offers, with what will be remembered in plain words.

import type { AnswerRequest, Ask, AskKind, Decision, GrantHolds, Permissions, Reach, Remember } from '../api/types';

export interface Choice {
  id: string;
  label: string;
  /** What it does and what is remembered. */
  meaning: string;
  tone: 'yes' | 'no' | 'stop';
  decision: Decision;
  takesReason: boolean;
  /** Something is remembered for long: it is shown what, before it is done. */
  lasts: boolean;
}

/** The plain decisions, from the least to the most that is remembered, refusals last. What lasts does so in this folder. */
export function choices(ask: Ask, cwd: string): Choice[] {
  const plain = ask.offers.map((decision) => choice(ask.kind, decision, cwd)).filter((made) => made !== null);
  const granted = 'Permissions' in ask.kind ? grants(ask.kind.Permissions.wanted) : [];
  return [...granted, ...plain].toSorted((one, other) => rank(one.decision) - rank(other.decision));
}

/** Whether a yes can be made a rule of ours. Changes of files and answers with words of their own cannot. */
export function canBeRemembered(ask: Ask): boolean {
  const { kind } = ask;
  if ('Command' in kind) return ask.offers.includes('Once') && !kind.Command.writes_to_running;
  if ('Permissions' in kind) return true;
  if ('Elicitation' in kind) return 'ToolApproval' in kind.Elicitation.want && kind.Elicitation.want.ToolApproval.tool !== null;
  return false;
}

/** What a rule that comes of a yes would decide by itself. */
export function remembered(kind: AskKind): string {
  if ('Command' in kind) {
    const { command, network } = kind.Command;
    if (command !== null) return 'exactly this command, word for word';
    if (network !== null) return `connections to ${network.host}`;
  }
  if ('Permissions' in kind) return 'this widening of the sandbox, or less';
  if ('Elicitation' in kind && 'ToolApproval' in kind.Elicitation.want) {
    const { tool } = kind.Elicitation.want.ToolApproval;
    return `calls of ${tool ?? 'this tool'} of ${kind.Elicitation.server}, with any arguments`;
  }
  return 'this question';
}

export type Lasting = 'hour' | 'day' | 'month' | 'good';

const LASTS_MS: Record<Lasting, number | null> = {
  hour: 3_600_000,
  day: 86_400_000,
  month: 30 * 86_400_000,
  good: null,
};

/** The answer that also makes a rule of ours. */
export function always(ask: Ask, yes: boolean, reach: Reach, lasting: Lasting, now: number): AnswerRequest {
  const ms = LASTS_MS[lasting];
  const allowed: Decision =
    'Permissions' in ask.kind ? grant(ask.kind.Permissions.wanted, 'Turn') : 'Once';
  return {
    decision: yes ? allowed : 'Deny',
    remember: { reach, expires_at: ms === null ? null : now + ms },
  };
}

export function grant(permissions: Permissions, holds: GrantHolds): Decision {
  return { Grant: { permissions, holds } };
}

function grants(wanted: Permissions): Choice[] {
  const made = (id: string, label: string, holds: GrantHolds, meaning: string): Choice => ({
    id,
    label,
    meaning,
    tone: 'yes',
    decision: grant(wanted, holds),
    takesReason: false,
    lasts: false,
  });
  return [
    made('turn', 'Allow for this turn', 'Turn', 'the sandbox is this wide until the turn ends'),
    made('session', 'Allow for the session', 'Session', 'the sandbox stays this wide while the thread is open'),
  ];
}

function choice(kind: AskKind, decision: Decision, cwd: string): Choice | null {
  const isContinue = 'Continue' in kind;
  const opens = 'Elicitation' in kind && 'Url' in kind.Elicitation.want;
  if (decision === 'Once') {
    if (isContinue) return yes('once', 'Go on', 'the task goes on', decision);
    if (opens) return yes('once', 'I have opened it', 'the server is told that you did what it asked', decision);
    return yes('once', 'Allow once', 'only this time; nothing is remembered', decision);
  }
  if (decision === 'Session') {
    return yes('session', 'Allow for the session', 'not asked again while the thread is open', decision);
  }
  if (decision === 'Deny') {
    if (isContinue) return no('deny', 'Stop', 'the task ends here', decision, false);
    return no('deny', 'Deny', 'the turn goes on, and the model is told', decision, true);
  }
  if (decision === 'Cancel') {
    if ('UserInput' in kind) return { ...no('cancel', 'Stop the turn', 'not answered, and the turn ends', decision, false), tone: 'stop' };
    const isQuestion = 'Elicitation' in kind;
    const meaning = isQuestion ? 'the question is dropped and the turn goes on' : 'not allowed, and the turn ends';
    return { ...no('cancel', isQuestion ? 'Dismiss' : 'Deny and stop the turn', meaning, decision, false), tone: 'stop' };
  }
  if ('Always' in decision) return remember(decision.Always, decision, cwd);
  return null;
}

/** The daemon makes a rule of it, which the settings show and remove. */
function remember(what: Remember, decision: Decision, cwd: string): Choice {
  const until = `in ${cwd} and below, by a rule that holds until it is removed in the settings`;
  if (what === 'Tool') {
    return yes('always-tool', 'Always allow this tool', `every call of this tool ${until}`, decision);
  }
  if ('CommandPrefix' in what) {
    const words = what.CommandPrefix.join(' ');
    return yes('always-prefix', `Always allow “${cut(words)} …”`, `every command that begins with “${words}”, ${until}`, decision);
  }
  const { host, allowed } = what.Host;
  return allowed
    ? yes('always-host', `Always allow ${host}`, `every connection to ${host} is allowed ${until}`, decision)
    : no('never-host', `Never allow ${host}`, `every connection to ${host} is refused ${until}`, decision, false);
}

/** A button is one line; the whole of it stands where it is confirmed. */
function cut(words: string): string {
  return words.length > 28 ? words.slice(0, 28) : words;
}

function yes(id: string, label: string, meaning: string, decision: Decision): Choice {
  return { id, label, meaning, tone: 'yes', decision, takesReason: false, lasts: typeof decision === 'object' };
}

function no(id: string, label: string, meaning: string, decision: Decision, takesReason: boolean): Choice {
  return { id, label, meaning, tone: 'no', decision, takesReason, lasts: typeof decision === 'object' };
}

function rank(decision: Decision): number {
  if (decision === 'Once') return 0;
  if (decision === 'Session') return 1;
  if (decision === 'Deny') return 4;
  if (decision === 'Cancel') return 6;
  if ('Always' in decision) {
    const what = decision.Always;
    return typeof what === 'object' && 'Host' in what && !what.Host.allowed ? 5 : 2;
  }
  return 'Grant' in decision && decision.Grant.holds === 'Session' ? 1 : 0;
}
