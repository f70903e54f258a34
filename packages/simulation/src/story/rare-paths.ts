import type { UpstreamCall } from './upstream.ts';

/** Rare paths by what a process says of them in its log. */
const byLog: Readonly<Record<string, string>> = {
  'job was lost: added again': 'the rescue adds a job that was lost',
  'job was forgotten outside of its queue':
    'the rescue lets in a job that was forgotten outside of its queue',
  'response ended while it waited': 'the rescue ends a response that waits',
  'response should have ended long ago': 'the rescue takes over a response that runs',
  'process of suspects died': 'a process of suspects dies',
  'response not let into its queue': 'a place is free and its job cannot be moved',
  'upstream limits calls: it gets none for a while': 'an upstream limits calls',
  'attempt superseded': 'an attempt learns that it was superseded',
  'end not written': 'an end is refused',
  'lease not renewed': 'a lease is not renewed in time',
  'redis takes no writes': 'the store takes no writes',
  'the store was emptied: the limits of the queues are set again':
    'the limits of the queues are set again in a store that was emptied',
};

/** Rare paths by the first word of an answer of the store. */
const byAnswer: Readonly<Record<string, string>> = {
  held: 'a claim meets a worker that lives',
  crowded: 'a claim finds no place for its tenant',
  overtaken: 'what comes back goes behind newcomers',
  terminal: 'a transition finds that the response has ended',
  too_late: 'an accept comes behind its deadline',
  duplicate: 'a key leads to its response',
  detached: 'a caller leaves a response that others still want',
  unknown_version: 'a script meets a response of another release',
  undecided: 'what may yet be accepted is taken back later',
};

/** The same, when the answer never arrived. */
const byLostAnswer: Readonly<Record<string, string>> = {
  accepted: 'the answer to an accept is lost',
  run: 'the answer to a claim is lost',
  ok: 'the answer to an append or an end is lost',
};

const asterisk = 0x2a;

const suspectRuns = 'a suspect runs in a process of its own';
const runsAgain = 'a response runs again in another process';
const overlaps = 'a response runs again while a frozen process still runs it';

/** Every rare path that has a name. A thousand seeds must have taken each of them. */
export const rarePaths: readonly string[] = [
  ...Object.values(byLog),
  ...Object.values(byAnswer),
  ...Object.values(byLostAnswer),
  suspectRuns,
  runsAgain,
  overlaps,
];

/** Counts the rare paths that a history takes, by what can be seen of it from outside. */
export class RarePaths {
  readonly #counts = new Map<string, number>();

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** A process has written a line to its log. */
  logged(line: string): void {
    const { msg } = JSON.parse(line) as { msg: string }; // as pino writes it
    this.#add(byLog[msg]);
  }

  /** The store has answered. */
  answered(bytes: Buffer, isLost: boolean): void {
    if (bytes[0] !== asterisk) return;
    const word = /^\*\d+\r\n\$\d+\r\n([a-z_]+)\r\n/.exec(bytes.toString('latin1', 0, 40))?.[1];
    if (word !== undefined) this.#add((isLost ? byLostAnswer : byAnswer)[word]);
  }

  called(calls: readonly UpstreamCall[]): void {
    for (const [at, call] of calls.entries()) {
      if (call.process.includes('.')) this.#add(suspectRuns);
      const before = calls.slice(0, at).filter(({ responseId }) => responseId === call.responseId);
      const elsewhere = before.filter(({ process }) => process !== call.process);
      if (elsewhere.length > 0) this.#add(runsAgain);
      if (elsewhere.some(({ toMs }) => toMs === undefined || toMs > call.fromMs)) this.#add(overlaps);
    }
  }

  #add(name: string | undefined): void {
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }
}
