// The steps of a turn.

import type { Id } from './task';
import type { FileDiff } from './ask';

export type Outcome =
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'declined'
  | 'interrupted'
  | 'unknown'
  | { other: string };

export type Attachment =
  | { image: { url: string | null } }
  | { file: { path: string } }
  | { skill: { name: string } }
  | { mention: { name: string } }
  | { other: string };

export interface CommandItem {
  kind: 'command';
  command: string;
  cwd: string | null;
  output: string;
  exit_code: number | null;
  duration_ms: number | null;
  outcome: Outcome;
  by_user: boolean;
}

export interface ToolCallItem {
  kind: 'tool_call';
  place: { mcp: { server: string } } | { client: { namespace: string | null } };
  tool: string;
  arguments: string | null;
  result: string | null;
  error: string | null;
  succeeded: boolean | null;
  duration_ms: number | null;
  outcome: Outcome;
}

export interface SubAgentItem {
  kind: 'sub_agent';
  tool: string;
  prompt: string | null;
  threads: Id[];
  states: [Id, string, string | null][];
  outcome: Outcome;
}

export type MessagePhase = 'unmarked' | 'commentary' | 'partial_answer' | 'final_answer';

export type ItemBody =
  | { kind: 'user_message'; text: string; attachments: Attachment[]; input: Id | null; sender?: 'ostler' | 'elsewhere' }
  | { kind: 'agent_message'; text: string; phase: MessagePhase }
  | { kind: 'reasoning'; summary: string[]; content: string[] }
  | { kind: 'plan'; text: string }
  | CommandItem
  | { kind: 'file_change'; files: FileDiff[]; outcome: Outcome }
  | ToolCallItem
  | SubAgentItem
  | { kind: 'web_search'; query: string; detail: string | null }
  | { kind: 'image_view'; path: string }
  | { kind: 'image_generation'; prompt: string | null; saved_path: string | null; status: string }
  | { kind: 'sleep'; duration_ms: number | null }
  | { kind: 'tool_output'; name: string; output: string }
  | { kind: 'hook_prompt'; text: string }
  | { kind: 'review_began'; review: string }
  | { kind: 'review_ended'; review: string }
  | { kind: 'compaction' }
  | { kind: 'other'; name: string; json: string };

export interface Item {
  id: Id;
  body: ItemBody;
}

export type ItemEnd = 'reported' | 'interrupted' | 'superseded';
