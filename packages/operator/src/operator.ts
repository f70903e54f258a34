import type { ResponseIndex } from './index/response-index.ts';
import { ActStore, type ActStoreOptions } from './acts/act-store.ts';
import { BulkActs, type BulkActsOptions } from './acts/bulk-acts.ts';
import { Audit } from './audit/audit.ts';
import { AuditLog, type AuditLogOptions } from './audit/audit-log.ts';
import { KeyActs, type KeyChanging } from './keys/key-acts.ts';
import { keptPauses, type KeptPausesOptions } from './queues/kept-pauses.ts';
import { OperatorQueues, type OperatorQueuesOptions } from './queues/operator-queues.ts';
import {
  type ServiceReports,
  serviceReports,
  type ServiceReportsOptions,
} from './reports/service-reports.ts';
import { OperatorResponses, type OperatorResponsesOptions } from './responses/operator-responses.ts';
import { ResponseTails, type ResponseTailsOptions } from './responses/response-tails.ts';

/**
 * The view that operators have of a service, and their acts on it. Each act is written to the audit log before it is done.
 * Nothing here knows HTTP.
 */
export interface Operator {
  responses: OperatorResponses;
  queues: OperatorQueues;
  keys: KeyActs;
  /** Acts on many responses. */
  acts: BulkActs;
  audit: Audit;
  reports: ServiceReports;
  /** The responses of all tenants, as the journal tells of them. */
  index: ResponseIndex;
  /** Pauses queues again when the store was emptied, from now on. */
  start: () => void;
  /** Resolves when nothing runs any more. Twice is fine. */
  stop: () => Promise<void>;
}

export interface OperatorOptions
  extends Omit<OperatorResponsesOptions, 'audit' | 'acts' | 'tails' | 'matching'>,
    Omit<OperatorQueuesOptions, 'audit' | 'acts'>,
    Omit<ResponseTailsOptions, 'store' | 'most' | 'pollMs'>,
    Pick<BulkActsOptions, 'reportEveryMs'>,
    Pick<KeptPausesOptions, 'queue'>,
    ServiceReportsOptions {
  /** For the audit log, acts, statistics and the mark of the store. */
  connection: ActStoreOptions['connection'] &
    AuditLogOptions['connection'] &
    KeptPausesOptions['connection'] &
    ServiceReportsOptions['connection'];
  settings: OperatorResponsesOptions['settings'] & ServiceReportsOptions['settings'];
  live: OperatorResponsesOptions['live'] & ServiceReportsOptions['live'];
  store: OperatorResponsesOptions['store'] &
    OperatorQueuesOptions['store'] &
    ResponseTailsOptions['store'] &
    ServiceReportsOptions['store'];
  queue: OperatorQueuesOptions['queue'] & KeptPausesOptions['queue'] & ServiceReportsOptions['queue'];
  index: ResponseIndex;
  /** Finds the responses for an act on many; the index by default. */
  matching?: OperatorResponsesOptions['matching'] | undefined;
  keyChanges: KeyChanging;
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
  const pauses = keptPauses({ ...options, audit });
  const reports = serviceReports(options);
  return {
    responses: new OperatorResponses({ ...options, audit, acts, tails, matching }),
    queues: new OperatorQueues({ ...options, audit, acts }),
    keys: new KeyActs({ changes: options.keyChanges, audit }),
    acts,
    audit,
    reports,
    index,
    start: () => pauses.start(),
    async stop() {
      reports.overview.stop();
      await Promise.all([acts.stop(), pauses.stop(), index.stop()]);
    },
  };
}
