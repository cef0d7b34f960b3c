// The rows that a conversation is shown as: its entries, with the steps of each sub-agent folded under one row where it
// first appears, and at the end what is still on its way.

import type { Agent, Id, Intent } from '../api/types';
import type { Conversation, Entry, Growing } from './conversation';

export type Row =
  /** `asked`: it waits for an answer to an ask. */
  | { row: 'entry'; key: string; entry: Entry; growing: Growing | null; nested: boolean; asked: boolean }
  | { row: 'agent'; key: string; thread: Id; name: string; steps: number; atWork: boolean; unfolded: boolean }
  | { row: 'growing'; key: string; growing: Growing }
  | { row: 'intent'; key: string; intent: Intent };

type AgentRow = Extract<Row, { row: 'agent' }>;

const NOTHING: Growing = {};

export function rows(state: Conversation, unfolded: ReadonlySet<Id>): Row[] {
  const made: Row[] = [];
  const agents = new Map<Id, { head: AgentRow; below: Row[] }>();
  const shown = new Set<string>();
  const waiting = new Set(state.asks.map((ask) => ask.id));
  const asked = new Set(state.asks.map((ask) => ask.content.item ?? ''));
  for (const entry of state.entries) {
    if (entry.entry === 'item' && entry.ended === null) shown.add(entry.partial);
    // What is open stands as a card beside the conversation.
    if (entry.entry === 'ask' && waiting.has(entry.ask)) continue;
    if (entry.agent === null) {
      made.push(entryRow(state, entry, false, asked));
      continue;
    }
    let agent = agents.get(entry.agent.thread);
    if (agent === undefined) {
      agent = { head: headOf(entry.agent, unfolded), below: [] };
      agents.set(entry.agent.thread, agent);
      made.push(agent.head);
    }
    agent.below.push(entryRow(state, entry, true, asked));
    if (entry.entry === 'item') agent.head.steps += 1;
    agent.head.atWork ||= entry.entry === 'item' && entry.ended === null;
  }
  for (const [key, growing] of state.growing) {
    if (!shown.has(key) && key.startsWith('/')) made.push({ row: 'growing', key: `growing${key}`, growing });
  }
  for (const intent of state.intents) {
    if (intent.wish.wish === 'send') made.push({ row: 'intent', key: `intent/${intent.id}`, intent });
  }
  if (agents.size === 0) return made;
  return made.flatMap((row) =>
    row.row === 'agent' && row.unfolded ? [row, ...(agents.get(row.thread)?.below ?? [])] : [row],
  );
}

function headOf(agent: Agent, unfolded: ReadonlySet<Id>): AgentRow {
  const { thread } = agent;
  const name = agent.name ?? `agent ${thread.slice(-6)}`;
  return { row: 'agent', key: `agent/${thread}`, thread, name, steps: 0, atWork: false, unfolded: unfolded.has(thread) };
}

function entryRow(state: Conversation, entry: Entry, nested: boolean, asked: ReadonlySet<string>): Row {
  const grows = entry.entry === 'item' && entry.ended === null;
  const growing = grows ? (state.growing.get(entry.partial) ?? NOTHING) : null;
  return { row: 'entry', key: entry.key, entry, growing, nested, asked: grows && asked.has(entry.item.id) };
}
