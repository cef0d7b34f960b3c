// What Codex asks, and what is answered.

import type { Agent, Id } from './task';

export interface Permissions {
  network: boolean | null;
  read: string[];
  write: string[];
  rules: string[];
}

export type FileChangeKind = 'Add' | 'Delete' | { Update: { moved_to: string | null } } | { Other: string };

export interface FileDiff {
  path: string;
  change: FileChangeKind;
  diff: string;
}

export interface CommandAsk {
  command: string | null;
  cwd: string | null;
  writes_to_running: boolean;
  network: { host: string; protocol: string | null } | null;
  extra: Permissions | null;
  /** Where it runs if it is allowed; absent in what older daemons wrote down. */
  sandboxing?: Sandboxing;
}

export type Sandboxing = 'inside' | 'inside_first' | 'outside' | 'unknown';

export interface Question {
  id: Id;
  header: string;
  text: string;
  options: { label: string; description: string }[];
  allows_other: boolean;
  is_secret: boolean;
}

export interface FormOption {
  value: string;
  title: string | null;
}

export type FormFieldKind =
  | 'Text'
  | 'Number'
  | 'Integer'
  | 'Boolean'
  | { Choice: FormOption[] }
  | { Choices: FormOption[] }
  | { Other: string };

export interface FormField {
  name: string;
  title: string | null;
  description: string | null;
  kind: FormFieldKind;
  required: boolean;
}

export type FormValue =
  | { Text: string }
  | { Number: number }
  | { Integer: number }
  | { Boolean: boolean }
  | { Choices: string[] };

export type ElicitationWant =
  | { ToolApproval: { tool: string | null; description: string | null; arguments: string | null } }
  | { Form: FormField[] }
  | { Url: string }
  | { Other: string };

export interface ElicitationAsk {
  server: string;
  message: string;
  want: ElicitationWant;
}

export type AskKind =
  | { Command: CommandAsk }
  | { FileChange: { files: FileDiff[]; grant_root: string | null } }
  | { Permissions: { cwd: string | null; wanted: Permissions } }
  | { UserInput: { questions: Question[]; resolves_itself_after_ms: number | null } }
  | { Elicitation: ElicitationAsk }
  | { ToolCall: { call: Id; namespace: string | null; tool: string; arguments: string } }
  | { TokenRefresh: { cause: string | null; account: string | null } }
  | { Continue: { why: string } }
  | { Other: { name: string } };

export type Remember =
  | { CommandPrefix: string[] }
  | { Host: { host: string; allowed: boolean } }
  | 'Tool';

export type GrantHolds = 'Turn' | 'Session';

export type Decision =
  | 'Once'
  | 'Session'
  | 'Deny'
  | 'Cancel'
  | { Always: Remember }
  | { Grant: { permissions: Permissions; holds: GrantHolds } }
  | { Answers: Record<Id, string[]> }
  | { Form: Record<string, FormValue> }
  | { ToolResult: { succeeded: boolean; outputs: unknown[] } };

export interface Ask {
  thread: Id | null;
  turn: Id | null;
  item: Id | null;
  reason: string | null;
  kind: AskKind;
  offers: Decision[];
}

export type DecidedBy =
  | { who: 'person'; name: string; surface: string }
  | { who: 'rule'; rule: Id }
  | { who: 'approver'; program: string }
  | { who: 'nobody' }
  | { who: 'earlier'; ask: Id };

export interface DecisionRecord {
  decision: Decision;
  by: DecidedBy;
  reason: string | null;
  at: number;
}

export type AskClosed =
  | { how: 'answered' }
  | { how: 'withdrawn'; reason: 'elsewhere' | 'turn_ended' | 'disconnected' }
  | { how: 'declined'; reason: string }
  | { how: 'refused' }
  | { how: 'served' }
  | { how: 'overtaken' };

export interface AskRecord {
  id: Id;
  task: Id;
  agent: Agent | null;
  source: { keeper: string; thread: Id; turn: Id | null; item: Id | null; request: string } | null;
  content: Ask;
  digest: string;
  opened_at: number;
  state: 'open' | 'parked' | 'decided' | 'closed';
  decision: DecisionRecord | null;
  closed: AskClosed | null;
}

export interface AskShown {
  ask: AskRecord;
  title: string;
  cwd: string;
  /** A host agent asks; absent where Codex does. */
  host?: boolean;
}

export type Reach = 'task' | 'everywhere' | { directory: string | null };

export interface AnswerRequest {
  decision: Decision;
  reason?: string;
  remember?: { reach: Reach; expires_at: number | null };
  surface?: string;
}
