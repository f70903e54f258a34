import { randomUUID } from 'node:crypto';
import type { Settings } from '@sluice/config';
import {
  type CostPage,
  type CostQueryParams,
  ServiceError,
  type UsagePage,
  type UsageQueryParams,
} from '@sluice/contract';
import type { CallerStores, EndFact } from '@sluice/response-store';
import { type Logger, throttledWarning } from '@sluice/runtime';
import {
  askedCosts,
  type AskedPage,
  askedPage,
  costPage,
  openUsage,
  pageUntil,
  recordEach,
  TooManySums,
  type UsageDatabase,
  type UsageFact,
  UsageHome,
  usagePage,
  type UsageSum,
} from '@sluice/usage';
import { type ApiClients, OutboxFollowers, type Wired } from '@sluice/wiring';
import type { KeyNames } from './key-names.ts';

/** Most ends that are counted in one go. */
const mostAtOnce = 500;

export interface ApiUsageOptions {
  settings: Pick<Settings, 'recovery' | 'dataDir' | 'usage' | 'webhooks'>;
  wired: Wired<ApiClients, CallerStores>;
  keys: KeyNames;
  logger: Logger;
  /** In place of the file in `dataDir`. */
  database?: UsageDatabase | undefined;
}

/** The tenant that asks for its own usage; undefined for an operator, who sees that of all. */
interface AskedBy {
  tenant?: string | undefined;
}

/**
 * The part of an api that counts what responses took, and says it. One api at a time counts; each that has the database says what was
 * counted. No request waits for it but those that ask for usage.
 */
export class ApiUsage {
  readonly #options: ApiUsageOptions;
  readonly #database: UsageDatabase;
  readonly #home: UsageHome;
  readonly #follower: OutboxFollowers;
  #isElsewhere = false;

  constructor(options: ApiUsageOptions) {
    this.#options = options;
    const { settings, wired, logger } = options;
    const { commands } = wired.clients;
    const { warn } = throttledWarning(logger, 'usage not counted, it waits');
    this.#database = options.database ?? openUsage(settings, warn);
    this.#home = new UsageHome({
      connection: commands,
      keyPrefix: wired.keyPrefix,
      database: this.#database,
    });
    this.#follower = new OutboxFollowers({
      settings,
      wired,
      name: 'usage',
      process: randomUUID(),
      mostAtOnce,
      mayRead: () => this.#isHere(),
      tell: (ends) => this.#count(ends.map(usageOf)),
      onLost: (count) => {
        wired.telemetry.emit('usage.told', { outcome: 'lost', count });
        logger.error({ count }, 'ends of responses are missing from usage: too many waited');
      },
      onError: warn,
    });
  }

  start(): void {
    this.#follower.start();
  }

  /** Counts what it has begun with, and closes the database. */
  async stop(): Promise<void> {
    await this.#follower.stop();
    await this.#database.close();
  }

  /**
   * A page of the usage of a tenant, or of all.
   *
   * @throws {ServiceError} when the database cannot be read here, or one bucket has too many groups.
   */
  async page(params: UsageQueryParams, of: AskedBy): Promise<UsagePage> {
    return usagePage(...(await this.#sums(params, of)), this.#options.settings.usage.currency);
  }

  /** A page of what it cost; rejects as `page` does. */
  async costs(params: CostQueryParams, of: AskedBy): Promise<CostPage> {
    return costPage(...(await this.#sums(askedCosts(params), of)), this.#options.settings.usage.currency);
  }

  async #count(facts: readonly UsageFact[]): Promise<void> {
    const { wired, logger } = this.#options;
    const refused = await recordEach(this.#database, facts);
    wired.telemetry.emit('usage.told', { outcome: 'counted', count: facts.length - refused.length });
    if (refused.length === 0) return;
    wired.telemetry.emit('usage.told', { outcome: 'lost', count: refused.length });
    const responses = refused.map(({ id }) => id);
    logger.error(
      { responses },
      'ends of responses are missing from usage: the database refuses their values',
    );
  }

  async #sums(params: UsageQueryParams, { tenant }: AskedBy): Promise<[AskedPage, UsageSum[]]> {
    const { wired, keys, logger } = this.#options;
    const asked = askedPage(
      { ...params, api_key_ids: params.api_key_ids?.map(keys.storedOf) },
      { now: wired.clock.now() / 1_000, tenant },
    );
    try {
      if (!(await this.#isHere())) throw new ServiceError('usage_unavailable', elsewhere);
      const { sums, until } = await this.#database.sums(asked.query, tenant ?? '');
      const page = pageUntil(asked, until);
      return [page, sums.map((sum) => ({ ...sum, key: sum.key === null ? null : keys.idOf(sum.key) }))];
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (error instanceof TooManySums) throw tooManyGroups(error);
      logger.warn({ err: error }, 'usage not read');
      throw new ServiceError('usage_unavailable');
    }
  }

  async #isHere(): Promise<boolean> {
    const isHere = await this.#home.isHere();
    if (!isHere && !this.#isElsewhere) {
      this.#options.logger.warn(
        'another database has the usage of this service: let all apis be on one machine and have the same dataDir on its disk, or set usage.databaseUrl',
      );
    }
    this.#isElsewhere = !isHere;
    return isHere;
  }
}

function tooManyGroups({ most }: TooManySums): ServiceError {
  const message = `A bucket has more than ${most} groups: ask for fewer groups, for shorter buckets, or with more filters.`;
  return new ServiceError('invalid_value', message, { param: 'group_by' });
}

const elsewhere =
  'Another api has the usage of this service: usage.databaseUrl is not set, and the apis are not on one machine with the same dataDir.';

function usageOf({ status, usage, uncounted, ...end }: EndFact): UsageFact {
  return {
    id: end.id,
    tenant: end.tenant,
    key: end.key,
    model: end.model,
    tier: end.tier,
    label: end.label ?? '',
    outcome: outcomes.find((each) => each === status) ?? 'failed',
    startedAt: end.startedAt,
    endedAt: end.endedAt,
    spend: end.spend,
    tokens: { ...usage, ...(uncounted !== undefined && { uncounted }) },
  };
}

const outcomes = ['completed', 'failed', 'incomplete', 'cancelled'] as const;
