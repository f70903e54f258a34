import { Readable } from 'node:stream';
import { storedNameOf } from '@sluice/api';
import type { Batch } from '@sluice/contract';
import type { ReadyApi, SimulatedService } from '../service/simulated-service.ts';
import { askUntilDone, isForgotten } from './ask-api.ts';
import { keyOf } from './request.ts';
import type { BatchPlan } from './scenario.ts';

type Parts = ReadyApi['parts'];

/** How often somebody looks how far a batch is, in milliseconds. */
const lookEveryMs = 500;

/** Looks after which he gives up. */
const mostLooks = 400;

/** Somebody who uploads a file, has its lines run, and looks until they have. */
export class SimulatedBatch {
  readonly plan: BatchPlan;
  readonly #service: SimulatedService;
  /** Its file and its batch, once he was told. */
  fileId: string | undefined;
  id: string | undefined;
  /** Whether he asked for it more than once, and found it in the list: a create that was refused is taken back. */
  wasRefused = false;
  wasListed = false;
  /** The end as he was told of it, or `none`. */
  end: Batch | 'none' | undefined;
  /** When he asked first, and was told of the last end, in milliseconds of the world. */
  begunMs = Number.POSITIVE_INFINITY;
  doneMs = Number.POSITIVE_INFINITY;
  isDone = false;
  /** Whether he has asked for its end. */
  isCancelled = false;

  constructor(service: SimulatedService, plan: BatchPlan) {
    this.#service = service;
    this.plan = plan;
    this.#run().then(
      () => (this.isDone = true),
      (error: unknown) => service.world.crashed(error),
    );
  }

  async #run(): Promise<void> {
    const { world } = this.#service;
    const { atMs, name, cancelAfterMs } = this.plan;
    await world.sleep(atMs);
    this.begunMs = world.elapsedMs;
    const fileId = await this.#upload();
    await this.#create(fileId);
    const createdMs = world.elapsedMs;
    for (let looks = 0; looks < mostLooks && !this.end; looks += 1) {
      if (cancelAfterMs !== undefined && world.elapsedMs >= createdMs + cancelAfterMs) await this.#cancel();
      const batch = await this.#ofBatch(({ batches }, { tenant }, id) => batches.get(tenant, id));
      if (!batch || ended.has(batch.status)) this.end = batch ?? 'none';
      await world.sleep(lookEveryMs);
    }
    this.doneMs = world.elapsedMs;
    world.note(name, `is done: ${JSON.stringify(this.end)}`);
  }

  async #upload(): Promise<string> {
    const { lines, name } = this.plan;
    const content = lines.map((line) => `${JSON.stringify(requestOf(line))}\n`).join('');
    const file = await this.#until(async ({ files }, { tenant }) => {
      const draft = await files.receive(tenant, Readable.from([Buffer.from(content)]));
      try {
        return await files.keep(tenant, { name: `${name}.jsonl`, purpose: 'batch' }, draft);
      } finally {
        await files.drop(draft);
      }
    });
    return file.id;
  }

  /** Looks for what a create without an answer has made before it creates another one. */
  async #create(fileId: string): Promise<void> {
    let tries = 0;
    const { id, wasListed } = await this.#until(async ({ batches }, owner) => {
      tries += 1;
      const { data } = await batches.list(owner.tenant, { limit: 100 });
      const listed = data.find((batch) => batch.input_file_id === fileId);
      const asked = { input_file_id: fileId, endpoint, completion_window: '24h' } as const;
      const batch = listed ?? (await batches.create(owner, asked));
      return { id: batch.id, wasListed: listed !== undefined };
    });
    this.fileId = fileId;
    this.id = id;
    this.wasListed = wasListed;
    this.wasRefused = tries > 1;
    this.#service.world.note(this.plan.name, `is told ${id}`);
  }

  async #cancel(): Promise<void> {
    if (this.isCancelled) return;
    this.isCancelled = true;
    await this.#ofBatch(({ batches }, { tenant }, id) => batches.cancel(tenant, id));
  }

  /** Asks something of its batch; undefined when there is none any more. */
  #ofBatch(
    ask: (...args: [...Parameters<Ask<never>>, id: string]) => Promise<Batch>,
  ): Promise<Batch | undefined> {
    const { id = '' } = this;
    return this.#until(async (parts, owner) => {
      try {
        return await ask(parts, owner, id);
      } catch (error) {
        if (isForgotten(error)) return undefined;
        throw error;
      }
    });
  }

  #until<Result>(ask: Ask<Result>): Promise<Result> {
    return askUntilDone(this.#service, (api) => askOf(api, this.plan, ask));
  }
}

type Ask<Result> = (
  parts: { files: NonNullable<Parts['files']>; batches: NonNullable<Parts['batches']>['batches'] },
  owner: { tenant: string; key: string },
) => Promise<Result>;

/** Asks an api for its files and batches as the tenant of a plan does. */
export function askOf<Result>(
  { parts }: ReadyApi,
  { tenant }: Pick<BatchPlan, 'tenant'>,
  ask: Ask<Result>,
): Promise<Result> {
  const { files, batches } = parts;
  if (!files || !batches) throw new Error('There are no files');
  return ask({ files, batches: batches.batches }, { tenant, key: storedNameOf(keyOf(parts, tenant)) });
}

const endpoint = '/v1/responses';

export const ended: ReadonlySet<Batch['status']> = new Set(['completed', 'failed', 'cancelled', 'expired']);

const requestOf = ({ name, model }: BatchPlan['lines'][number]) => ({
  custom_id: name,
  method: 'POST',
  url: endpoint,
  body: { model, input: `prompt of ${name}`, metadata: { caller: name } },
});
