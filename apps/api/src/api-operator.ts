import { isLifecycleType, newRequestId } from '@sluice/contract';
import { makeOperator, type Operator, type OperatorOptions, ResponseIndex } from '@sluice/operator';
import {
  acceptedResponse,
  type Batch,
  type CallerStores,
  dropLongMembers,
  type LoggedEvent,
  type ResponseRecord,
  typeOf,
} from '@sluice/response-store';
import { type Logger, randomBytes } from '@sluice/runtime';
import type { LiveSettings, Tenants } from '@sluice/tenants';
import { shownDeliveries } from '@sluice/webhooks';
import { addressesOf, type ApiClients, type ConnectedSettings, type Wired } from '@sluice/wiring';
import type { BodyBudget } from './bodies/body-budget.ts';
import type { BodyThreads } from './bodies/body-threads.ts';
import { holdWhenThereIsRoom } from './plugins/caller.ts';
import { CallerPresence } from './responses/caller.ts';
import { dialects } from './responses/dialect.ts';
import { EventPresentation } from './responses/event-presentation.ts';
import { PendingRequest } from './responses/pending-request.ts';
import type { Responses } from './responses/responses.ts';

/** The parts of an api that its operator works with. */
export interface OperatedParts
  extends Wired<ApiClients, CallerStores>,
    Pick<OperatorOptions, 'memory' | 'redis' | 'models' | 'modelChanges' | 'providerChanges'> {
  settings: ConnectedSettings;
  live: LiveSettings;
  tenants: Tenants;
  responses: Responses;
  bodies: BodyThreads;
  bodyBudget: BodyBudget;
  /** How often the index compares itself with the store, in milliseconds; see `ResponseIndex`. */
  indexHealEveryMs?: number | undefined;
  /** Told of errors of the queue of webhooks: one each time that a connection is tried again. */
  onError: (error: unknown) => void;
  logger: Logger;
}

/** Makes the operator of an api. The steps that an api alone can take are here: it accepts responses, waits for them, and sends events. */
export function makeApiOperator(parts: OperatedParts, replaced: Partial<OperatorOptions> = {}): Operator {
  const { settings, clients, clock, telemetry, tenants, responses } = parts;
  const { indexHealEveryMs: healEveryMs } = parts;
  const index =
    replaced.index ??
    new ResponseIndex({
      redisUrl: () => addressesOf(parts.cells),
      keyPrefix: settings.keyPrefix,
      settings: settings.console,
      ...(healEveryMs !== undefined && { healEveryMs }),
      onError: (error) => telemetry.emit('index.ended', { error }),
    });
  const restart = () => void index.restart();
  parts.cells.follow({ join: restart, leave: restart });
  return makeOperator({
    ...parts,
    connection: clients.commands,
    index,
    endResponse: (responseId) => responses.endUntold(responseId),
    createAgain: (key, request) => createAgain(parts, key, request),
    positionOf: (queue, responseId) => responses.positionOf(queue, responseId),
    presentEvents,
    keys: tenants,
    tenantUse: (asked) => tenants.report(asked),
    onRetried: (retried) => telemetry.emit('response.repeated', retried),
    onQueueSwitched: (switched) => telemetry.emit('queue.paused', switched),
    deliveries: settings.webhooks.enabled
      ? shownDeliveries({
          connection: clients.commands,
          keyPrefix: parts.keyPrefix,
          now: () => clock.now(),
          onError: parts.onError,
        })
      : undefined,
    now: () => clock.now(),
    ...replaced,
  });
}

async function createAgain(
  { responses, bodies, bodyBudget }: OperatedParts,
  ...[key, { body, previousId, memory }]: Parameters<OperatorOptions['createAgain']>
): Promise<string> {
  const tenant = key.name;
  const presence = new CallerPresence();
  const prepared = await bodies.reader.prepare(body, { tenant, form: 'stored' });
  const created = await responses.create.inBackground(
    {
      key,
      requestId: newRequestId(randomBytes),
      presence,
      hold: (bytes, withinMs) => holdWhenThereIsRoom(bodyBudget, { tenant, bytes, presence, withinMs }),
      elapsedMs: () => 0,
    },
    {
      pending: new PendingRequest({ ...prepared, previousId }),
      idempotencyKey: undefined,
      reserve: (bytes) => memory.grow(bytes),
      onAccepted: () => undefined,
    },
  );
  if (created.kind === 'left') throw new Error('nobody can leave a retry');
  return created.answer.response.id;
}

/**
 * Makes events as a caller is sent them. Those of the life cycle repeat the request, without the long members of a large one:
 * nobody holds megabytes for a console.
 */
function presentEvents(record: ResponseRecord): (event: LoggedEvent, batch: Batch) => string {
  const presentation = new EventPresentation({
    dialect: dialects[0] ?? { mount: '/api/v1', object: 'create_response' },
    obfuscate: false,
    specificationNames: false,
  });
  if (record.largeRequestBytes > 0) dropLongMembers(record.request);
  const accepted = acceptedResponse(record);
  return (event, { end: ended }) => {
    const type = typeOf(event.json);
    if (!isLifecycleType(type)) return presentation.present(event).json;
    return presentation.lifecycle(accepted, { type, sequenceNumber: event.sequenceNumber }, ended).json;
  };
}
