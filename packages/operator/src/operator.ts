import type { Settings } from '@sluice/config';
import type { ResponseQueues } from '@sluice/queue';
import { type CallerStores, type Cells, PartsOfCells } from '@sluice/response-store';
import type { LiveSettings, Tenants } from '@sluice/tenants';
import type { Redis } from 'ioredis';
import { ActStore } from './acts/act-store.ts';
import { BulkActs, type BulkActsOptions } from './acts/bulk-acts.ts';
import { Audit } from './audit/audit.ts';
import { AuditLog } from './audit/audit-log.ts';
import type { ResponseIndex } from './index/response-index.ts';
import { CellActs, type CellActsOptions } from './cells/cell-acts.ts';
import type { ShownCell } from './cells/cell-rows.ts';
import { KeyActs } from './keys/key-acts.ts';
import { StoredKeyChanges } from './keys/stored-key-changes.ts';
import { ModelActs, type ModelActsOptions } from './models/model-acts.ts';
import { ProviderActs, type ProviderActsOptions } from './models/provider-acts.ts';
import { JoinedPauses } from './queues/joined-pauses.ts';
import { keptPauses } from './queues/kept-pauses.ts';
import { OperatorQueues, type OperatorQueuesOptions } from './queues/operator-queues.ts';
import {
  type ServiceReports,
  serviceReports,
  type ServiceReportsOptions,
} from './reports/service-reports.ts';
import { OperatorResponses, type OperatorResponsesOptions } from './responses/operator-responses.ts';
import { ResponseTails, type ResponseTailsOptions } from './responses/response-tails.ts';
import { WebhookActs, type WebhookActsOptions } from './webhooks/webhook-acts.ts';

/**
 * The view that operators have of a service, and their acts on it. Each act is written to the audit log before it is done.
 * Nothing here knows HTTP.
 */
export interface Operator {
  responses: OperatorResponses;
  queues: OperatorQueues;
  keys: KeyActs;
  models: ModelActs;
  providers: ProviderActs;
  cells: CellActs;
  webhooks: WebhookActs;
  /** Acts on many responses. */
  acts: BulkActs;
  audit: Audit;
  reports: ServiceReports;
  /** The responses of all tenants, as the journal tells of them. */
  index: ResponseIndex;
  /** Pauses queues again when the store was emptied, and as the first cell has them in those that join, from now on. */
  start: () => void;
  /** Resolves when nothing runs any more. Twice is fine. */
  stop: () => Promise<void>;
}

export interface OperatorOptions
  extends Pick<OperatorResponsesOptions, 'endResponse' | 'createAgain' | 'onRetried' | 'positionOf'>,
    Pick<ResponseTailsOptions, 'presentEvents' | 'bodyBudget'>,
    Pick<ServiceReportsOptions, 'keys' | 'tenantUse' | 'memory' | 'redis' | 'sources'>,
    Pick<OperatorQueuesOptions, 'onQueueSwitched'>,
    Pick<ModelActsOptions, 'modelChanges'>,
    Pick<ProviderActsOptions, 'providerChanges'>,
    Pick<CellActsOptions, 'cellChanges' | 'states' | 'known' | 'storedCells' | 'cellProcesses'>,
    Pick<WebhookActsOptions, 'deliveries'>,
    Pick<BulkActsOptions, 'now' | 'logger' | 'reportEveryMs'> {
  settings: Pick<Settings, 'models' | 'console'>;
  models: ModelActsOptions['models'] & ProviderActsOptions['models'] & ServiceReportsOptions['models'];
  live: LiveSettings;
  /** For the audit log, acts, statistics and the mark of the store. */
  connection: Redis;
  /** Starts every key of the cell. */
  keyPrefix: string;
  store: CallerStores;
  /** The cells of the store, of which each keeps by itself which queues are paused. */
  cells: Cells<ShownCell & { keyPrefix: string; clients: { commands: Redis }; queue: ResponseQueues }>;
  queue: ResponseQueues;
  index: ResponseIndex;
  tenants: Tenants;
  /** Finds the responses for an act on many; the index by default. */
  matching?: OperatorResponsesOptions['matching'] | undefined;
  tails?: Pick<ResponseTailsOptions, 'most' | 'pollMs'>;
  /** How long a silent act counts as alive, in milliseconds; see `ActStore`. */
  leaseMs?: number | undefined;
}

export function makeOperator(options: OperatorOptions): Operator {
  const { connection, keyPrefix, index, matching = index, leaseMs, logger } = options;
  const audit = new Audit({ log: new AuditLog({ connection, keyPrefix }), logger });
  const acts = new BulkActs({
    ...options,
    store: new ActStore({ connection, keyPrefix, ...(leaseMs !== undefined && { leaseMs }) }),
    audit,
  });
  const tails = new ResponseTails({ ...options, ...options.tails });
  const pauses = new PartsOfCells(options.cells, ({ keyPrefix: ofCell, clients: { commands }, queue }) =>
    keptPauses({ ...options, connection: commands, keyPrefix: ofCell, queue, audit }),
  );
  const joinedPauses = new PartsOfCells(
    options.cells,
    ({ name, queue: own }) =>
      new JoinedPauses({
        first: options.cells.first.queue,
        own,
        state: () => options.states.of(name),
        logger,
      }),
  );
  const reports = serviceReports(options);
  const queues = new OperatorQueues({ ...options, audit, acts });
  return {
    responses: new OperatorResponses({ ...options, audit, acts, tails, matching }),
    queues,
    models: new ModelActs({ ...options, queues, acts, audit }),
    providers: new ProviderActs({ ...options, audit }),
    cells: new CellActs({ ...options, audit }),
    webhooks: new WebhookActs({ ...options, audit }),
    keys: new KeyActs({ changes: new StoredKeyChanges(options.tenants), audit }),
    acts,
    audit,
    reports,
    index,
    start: () => {
      pauses.start();
      joinedPauses.start();
    },
    async stop() {
      reports.overview.stop();
      await Promise.all([acts.stop(), index.stop(), pauses.stop(), joinedPauses.stop()]);
    },
  };
}
