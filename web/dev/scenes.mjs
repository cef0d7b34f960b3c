// Canned tasks for looking at the page without a daemon: one of each state, every kind of ask and of item, and one with
// ten thousand items.

const NOW = Date.now();
const MINUTE = 60_000;
let seqs = 0;

const settings = (cwd, over = {}) => ({
  cwd,
  sandbox: { mode: 'workspace-write', writable_roots: [], network: false },
  approval: 'on-request',
  model: null,
  model_provider: null,
  effort: null,
  service_tier: null,
  developer_instructions: null,
  config: {},
  codex: { version: null, home: null },
  isolate: false,
  on_crash: 'continue',
  crash_limit: 3,
  unattended: 'wait',
  escalate_after_ms: null,
  turn_timeout_ms: null,
  on_stall: 'warn',
  budget: { tokens: null, work_ms: null, turns: null },
  worktree: null,
  ...over,
});

function task(id, state, title, over = {}) {
  seqs += 1;
  return {
    id,
    state,
    cause: { cause: 'turn_began', turn: 't1' },
    title,
    settings: settings('/home/ada/inn'),
    started_by: 'ada',
    thread: `thread-${id}`,
    keeper: 'k-1',
    codex_version: '0.166.0',
    turn: ['working', 'waiting_for_approval', 'waiting_for_user_input'].includes(state) ? 't1' : null,
    last_result: null,
    spent: { tokens: 18_400, work_ms: 192_000, turns: 1 },
    budget: { tokens: null, work_ms: null, turns: null },
    wake_at: null,
    limit_streak: 0,
    created_at: NOW - 40 * MINUTE - seqs * MINUTE,
    updated_at: NOW - seqs * 3 * MINUTE,
    ended_at: null,
    last_seq: 0,
    forked_from: null,
    ...over,
  };
}

const failure = (kind, message) => ({ class: { class: kind }, message, details: null, http_status: null, evidence: null });
const ask = (id, taskId, kind, offers, reason = null, over = {}) => ({
  id,
  task: taskId,
  agent: null,
  source: null,
  content: { thread: `thread-${taskId}`, turn: 't1', item: 'i1', reason, kind, offers },
  digest: 'd',
  opened_at: NOW - 4 * MINUTE,
  state: 'open',
  decision: null,
  closed: null,
  ...over,
});

const DIFF = `@@ -1,7 +1,9 @@
 # The inn
 
-We have six rooms.
-Breakfast is at 8.
+We have eight rooms, two of them with a view of the stables.
+Breakfast is from 7 to 9.
 
 ## Horses
 
+- oats twice a day
+- fresh straw on Mondays
@@ -40,3 +42,3 @@ ## Prices
 | room | price |
 |---|---|
-| small | 40 |
+| small | 45 |
`;

const ANSWER = `I looked at the three places where prices are written down:

1. \`docs/prices.md\` had the prices of **last year**;
2. \`src/prices.rs\` had the new ones, but rounded;
3. the test expected neither.

| room | before | now |
|---|---:|---:|
| small | 40 | 45 |
| large | 70 | 80 |

\`\`\`rust
pub fn price(room: Room) -> Money {
    match room {
        Room::Small => Money::whole(45),
        Room::Large => Money::whole(80),
    }
}
\`\`\`

> The rounding was on purpose once; see [the decision](https://example.com/decisions/12).

- [x] prices
- [ ] the sign at the door, which I may not change

<img src=x onerror=alert(1)> and [a trap](javascript:alert(1)) are only text.`;

const item = (id, body) => ({ id, body });
const thread = (update, agent) => ({ event: 'thread', ...(agent ? { agent } : {}), update });
const usage = (input, calls) => ({
  turn: { input, cached_input: Math.round(input * 0.7), output: 2_310, reasoning_output: 900 },
  last_call: { input, cached_input: 0, output: 300, reasoning_output: 0 },
  calls,
  thread: { input: input * 2, cached_input: Math.round(input * 1.4), output: 4_600, reasoning_output: 1_800 },
  context_window: 272_000,
});

function log(events, from = NOW - 30 * MINUTE) {
  return events.map((event, at) => ({ line: 'event', seq: at + 1, at: from + at * 2_000, event }));
}

const began = (it) => thread({ update: 'item_began', turn: 't1', item: it });
const ended = (it, how = 'reported') => thread({ update: 'item_ended', turn: 't1', item: it, how });
const both = (it) => [began(it), ended(it)];
const command = (id, text, over = {}) =>
  item(id, { kind: 'command', command: text, cwd: '/home/ada/inn', output: '', exit_code: 0, duration_ms: 40, outcome: 'succeeded', by_user: false, ...over });
