import type { Patch } from '@sluice/testing';

/** A part of what a response or a token costs, and how it is switched. */
export interface Storey {
  /** The difference from the default. */
  name: string;
  /** Settings that switch it. */
  settings?: Record<string, unknown>;
  keyLimits?: Record<string, number>;
  /** Changes of the sources, where no setting switches it. */
  patches?: readonly Patch[];
  /** A header that each request has with a value of its own. */
  freshHeader?: string;
  /** Whether spans are sent to a receiver. */
  isTraced?: true;
}

const emit = 'emit<Event extends TelemetryEvent>(event: Event, fact: TelemetryEvents[Event]): void {\n';

/** The defaults of every response, each without one part. */
export const without: readonly Storey[] = [
  { name: 'without the journal', settings: { console: { journal: false } } },
  { name: 'without statistics', settings: { console: { statistics: false } } },
  {
    name: 'without telemetry and all that listens to it: journal, statistics, metrics, logs',
    patches: [
      { file: 'packages/runtime/src/telemetry.ts', find: emit, replace: `${emit}    if (event) return;\n` },
    ],
  },
  {
    name: 'without the fair order: no tags, and jobs without a priority',
    patches: [
      {
        file: 'packages/admission/src/fair-queue.lua',
        find: 'local function take_tag(load, queue, flow, cost)\n',
        replace: 'local function take_tag(load, queue, flow, cost)\n  do return nil, 1, false end\n',
      },
      {
        file: 'packages/queue/src/response-queue.ts',
        find: 'await this.#add(name, responseId, { priority });',
        replace: 'await this.#add(name, responseId, { priority: 0 });',
      },
    ],
  },
  {
    name: 'without the schema of a request',
    patches: [
      {
        file: 'packages/contract/src/parse-create-response.ts',
        find: 'createResponseSchema.safeParse(given);',
        replace:
          '{ success: true, data: given } as unknown as ReturnType<typeof createResponseSchema.safeParse>;',
      },
    ],
  },
];

/** Parts that a response has only when somebody asks for them. */
export const beside: readonly Storey[] = [
  { name: 'with traces, all sampled', isTraced: true },
  { name: 'with the line of its tenant: a limit of what runs', keyLimits: { concurrent: 1_000 } },
  { name: 'with an `Idempotency-Key`', freshHeader: 'idempotency-key' },
  {
    name: 'with usage counted: each end in the outbox, and summed up',
    settings: { usage: { enabled: true } },
  },
  {
    name: 'with budgets of its tenant',
    keyLimits: { tokensPerDay: 1_000_000_000_000, spendPerMonth: 1_000_000 },
  },
];
