import type { ProblemDocument } from './types';

/** Anything that went wrong with a request, in words for a person. */
export class Problem extends Error {
  readonly status: number;
  readonly hint: string | null;
  readonly data: unknown;

  constructor(status: number, detail: string, hint: string | null = null, data: unknown = null) {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.hint = hint;
    this.data = data;
  }

  /** Who decided first, if that is what went wrong. */
  get decidedBy(): string | null {
    const data = this.data;
    if (typeof data !== 'object' || data === null || !('decided_by' in data)) return null;
    return typeof data.decided_by === 'string' ? data.decided_by : null;
  }
}

/** The status of a request that got no answer at all. */
export const UNREACHABLE = 0;

export function unreachable(): Problem {
  return new Problem(
    UNREACHABLE,
    'the daemon cannot be reached',
    'it may be restarting; the page connects again by itself',
  );
}

/** Nobody answered in time. Whether it was done is unknown. */
export function silent(ms: number): Problem {
  return new Problem(
    UNREACHABLE,
    `the daemon did not answer within ${Math.round(ms / 1000)} s`,
    'a browser has few connections for all its windows: close some of this page, then try again; it counts once',
  );
}

export function readProblem(status: number, body: string): Problem {
  try {
    const document = JSON.parse(body) as Partial<ProblemDocument>;
    const detail = document.detail || document.title || `the daemon answered ${status}`;
    return new Problem(status, detail, document.hint ?? null, document.data ?? null);
  } catch {
    return new Problem(status, `the daemon answered ${status}`);
  }
}

/** What to show of any error that was caught. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(UNREACHABLE, error instanceof Error ? error.message : String(error));
}