const PLAN = {
  explanation: null,
  steps: [
    { text: 'Find where prices are written down', status: 'completed' },
    { text: 'Put the code and the docs right', status: 'completed' },
    { text: 'Run the tests', status: 'in_progress' },
    { text: 'Change the sign at the door', status: 'pending' },
  ],
};

function mainLog(asked) {
  const scout = { thread: 'thread-scout-1a2b3c', name: 'Scout' };
  return log([
    { event: 'created', settings: settings('/home/ada/inn'), by: 'ada' },
    { event: 'state', from: 'queued', to: 'starting', cause: { cause: 'placed' } },
    { event: 'placed', keeper: 'k-1', codex_version: '0.166.0', thread: 'thread-x' },
    thread({ update: 'turn_began', turn: 't1' }),
    { event: 'state', from: 'starting', to: 'working', cause: { cause: 'turn_began', turn: 't1' } },
    ...both(item('u1', { kind: 'user_message', text: 'The prices in our docs and in the code differ. Put them right, and run the tests.', attachments: [{ file: { path: 'uploads/price-list.pdf' } }], input: 'in1' })),
    ...both(item('r1', { kind: 'reasoning', summary: ['**Looking for prices**\n\nThe prices may be in the docs, the code and the tests. I search for the currency first.'], content: [] })),
    ...both(item('m0', { kind: 'agent_message', text: 'I look where prices are written down.', phase: 'commentary' })),
    ...both(command('c1', `bash -lc 'rg -n "price" --type-add "docs:*.md" -t docs -t rust'`, { output: '\u001b[35mdocs/prices.md\u001b[0m\n\u001b[32m3\u001b[0m:| small | \u001b[1m\u001b[31mprice\u001b[0m 40 |\n\u001b[35msrc/prices.rs\u001b[0m\n\u001b[32m12\u001b[0m:pub fn \u001b[1m\u001b[31mprice\u001b[0m(room: Room)\n' })),
    thread({ update: 'plan', turn: 't1', plan: PLAN }),
    thread({ update: 'usage', turn: 't1', usage: usage(61_200, 4) }),
    { event: 'notice', name: 'rate_limits', json: JSON.stringify({ notice: 'rate_limits', used_percent: 34, resets_at: Math.round(NOW / 1000) + 7_200 }) },
    ...both(item('sa', { kind: 'sub_agent', tool: 'spawn_agent', prompt: 'Look through the git history for when the prices changed.', threads: [scout.thread], states: [[scout.thread, 'completed', 'found two commits']], outcome: 'succeeded' })),
    thread({ update: 'item_began', turn: 'ts', item: command('s1', 'git log --oneline -- docs/prices.md') }, scout),
    thread({ update: 'item_ended', turn: 'ts', item: command('s1', 'git log --oneline -- docs/prices.md', { output: '9f1c2ab Round the prices\n77aa012 First prices\n' }), how: 'reported' }, scout),
    thread({ update: 'item_ended', turn: 'ts', item: item('s2', { kind: 'agent_message', text: 'Two commits touched the prices; the second one rounded them.', phase: 'final_answer' }), how: 'reported' }, scout),
    ...both(item('f1', { kind: 'file_change', files: [{ path: 'docs/inn.md', change: { Update: { moved_to: null } }, diff: DIFF }, { path: 'docs/horses.md', change: 'Add', diff: '# Horses\n\nThey are well.\n' }], outcome: 'succeeded' })),
    ...both(item('tool1', { kind: 'tool_call', place: { mcp: { server: 'ledger' } }, tool: 'lookup_price', arguments: '{"room":"small"}', result: '{"price":45,"currency":"EUR"}', error: null, succeeded: true, duration_ms: 1_240, outcome: 'succeeded' })),
    ...both(item('w1', { kind: 'web_search', query: 'rust round half even money', detail: null })),
    thread({ update: 'retrying', turn: 't1', failure: failure('overload', 'the model is at capacity'), attempt: 2, for_ms: 800 }),
    ...both(command('c2', `bash -lc 'cargo test --quiet prices'`, { output: 'running 3 tests\n..F\nfailures:\n---- prices::rounding stdout ----\nassertion `left == right` failed\n  left: 45\n right: 40\n\ntest result: \u001b[31mFAILED\u001b[0m. 2 passed; 1 failed\n', exit_code: 101, duration_ms: 4_210, outcome: 'failed' })),
    { event: 'ask_opened', ask: 'a0', content: ask('a0', 'x', { Command: { command: "bash -lc 'cargo add rounding'", cwd: '/home/ada/inn', writes_to_running: false, network: null, extra: null } }, ['Once', 'Deny']).content, digest: 'd' },
    { event: 'ask_decided', ask: 'a0', decision: { decision: 'Deny', by: { who: 'person', name: 'ada', surface: 'web' }, reason: 'no new crates, please', at: NOW } },
    { event: 'ask_closed', ask: 'a0', how: { how: 'answered' } },
    ...both(item('m1', { kind: 'agent_message', text: ANSWER, phase: 'unmarked' })),
    ...(asked
      ? [{ event: 'ask_opened', ask: asked.id, content: asked.content, digest: 'd' }, { event: 'state', from: 'working', to: 'waiting_for_approval', cause: { cause: 'ask_opened', ask: asked.id } }]
      : [began(command('c3', `bash -lc 'cargo test'`, { exit_code: null, duration_ms: null, outcome: 'running' }))]),
  ]);
}

