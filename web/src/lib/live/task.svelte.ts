// One task, watched for as long as its screen is open. Its stream carries what the board is told, too.

import type { Frame } from '../api/sse';
import { readProblem, type Problem } from '../api/problem';
import { openStream, type Stream } from '../api/stream';
import type { BoardLine, Id, TaskLine } from '../api/types';
import { EMPTY_CONVERSATION, isOfAnotherLog, reduceConversation, type Conversation } from '../state/conversation';
import { batched } from './batch';
import { board } from './board.svelte';
import { readLines } from './lines';
import { login } from './session.svelte';
import { isWatchman } from './watchman';

export class WatchedTask {
  readonly id: Id;
  state = $state.raw<Conversation>(EMPTY_CONVERSATION);
  connected = $state(false);
  problem = $state.raw<Problem | null>(null);
  #stream: Stream;
  #batch = batched<TaskLine>((lines) => this.#take(lines));

  constructor(id: Id) {
    this.id = id;
    const path = `/v1/tasks/${encodeURIComponent(id)}/events`;
    board.carriedBy(this);
    this.#stream = openStream(() => `${path}?after=${this.state.lastSeq}&follow=true&board=true`, {
      frames: (frames: Frame[]) => this.#hear(readLines<TaskLine>(frames)),
      connected: (is) => {
        this.connected = is;
        board.heard(this, is);
        // What was not reduced yet comes again after the last event that was.
        if (!is) this.#batch.drop();
      },
      mayRest: () => !isWatchman(),
      refused: (status, body) => {
        this.connected = false;
        board.putDown(this);
        this.problem = readProblem(status, body);
        if (status === 401 && login.now.phase === 'in') login.now = { phase: 'out', problem: null };
      },
    });
  }

  close(): void {
    this.#stream.close();
    this.#batch.drop();
    board.putDown(this);
  }

  #hear(lines: TaskLine[]): void {
    const [own, boards]: [TaskLine[], BoardLine[]] = [[], []];
    for (const line of lines) {
      if (line.line === 'board') boards.push(line.board);
      else own.push(line);
    }
    if (own.length > 0) this.#batch.push(own);
    if (boards.length > 0) board.hear(this, boards);
  }

  #take(lines: TaskLine[]): void {
    if (lines.some((line) => isOfAnotherLog(this.state, line))) {
      this.state = EMPTY_CONVERSATION;
      this.#stream.restart();
      return;
    }
    this.state = reduceConversation(this.state, lines);
  }
}
