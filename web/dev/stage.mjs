// The API on canned tasks. Answers take asks away, messages are echoed, and one task types forever.

import { asks as allAsks, defaults, logOf, rules as allRules, tasks as allTasks } from './scenes.mjs';

export function stage({ json, problem, body, sse }) {
  let asks = [...allAsks];
  let rules = [...allRules];
  let tokens = [{ id: 'tok1', name: 'the nightly build', scopes: ['read', 'operate'], created_at: Date.now() - 9e7, last_used_at: Date.now() - 6e5 }];
  const tasks = new Map(allTasks.map((task) => [task.id, task]));
  let notifications = [
    { id: 'n2', task: 'task-working', kind: 'finished', target: 'local', at: Date.now() - 6e4, content: { title: 'Oil the door', why: 'the turn is complete' }, state: 'sent', attempts: 1, is_unread: true },
    { id: 'n1', task: 'task-working', kind: 'needs_approval', target: 'ops', at: Date.now() - 9e6, content: { title: 'Oil the door', why: '', asked: { what: 'run make' } }, state: 'failed', attempts: 12, tries: [{ at: Date.now(), why: 'the server answered 500' }] },
  ];
  const boards = new Set();
  const watchers = new Map();
  const counts = () => Object.groupBy ? Object.fromEntries(Object.entries(Object.groupBy([...tasks.values()], (task) => task.state)).map(([state, list]) => [state, list.length])) : [...tasks.values()].reduce((sum, task) => ({ ...sum, [task.state]: (sum[task.state] ?? 0) + 1 }), {});
  const tell = (id, line) => watchers.get(id)?.forEach((send) => send(line));
  const append = (id, event) => {
    const log = logOf(id);
    const line = { line: 'event', seq: log.length + 1, at: Date.now(), event };
    log.push(line);
    tell(id, line);
  };
  const typing = 'I listened at the door for a while. It creaks when it is **opened slowly**, and not when it is opened fast; so it is the upper hinge. A little oil will do, and a new pin before the winter. ';
  const partial = { turn: 't1', item: 'live', kind: 'message', text: '' };
  let output = { turn: 't1', item: 'c3', kind: 'output', text: '' };
  let at = 0;
  logOf('task-working').push({ line: 'event', seq: logOf('task-working').length + 1, at: Date.now(), event: { event: 'thread', update: { update: 'item_began', turn: 't1', item: { id: 'live', body: { kind: 'agent_message', text: '', phase: 'unmarked' } } } } });
  setInterval(() => {
    at += 1;
    const piece = typing.slice((at * 5) % typing.length, ((at * 5) % typing.length) + 5);
    if (partial.text.length < 1500) {
      partial.text += piece;
      tell('task-working', { line: 'grown', ...partial, text: piece });
    }
    if (at % 4 === 0 && output.text.length < 4000) {
      const line = `test stable::door_${at} ... ok\n`;
      output = { ...output, text: output.text + line };
      tell('task-working', { line: 'grown', ...output, text: line });
    }
  }, 120);

  return async (request, response, address) => {
    const path = address.pathname;
    const [, , room, id, part, rest] = path.split('/').map(decodeURIComponent);
    const board = (send) => {
      send({ line: 'now', tasks: [...tasks.values()].map((task) => ({ ...task, last_seq: 1 })), counts: counts(), asks });
      send({ line: 'lookers', board: [{ name: 'ada', surface: 'web' }, { name: 'grace', surface: 'web' }], tasks: {} });
      boards.add(send);
      request.on('close', () => boards.delete(send));
    };
    if (path === '/v1/events') return board(sse(request, response));
    if (room === 'notifications') {
      if (request.method === 'POST') notifications = notifications.map((one) => ({ ...one, is_unread: false }));
      return json(response, { notifications, unread: notifications.filter((one) => one.is_unread).length, newest: 2, next: null });
    }
    if (room === 'tasks' && id === undefined) {
      if (request.method === 'POST') {
        const wanted = JSON.parse(await body(request));
        if (wanted.approval === 'never') return problem(response, 400, 'the task cannot be started like that', { data: { problems: ['approval: `never` must be allowed by name', `cwd: ${wanted.cwd} is not there`] }, hint: 'set `allow_never = true` under [tasks]' });
        return json(response, { task: tasks.get('task-working'), known: false });
      }
      const words = (address.searchParams.get('q') ?? '').toLowerCase();
      const states = (address.searchParams.get('state') ?? '').split(',').filter(Boolean);
      const found = [...tasks.values()].filter((task) => task.title.toLowerCase().includes(words) && (states.length === 0 || states.includes(task.state)));
      return json(response, { tasks: found.slice(0, 50), counts: counts(), next: null });
    }
    if (room === 'tasks') {
      const task = tasks.get(id);
      if (task === undefined) return problem(response, 404, `there is no task ${id}`, { hint: '`ostler ls --all` lists them' });
      const log = logOf(id);
      if (part === 'events') {
        const send = sse(request, response);
        const after = Number(request.headers['last-event-id'] ?? address.searchParams.get('after') ?? 0);
        send({ line: 'now', task: { ...task, last_seq: log.length }, asks: asks.filter((shown) => shown.ask.task === id).map((shown) => shown.ask), intents: id === 'task-working' ? [{ id: 'in9', task: id, wish: { wish: 'send', input: { content: { message: [{ text: 'And the window, when you are done.' }] } }, if_busy: 'queue' }, by: 'ada', at: Date.now(), state: { state: 'pending' } }] : [], partials: id === 'task-working' ? [partial, output] : [] });
        send({ line: 'viewers', viewers: [{ name: 'ada', surface: 'web' }, { name: 'grace', surface: 'terminal' }] });
        for (const line of log.slice(after)) send(line);
        if (address.searchParams.get('board') === 'true') board((line) => send({ line: 'board', board: line }));
        if (!watchers.has(id)) watchers.set(id, new Set());
        watchers.get(id).add(send);
        request.on('close', () => watchers.get(id).delete(send));
        return;
      }
      if (part === 'why') return json(response, { task, steps: log.filter((line) => line.event.event === 'state').map((line) => ({ seq: line.seq, at: line.at, from: line.event.from, to: line.event.to, cause: line.event.cause })) });
      if (part === 'receipts') return json(response, { task: id, intents: [{ id: 'in1', task: id, wish: { wish: 'send', input: { content: { message: [{ text: 'The prices differ. Put them right.' }] } }, if_busy: 'queue' }, by: 'ada', at: Date.now() - 9e5, state: { state: 'done', receipt: { proof: 'taken', turn: 'turn-0123456' } } }, { id: 'in2', task: id, wish: { wish: 'interrupt' }, by: 'grace', at: Date.now() - 8e5, state: { state: 'unknown', why: 'the app-server died before it answered' } }] });
      if (part === 'diff') return json(response, { task: id, from: { from: 'disk', notes: [] }, diff: 'diff --git a/docs/inn.md b/docs/inn.md\n--- a/docs/inn.md\n+++ b/docs/inn.md\n@@ -1,4 +1,5 @@\n # The inn\n \n-We have six rooms.\n+We have eight rooms.\n+And a cat.\n \ndiff --git a/docs/horses.md b/docs/horses.md\nnew file mode 100644\n--- /dev/null\n+++ b/docs/horses.md\n@@ -0,0 +1,2 @@\n+# Horses\n+They are well.\n' });
      if (part === 'files' && request.method === 'POST') return json(response, { name: address.searchParams.get('name'), path: `/uploads/${address.searchParams.get('name')}`, bytes: (await body(request)).length });
      if (part === 'send') {
        const { input } = JSON.parse(await body(request));
        const text = input.content.message.map((one) => one.text ?? '').join(' ');
        append(id, { event: 'thread', update: { update: 'item_ended', turn: 't1', item: { id: `u${log.length}`, body: { kind: 'user_message', text, attachments: [], input: null } }, how: 'reported' } });
        return json(response, { task: id, intent: 'x' }, 202);
      }
      if (part === 'interrupt') return json(response, { task: id, intent: 'x' }, 202);
      return problem(response, 404, `not on this stage: ${path} ${rest ?? ''}`);
    }
    if (room === 'asks' && part === 'answer') {
      const shown = asks.find((one) => one.ask.id === id);
      if (shown === undefined) return problem(response, 409, 'grace (terminal) has decided already', { data: { decided_by: 'grace (terminal)' } });
      const given = JSON.parse(await body(request));
      console.log('answer', id, JSON.stringify(given));
      asks = asks.filter((one) => one.ask.id !== id);
      const task = { ...tasks.get(shown.ask.task), state: 'working', updated_at: Date.now(), last_seq: 9e9 };
      tasks.set(task.id, task);
      setTimeout(() => {
        boards.forEach((send) => { send({ line: 'asks', asks }); send({ line: 'task', task }); });
        append(task.id, { event: 'ask_decided', ask: id, decision: { decision: given.decision, by: { who: 'person', name: 'ada', surface: 'web' }, reason: given.reason ?? null, at: Date.now() } });
        append(task.id, { event: 'ask_closed', ask: id, how: { how: 'answered' } });
      }, 300);
      return json(response, shown.ask);
    }
    if (room === 'rules' && request.method === 'POST') {
      const rule = JSON.parse(await body(request));
      rules = [...rules, rule];
      return json(response, rule);
    }
    if (room === 'rules' && request.method === 'DELETE') {
      rules = rules.filter((rule) => rule.id !== id);
      return json(response, { rule: id });
    }
    if (room === 'rules') return json(response, rules);
    if (room === 'tokens' && request.method === 'POST') {
      const wanted = JSON.parse(await body(request));
      const token = { id: `tok${tokens.length + 1}`, ...wanted, created_at: Date.now(), last_used_at: null };
      tokens = [...tokens, token];
      return json(response, { ...token, token: 'ost_4f9a2c7e51d84b06a3' });
    }
    if (room === 'tokens' && request.method === 'DELETE') {
      tokens = tokens.filter((token) => token.id !== id);
      return json(response, {});
    }
    if (room === 'tokens') return json(response, { tokens, logins: [{ id: 'log1', name: 'ada', scopes: ['read'], created_at: Date.now() - 9e7, last_used_at: Date.now() }] });
    if (room === 'defaults') return json(response, defaults);
    if (room === 'models') return json(response, { models: defaults.models });
    if (room === 'limits') return json(response, { limits: [{ account: 'ada@example.com', plan: 'pro', primary: { used_percent: 34, resets_at: Date.now() / 1000 + 7200 }, secondary: { used_percent: 88, resets_at: Date.now() / 1000 + 400_000 } }] });
    if (room === 'app-servers') return json(response, [{ keeper: 'k-1', codex_version: '0.166.0', codex_home: '/home/ada/.codex', threads: 5, isolated_for: null, is_full: false }]);
    return problem(response, 404, `not on this stage: ${path}`);
  };
}