const PREFIX = { Always: { CommandPrefix: ['git', 'push'] } };
export const asks = [
  { ask: ask('ask-command', 'task-command', { Command: { command: `bash -lc "git push origin HEAD:prices && ./scripts/sign --text 'New prices'"`, cwd: '/home/ada/inn', writes_to_running: false, network: { host: 'git.example.com', protocol: 'ssh' }, extra: null } }, ['Once', 'Session', PREFIX, 'Deny', 'Cancel'], 'The branch has to be on the server before the sign is changed.'), title: 'Put the prices right and run the tests', cwd: '/home/ada/inn' },
  { ask: ask('ask-files', 'task-files', { FileChange: { files: [{ path: '/home/ada/inn/docs/inn.md', change: { Update: { moved_to: null } }, diff: DIFF }], grant_root: null } }, ['Once', 'Session', 'Deny', 'Cancel'], null, { agent: { thread: 'x', name: 'Scout' } }), title: 'Write down what guests ask most often', cwd: '/home/ada/inn' },
  { ask: ask('ask-question', 'task-question', { UserInput: { questions: [{ id: 'q1', header: 'Rooms', text: 'Which rooms shall be closed in winter?', options: [{ label: 'None', description: 'heat all of them' }, { label: 'The attic', description: 'the coldest one' }], allows_other: true, is_secret: false }, { id: 'q2', header: 'Key', text: 'The key of the booking service?', options: [], allows_other: true, is_secret: true }], resolves_itself_after_ms: null } }, ['Cancel']), title: 'Plan the winter', cwd: '/home/ada/inn' },
  { ask: ask('ask-form', 'task-form', { Elicitation: { server: 'ledger', message: 'Book the invoice', want: { Form: [{ name: 'amount', title: 'Amount', description: 'in euros', kind: 'Number', required: true }, { name: 'account', title: 'Account', description: null, kind: { Choice: [{ value: 'a', title: 'Kitchen' }, { value: 'b', title: 'Stables' }] }, required: true }, { name: 'paid', title: 'Already paid', description: null, kind: 'Boolean', required: false }] } } }, ['Deny', 'Cancel']), title: 'Book the invoices of October', cwd: '/home/ada/books' },
  { ask: ask('ask-sandbox', 'task-sandbox', { Permissions: { cwd: '/home/ada/inn', wanted: { network: true, read: ['/etc/hosts'], write: ['/home/ada/.cache'], rules: [] } } }, ['Deny'], 'npm needs its cache and the registry.'), title: 'Update the booking page', cwd: '/home/ada/inn' },
];

