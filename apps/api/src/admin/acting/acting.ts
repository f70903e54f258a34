import type { Settings } from '@sluice/config';
import type { ActStore, AuditLog } from '@sluice/operator-acts';
import type { FailedLogins, Logger } from '@sluice/runtime';
import type { KeyChanges } from '../keys/index.ts';
import { Audit } from './audit.ts';
import { BulkActs, type BulkActsOptions } from './bulk-acts.ts';
import { OperatorKeys } from './operator-keys.ts';
import { OperatorQueues, type OperatorQueuesOptions } from './operator-queues.ts';
import { operators, OperatorResponses, type OperatorResponsesOptions } from './operator-responses.ts';
import { RefusedTokens } from './refused-tokens.ts';
import { ResponseTails, type ResponseTailsOptions } from './response-tails.ts';

/** Everything with which the admin API changes something, or shows content. */
export interface Acting {
  audit: Audit;
  /** Counts wrong action tokens, and puts them into the audit log. */
  failedTokens: RefusedTokens;
  responses: OperatorResponses;
  tails: ResponseTails;
  acts: BulkActs;
  queues: OperatorQueues;
  keys: OperatorKeys;
  /** The store's clock, in milliseconds. */
  now: () => number;
}

export interface ActingOptions
  extends Omit<OperatorResponsesOptions, 'store' | 'queue'>,
    Pick<BulkActsOptions, 'now' | 'reportEveryMs'> {
  settings: Pick<Settings, 'models'>;
  store: OperatorResponsesOptions['store'] & ResponseTailsOptions['store'];
  queue: OperatorQueuesOptions['queues'];
  auditLog: AuditLog;
  actStore: ActStore;
  keyChanges: KeyChanges;
  /** The settings whose keys are in effect. */
  keySettings: () => Pick<Settings, 'keys' | 'tenants' | 'models' | 'file'>;
  failedTokens: FailedLogins;
  onQueueSwitched: OperatorQueuesOptions['onQueueSwitched'];
  tails?: Pick<ResponseTailsOptions, 'most' | 'pollMs'>;
  logger: Logger;
}

export function makeActing(options: ActingOptions): Acting {
  const { settings, store, queue, logger, failedTokens, keyChanges: changes, keySettings } = options;
  const audit = new Audit({ log: options.auditLog, logger });
  return {
    audit,
    failedTokens: new RefusedTokens({
      failed: failedTokens,
      write: (act, detail) => audit.noteRefusal(act, detail),
    }),
    responses: new OperatorResponses(options),
    tails: new ResponseTails({
      store,
      hold: async (bytes, signal) => {
        const reservation = options.bodyBudget.open(operators);
        await reservation.growInTurn(bytes, signal);
        return () => reservation.release();
      },
      ...options.tails,
    }),
    acts: new BulkActs({ ...options, store: options.actStore }),
    queues: new OperatorQueues({ settings, store, queues: queue, onQueueSwitched: options.onQueueSwitched }),
    keys: new OperatorKeys({ settings: keySettings, changes }),
    now: options.now,
  };
}
