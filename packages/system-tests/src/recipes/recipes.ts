import type { Patch } from '@sluice/testing';

/** A row of the table in `docs/changing.md`, followed with something made up. */
export interface Recipe {
  /** The first cell of the row. */
  toAdd: string;
  /** Changed files. The row names each of them. */
  patches: readonly Patch[];
  /** Content of new files by their paths. The row names each of them, or its folder. */
  added?: Readonly<Record<string, string>>;
  /** Changed files for which the row has words and no path, such as "its use". */
  inWords?: readonly Patch[];
  /** A program in the changed copy that fails unless the rest has followed by itself. It may use `assert`. */
  proof: string;
}

const api = 'apps/api/src';
const config = 'packages/config/src';
const console = 'apps/console/src';
const contract = 'packages/contract/src';
const providers = 'packages/providers/src';
const store = 'packages/response-store/src';

export const recipes: readonly Recipe[] = [
  {
    toAdd: 'an error code',
    patches: [
      {
        file: `${contract}/errors.ts`,
        find: '  not_found: { ...notFound,',
        replace:
          "  made_up: { ...badRequest, status: 418, message: 'Made up.' },\n  not_found: { ...notFound,",
      },
      {
        file: `${api}/routes/get-model.ts`,
        find: "[...anyErrors, 'not_found'],",
        replace: "[...anyErrors, 'not_found', 'made_up'],",
      },
    ],
    proof: `
      import { ServiceError } from '@sluice/contract';
      import { openApiDocument } from './apps/api/src/openapi/openapi-document.ts';
      assert.equal(new ServiceError('made_up').message, 'Made up.');
      const answers = openApiDocument().paths['/models/{model}'].get.responses;
      assert.ok('418' in answers, Object.keys(answers).join());
    `,
  },
  {
    toAdd: 'an event',
    patches: [
      {
        file: `${contract}/events.ts`,
        find: "  'response.refusal.delta': content(",
        replace: "  'response.made_up': content({ ...inPart }),\n  'response.refusal.delta': content(",
      },
      {
        file: `${contract}/fold.ts`,
        find: "    case 'error':\n      return;",
        replace: "    case 'error':\n    case 'response.made_up':\n      return;",
      },
      {
        file: 'apps/worker/src/assemble-events.ts',
        find: "this.#emit({ type: 'response.refusal.delta', ...at, delta: chunk.delta })];",
        replace:
          "this.#emit({ type: 'response.made_up', ...at }), this.#emit({ type: 'response.refusal.delta', ...at, delta: chunk.delta })];",
      },
    ],
    proof: `
      import { parseEvent } from '@sluice/contract';
      const event = { type: 'response.made_up', sequence_number: 3, item_id: 'msg_1', output_index: 0, content_index: 0 };
      assert.deepEqual(parseEvent(JSON.stringify(event)), event);
      assert.throws(() => parseEvent('{"type":"response.made_up"}'));
    `,
  },
  {
    toAdd: 'a field of the record',
    patches: [
      {
        file: `${store}/record/fields.ts`,
        find: "  enqueued: field('flag', 'caller'),",
        replace: "  enqueued: field('flag', 'caller'),\n  made_up: field('number', 'caller'),",
      },
      {
        file: `${store}/transitions/note-job.lua`,
        find: "write(record, { enqueued = '1' })",
        replace: "write(record, { enqueued = '1', made_up = 1 })",
      },
      {
        file: `${store}/transitions/note-job.ts`,
        find: "writes: ['enqueued'],",
        replace: "writes: ['enqueued', 'made_up'],",
      },
    ],
    proof: `
      import { parseFields, storedNames } from './packages/response-store/src/record/fields.ts';
      import './packages/response-store/src/transitions/note-job.ts';
      assert.deepEqual(storedNames(['made_up']), ['made_up']);
      assert.deepEqual(parseFields(['made_up'], ['1']), { made_up: 1 });
    `,
  },
  {
    toAdd: 'a transition of the store',
    patches: [],
    inWords: [
      {
        file: `${store}/caller-store.ts`,
        find: '  /**\n   * The id of the response that an Idempotency-Key of a tenant stands',
        replace: `  madeUp(responseId: string): Promise<boolean> {
    return madeUp(this.access, responseId);
  }

  /**
   * The id of the response that an Idempotency-Key of a tenant stands`,
      },
      {
        file: `${store}/cells/stores-of-cells.ts`,
        find: '    noteJob: (id, jobs) => of(id).noteJob(id, jobs),',
        replace:
          '    noteJob: (id, jobs) => of(id).noteJob(id, jobs),\n    madeUp: (id) => of(id).madeUp(id),',
      },
      {
        file: `${store}/caller-store.ts`,
        find: "import { leave } from './transitions/leave.ts';",
        replace:
          "import { leave } from './transitions/leave.ts';\nimport { madeUp } from './transitions/made-up.ts';",
      },
    ],
    added: {
      [`${store}/transitions/made-up.lua`]: `
local f = read(record, 'status')
if not f.status or not is_open(f.status) then return 0 end
write(record, { grace_ms = grace_ms })
return 1
`,
      [`${store}/transitions/made-up.ts`]: `
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const madeUpScript = defineScript({
  by: 'caller',
  writes: ['grace_ms'],
  file: new URL('../../src/transitions/made-up.lua', import.meta.url),
  keys: ['record'],
  args: ['grace_ms'],
  numbers: ['grace_ms'],
});

export async function madeUp(access: StoreAccess, responseId: string): Promise<boolean> {
  const { record } = keysOf(access, responseId);
  return (await madeUpScript(access.redis, { keys: { record }, args: { grace_ms: 1 } })) === 1;
}
`,
    },
    proof: `
      import { CallerStore } from '@sluice/response-store';
      assert.equal(typeof CallerStore.prototype.madeUp, 'function');
    `,
  },
  {
    toAdd: 'a kind of provider',
    patches: [
      {
        file: `${providers}/registry.ts`,
        find: "    case 'simulator':",
        replace: "    case 'made-up':\n      return madeUp(settings);\n    case 'simulator':",
      },
      {
        file: `${providers}/registry.ts`,
        find: 'SimulatorSettings | UpstreamSettings',
        replace: 'MadeUpSettings | SimulatorSettings | UpstreamSettings',
      },
      {
        file: `${providers}/registry.ts`,
        find: "import { llamaCpp } from './llama-cpp/llama-cpp.ts';",
        replace:
          "import { llamaCpp } from './llama-cpp/llama-cpp.ts';\nimport { madeUp, type MadeUpSettings } from './made-up/made-up.ts';",
      },
      {
        file: `${config}/provider-schema.ts`,
        find: "const providerSchema = z.discriminatedUnion('type', [",
        replace:
          "const providerSchema = z.discriminatedUnion('type', [\n  z.strictObject({ type: z.literal('made-up'), id }).meta({ description: 'Made up.' }),",
      },
      {
        file: 'apps/sluice/src/doctor/check-upstreams.ts',
        find: "        case 'simulator':\n",
        replace:
          "        case 'made-up':\n          return [good(provider.id, 'is made up')];\n        case 'simulator':\n",
      },
    ],
    added: {
      [`${providers}/made-up/made-up.ts`]: `
import type { Provider } from '../provider.ts';

export interface MadeUpSettings {
  type: 'made-up';
  id: string;
}

export function madeUp({ id }: MadeUpSettings): Provider {
  return {
    id,
    async *generate() {
      yield { type: 'text', delta: 'Made up.' };
      yield { type: 'finish', reason: 'stop' };
    },
    async close() {},
  };
}
`,
    },
    proof: `
      import { createProvider } from '@sluice/providers';
      import { providerSchema } from './packages/config/src/provider-schema.ts';
      const settings = providerSchema.parse({ type: 'made-up', id: 'mine' });
      assert.equal(createProvider(settings, { connectMs: 1, firstTokenMs: 1, idleMs: 1 }).id, 'mine');
    `,
  },
  {
    toAdd: 'a transport',
    patches: [
      {
        file: `${api}/app.ts`,
        find: '        registerReadLimits(mount, dependencies);',
        replace:
          '        registerReadLimits(mount, dependencies);\n        registerMadeUp(mount, { ...dependencies, dialect });',
      },
      {
        file: `${api}/app.ts`,
        find: "import { registerJsonBody } from './plugins/json-body.ts';",
        replace:
          "import { registerJsonBody } from './plugins/json-body.ts';\nimport { registerMadeUp } from './made-up-transport.ts';",
      },
    ],
    added: {
      [`${api}/made-up-transport.ts`]: `
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { CallerPresence } from './responses/caller.ts';
import type { Dialect } from './responses/dialect.ts';
import type { EventSink, SentEvent } from './responses/event-sink.ts';
import type { Responses } from './responses/responses.ts';

/** Keeps what it is sent. */
class MadeUpSink implements EventSink {
  readonly #leaving = new AbortController();
  readonly sent: string[] = [];

  get gone(): AbortSignal {
    return this.#leaving.signal;
  }

  async write(events: readonly SentEvent[]): Promise<void> {
    for (const { json } of events) this.sent.push(json);
  }

  caughtUp(): void {}
  repeatWhileSilent(): void {}
  remarkWhileSilent(): void {}
  end(): void {}
  cut(): void {}
}

export function registerMadeUp(
  mount: FastifyInstance,
  { responses, dialect }: { responses: Responses; dialect: Dialect },
): void {
  mount.get<{ Params: { id: string } }>('/made-up/:id', async ({ params, key }) => {
    const sink = new MadeUpSink();
    const caller = {
      key,
      requestId: randomUUID(),
      presence: new CallerPresence(),
      hold: async () => () => undefined,
      elapsedMs: () => 0,
    };
    const presentation = { dialect, obfuscate: false, specificationNames: false };
    await responses.follow(caller, params.id, { cursor: -1, presentation, openSink: () => sink });
    return sink.sent;
  });
}
`,
    },
    proof: `
      import { registerMadeUp } from './apps/api/src/made-up-transport.ts';
      import './apps/api/src/app.ts';
      assert.equal(typeof registerMadeUp, 'function');
    `,
  },
  {
    toAdd: 'a route',
    patches: [
      {
        file: `${api}/routes.ts`,
        find: "import { listInputItems } from './routes/list-input-items.ts';",
        replace:
          "import { listInputItems } from './routes/list-input-items.ts';\nimport { readMadeUp } from './routes/read-made-up.ts';",
      },
      {
        file: `${api}/routes.ts`,
        find: '  listInputItems,\n',
        replace: '  listInputItems,\n  readMadeUp,\n',
      },
    ],
    added: {
      [`${api}/routes/read-made-up.ts`]: `
import { modelListSchema } from '@sluice/contract';
import { anyErrors, defineRoute, json } from '../route.ts';

export const readMadeUp = defineRoute({
  name: 'readMadeUp',
  method: 'GET',
  path: '/made-up-route',
  summary: 'Made up.',
  answers: [json(modelListSchema)],
  errors: anyErrors,
  handle: () => ({ object: 'list', data: [] }),
});
`,
    },
    proof: `
      import { openApiDocument } from './apps/api/src/openapi/openapi-document.ts';
      const { paths } = openApiDocument();
      assert.ok('401' in paths['/made-up-route'].get.responses);
    `,
  },
  {
    toAdd: 'a route of the admin API',
    patches: [
      {
        file: `${contract}/admin/session.ts`,
        find: 'export type Session = z.output<typeof sessionSchema>;',
        replace:
          "export type Session = z.output<typeof sessionSchema>;\nexport const madeUpSchema = z.object({ object: z.literal('made_up') });",
      },
      {
        file: `${api}/admin/api/admin-routes.ts`,
        find: "import { readHistory } from './routes/read-history.ts';",
        replace:
          "import { readHistory } from './routes/read-history.ts';\nimport { readMadeUpAsAdmin } from './routes/read-made-up.ts';",
      },
      {
        file: `${api}/admin/api/admin-routes.ts`,
        find: '  readHistory,\n',
        replace: '  readHistory,\n  readMadeUpAsAdmin,\n',
      },
    ],
    added: {
      [`${api}/admin/api/routes/read-made-up.ts`]: `
import { madeUpSchema } from '@sluice/contract/admin';
import { json } from '../../../route.ts';
import { readingRoute } from '../admin-route.ts';

export const readMadeUpAsAdmin = readingRoute({
  name: 'readMadeUpAsAdmin',
  method: 'GET',
  path: '/made-up',
  summary: 'Made up.',
  answers: [json(madeUpSchema)],
  errors: [],
  handle: () => ({ object: 'made_up' as const }),
});
`,
    },
    proof: `
      import { openApiDocument } from './apps/api/src/openapi/openapi-document.ts';
      assert.ok(openApiDocument().paths['/admin/v1/made-up'].get);
    `,
  },
  {
    toAdd: 'a page of the console',
    patches: [
      {
        file: `${console}/router.tsx`,
        find: '] as const;\n\nexport function createConsoleRouter',
        replace: `  page('/made-up', async () => (await import('./pages/made-up/made-up-page.tsx')).MadeUpPage),
] as const;

export function createConsoleRouter`,
      },
      {
        file: `${console}/shell/places.ts`,
        find: "    { to: '/audit', word: 'Audit', key: 'a', icon: IconHistory },",
        replace:
          "    { to: '/audit', word: 'Audit', key: 'a', icon: IconHistory },\n    { to: '/made-up', word: 'Made up', key: 'x', icon: IconHistory },",
      },
    ],
    added: {
      [`${console}/pages/made-up/made-up-page.tsx`]: `
import { PageHeader } from '../../components/page-header.tsx';

export function MadeUpPage() {
  return <PageHeader title="Made up" />;
}
`,
    },
    proof: `
      import { execFileSync } from 'node:child_process';
      import { globSync, readFileSync } from 'node:fs';
      execFileSync(process.execPath, ['apps/console/build/main.ts']);
      const chunks = globSync('apps/console/dist/**/made-up-page*.js');
      assert.equal(chunks.length, 1);
      assert.match(readFileSync(chunks[0], 'utf8'), /Made up/);
    `,
  },
  {
    toAdd: 'a limit of a tenant',
    patches: [
      {
        file: `${contract}/tenant-limits.ts`,
        find: '  readsPerMinute: {',
        replace: `  madeUp: {
    wire: 'made_up',
    use: 'made_up_now',
    label: 'Made up',
    short: 'Made up',
    unit: 'count',
    least: 1,
    most,
    description: 'Most of what is made up.',
    otherwise: noLimit,
  },
  readsPerMinute: {`,
      },
      {
        file: `${store}/reading/tenant-use.ts`,
        find: '        in_line: inLines[each] ?? null,',
        replace: '        in_line: inLines[each] ?? null,\n        made_up_now: 0,',
      },
      {
        file: 'packages/admission/src/enter.lua',
        find: '  elseif limits.stored_bytes and bytes > limits.stored_bytes then',
        replace:
          "  elseif limits.made_up and limits.made_up < 1 then\n    refused = 'rate_limited'\n  elseif limits.stored_bytes and bytes > limits.stored_bytes then",
      },
    ],
    proof: `
      import { printLimits } from '@sluice/admission';
      import { limitsSchema } from '@sluice/config';
      import { keyFlagOptions } from './apps/sluice/src/keys/key-flags.ts';
      import { openApiDocument } from './apps/api/src/openapi/openapi-document.ts';
      assert.equal(limitsSchema.parse({ madeUp: 3 }).madeUp, 3);
      assert.ok('made-up' in keyFlagOptions);
      assert.match(JSON.stringify(openApiDocument()), /"made_up"/);
      const limits = { madeUp: 3, service: { queued: 1, queuedBytes: 1 } };
      assert.match(printLimits(limits, { input: 1, output: 1, mostInput: undefined }), /made_up=3/);
    `,
  },
  {
    toAdd: 'a setting',
    patches: [
      {
        file: `${config}/settings-schema.ts`,
        find: '  workers: wholeNumber(1, 64).default(1).meta({',
        replace:
          "  madeUp: wholeNumber(1, 9).default(3).meta({ description: 'Made up.' }),\n  workers: wholeNumber(1, 64).default(1).meta({",
      },
      {
        file: `${config}/environment-variables.ts`,
        find: "  { path: ['workers'],",
        replace: "  { path: ['madeUp'], variable: 'MADE_UP', flag: '--made-up' },\n  { path: ['workers'],",
      },
    ],
    proof: `
      import { describeFlags, loadSettings } from '@sluice/config';
      assert.match(describeFlags('api'), /--made-up/);
      const load = (env) => loadSettings({ env, argv: [], cwd: import.meta.dirname });
      assert.equal(load({}).madeUp, 3);
      assert.equal(load({ MADE_UP: '5' }).madeUp, 5);
      assert.throws(() => load({ MADE_UP: '10' }), /MADE_UP/);
    `,
  },
];