export const tasks = [
  task('task-command', 'waiting_for_approval', 'Put the prices right and run the tests', { settings: settings('/home/ada/inn', { model: 'gpt-5.4', effort: 'high' }), budget: { tokens: 250_000, work_ms: null, turns: null } }),
  task('task-files', 'waiting_for_approval', 'Write down what guests ask most often'),
  task('task-question', 'waiting_for_user_input', 'Plan the winter'),
  task('task-form', 'waiting_for_user_input', 'Book the invoices of October', { settings: settings('/home/ada/books') }),
  task('task-sandbox', 'waiting_for_approval', 'Update the booking page'),
  task('task-working', 'working', 'Find out why the stable door creaks, and say what to buy'),
  task('task-big', 'working', 'Read every letter of the archive and sort it (10,000 items)', { settings: settings('/home/ada/archive') }),
  task('task-starting', 'starting', 'Rename the rooms after horses'),
  task('task-recovering', 'recovering', 'Count the oats', { cause: { cause: 'daemon_started' } }),
  task('task-queued', 'queued', 'Make the menu of next week'),
  task('task-parked', 'parked', 'Translate the guest book into five languages', { cause: { cause: 'limit_reached', failure: failure('usage_limit', 'usage limit reached'), until: NOW + 50 * MINUTE }, wake_at: NOW + 50 * MINUTE }),
  task('task-done', 'completed', 'Tidy the notes'),
  task('task-failed', 'failed', 'Move the bookings to the new system', { cause: { cause: 'turn_failed', failure: failure('auth', 'your access token could not be refreshed; log in again') } }),
  task('task-cancelled', 'cancelled', 'Paint the fence', { cause: { cause: 'interrupted', by: { who: 'caller', name: 'ada' } } }),
  ...Array.from({ length: 24 }, (_, at) => task(`task-old-${at}`, at % 7 === 3 ? 'failed' : 'completed', `An errand of the day before, number ${at + 1}`, { cause: { cause: 'turn_completed', turn: 't' }, spent: { tokens: 3000 + at * 911, work_ms: 9000, turns: 1 } })),
];

function bigLog() {
  const events = [{ event: 'created', settings: settings('/home/ada/archive'), by: 'ada' }];
  let turn = '';
  for (let at = 0; at < 10_000; at += 1) {
    if (at % 500 === 0) {
      turn = `t${at / 500}`;
      events.push(thread({ update: 'turn_began', turn }));
    }
    const bodies = [
      { kind: 'reasoning', summary: [`**Letter ${at}**\n\nIt seems to be about oats.`], content: [] },
      { kind: 'command', command: `bash -lc 'cat letters/${at}.txt'`, cwd: '/home/ada/archive', output: `Dear ostler,\nletter ${at} of many.\n`.repeat(1 + (at % 9)), exit_code: at % 97 === 0 ? 1 : 0, duration_ms: at % 3000, outcome: at % 97 === 0 ? 'failed' : 'succeeded', by_user: false },
      { kind: 'agent_message', text: `Letter **${at}** is from \`17${at % 90}\`. ${'It speaks of horses and the weather. '.repeat(at % 11)}`, phase: 'commentary' },
      { kind: 'file_change', files: [{ path: `sorted/${at}.md`, change: 'Add', diff: `# Letter ${at}\n\nsorted\n` }], outcome: 'succeeded' },
    ];
    const it = item(`i${at}`, at % 50 === 0 ? { kind: 'user_message', text: `And now those from shelf ${at / 50}.`, attachments: [], input: null } : bodies[at % 4]);
    events.push(thread({ update: 'item_began', turn, item: it }), thread({ update: 'item_ended', turn, item: it, how: 'reported' }));
    if (at % 20 === 0) events.push(thread({ update: 'usage', turn, usage: usage(20_000 + at * 9, at) }));
  }
  return log(events);
}

const logs = new Map();
export function logOf(id) {
  if (!logs.has(id)) {
    const asked = asks.find((shown) => shown.ask.task === id)?.ask ?? null;
    logs.set(id, id === 'task-big' ? bigLog() : mainLog(asked));
  }
  return logs.get(id);
}

export const rules = [
  { version: '1', id: 'r1', effect: 'allow', matcher: { command_prefix: ['cargo', 'test'] }, cwd: null, scope: { directory: '/home/ada/inn' }, expires_at: NOW + 86_400_000, made_by: 'ada', made_at: NOW - 3_600_000, from_ask: 'a1' },
  { version: '1', id: 'r2', effect: 'deny', matcher: { host: '*.example.net' }, cwd: null, scope: 'everywhere', expires_at: null, made_by: 'ada', made_at: NOW - 86_400_000, from_ask: null },
];
export const defaults = {
  settings: settings(''),
  models: [
    { id: 'gpt-5.4', display_name: 'GPT-5.4', is_default: true, efforts: ['low', 'medium', 'high'], default_effort: 'medium' },
    { id: 'gpt-5.4-mini', display_name: 'GPT-5.4 mini', efforts: ['low', 'medium'], default_effort: 'low' },
  ],
  cwds: ['/home/ada/inn', '/home/ada/books'],
};
export { failure };
