import type { ModelSettings, Settings } from '@sluice/config';
import type {
  AdminModelList,
  ModelRemoval,
  ModelRow,
  RemovedModel,
  StoredModelAnswer,
} from '@sluice/contract/admin';
import { queueName, type ResponseQueues } from '@sluice/queue';
import type { BulkActs } from '../acts/bulk-acts.ts';
import { type Asker, type Audit, failureOf } from '../audit/audit.ts';
import type { OperatorQueues } from '../queues/operator-queues.ts';
import { orRefuse } from './or-refuse.ts';

/** The models in effect in this process, and where each comes from. */
export interface ModelsInEffect {
  models: readonly ModelSettings[];
  /** Those in effect, and removed ones for which something may wait. */
  served: readonly ModelSettings[];
  providers: Settings['providers'];
  originOf: (id: string) => ModelRow['origin'];
  /** Stored models that are not offered. */
  unusable: readonly { id: string; problem: string }[];
}

/** Changes stored models; rejects with a `StoredRefusal` for what makes no sense. */
export interface ModelSteps {
  add: (wanted: Record<string, unknown>) => Promise<ModelSettings>;
  change: (id: string, members: Record<string, unknown>) => Promise<ModelSettings>;
  /** With `aloneAmong`, it is refused if one of those models or a stored one is in the same queue. */
  remove: (
    id: string,
    options?: { aloneAmong?: readonly ModelSettings[] | undefined },
  ) => Promise<ModelSettings>;
}

export interface ModelActsOptions {
  models: ModelsInEffect;
  modelChanges: ModelSteps;
  queue: Pick<ResponseQueues, 'backlog'>;
  queues: Pick<OperatorQueues, 'drain'>;
  acts: Pick<BulkActs, 'requireNone'>;
  audit: Pick<Audit, 'perform'>;
}

/** The models as operators see them, and changes of stored ones, each with its entries in the audit log. */
export class ModelActs {
  readonly #options: ModelActsOptions;

  constructor(options: ModelActsOptions) {
    this.#options = options;
  }

  /** Every model in effect, with its queue. Each queue is read once. */
  async list(): Promise<AdminModelList> {
    const { models, queue: queues } = this.#options;
    const names = [...new Set(models.models.map(({ queue }) => queue))];
    const backlogs = await Promise.all(names.map((name) => queues.backlog(queueName(name))));
    const data = models.models.map(({ id, routes, queue, concurrency }): ModelRow => {
      const { waiting = 0, active = 0, isPaused = false } = backlogs[names.indexOf(queue)] ?? {};
      const origin = models.originOf(id);
      return {
        id,
        origin,
        routes,
        queue,
        paused: isPaused,
        waiting,
        active,
        concurrency: concurrency ?? null,
      };
    });
    const unusable = models.unusable.map(({ id, problem }) => ({ id, problem }));
    return { object: 'list', data, unusable, providers: models.providers.map(({ id }) => id) };
  }

  add(wanted: { id: string } & Record<string, unknown>, asker: Asker): Promise<StoredModelAnswer> {
    return this.#perform('model.add', wanted.id, asker, () => this.#options.modelChanges.add(wanted));
  }

  change(id: string, members: Record<string, unknown>, asker: Asker): Promise<StoredModelAnswer> {
    return this.#perform('model.change', id, asker, () => this.#options.modelChanges.change(id, members));
  }

  /**
   * Removes a model. With `drain`, what waits in its queue is cancelled, which no other model may share then. Where that cannot begin any
   * more, the answer says why: the model is gone by then.
   *
   * @throws {ServiceError} `act_under_way` with `drain` while another act is: nothing is removed.
   */
  async remove(id: string, { queue: becomes }: ModelRemoval, asker: Asker): Promise<RemovedModel> {
    const { audit, acts, modelChanges, models } = this.#options;
    const isDrained = becomes === 'drain';
    const { queue } = await audit.perform(
      { action: 'model.remove', target: id, ...asker },
      async () => {
        if (isDrained) await acts.requireNone();
        return orRefuse(modelChanges.remove(id, isDrained ? { aloneAmong: models.served } : {}));
      },
      () => becomes,
    );
    const drained = isDrained ? await this.#drain(queue, asker) : { act: null, error: null };
    return { object: 'removed_model', id, ...drained };
  }

  async #drain(queue: string, asker: Asker): Promise<Pick<RemovedModel, 'act' | 'error'>> {
    try {
      return { act: await this.#options.queues.drain(queue, asker, { isKnown: true }), error: null };
    } catch (error) {
      const [, code] = failureOf(error);
      return { act: null, error: code };
    }
  }

  #perform(
    action: 'model.add' | 'model.change',
    target: string,
    asker: Asker,
    step: () => Promise<ModelSettings>,
  ): Promise<StoredModelAnswer> {
    return this.#options.audit.perform(
      { action, target, ...asker },
      async () => {
        const { id, routes, queue, concurrency } = await orRefuse(step());
        return { object: 'stored_model', id, routes, queue, concurrency: concurrency ?? null };
      },
      ({ routes }) => routes.map(({ provider }) => provider).join(', '),
    );
  }
}
