import { isLifecycleType, newRequestId } from '@sluice/contract';
import type { OperatorOptions } from '@sluice/operator';
import {
  acceptedResponse,
  type Batch,
  letGoOfLongMembers,
  type LoggedEvent,
  type ResponseRecord,
  typeOf,
} from '@sluice/response-store';
import { randomBytes } from '@sluice/runtime';
import type { BodyBudget } from './bodies/body-budget.ts';
import type { JsonReader } from './bodies/json-reader.ts';
import { holdWhenThereIsRoom } from './plugins/caller.ts';
import { CallerPresence } from './responses/caller.ts';
import { dialects } from './responses/dialect.ts';
import { EventPresentation } from './responses/event-presentation.ts';
import { PendingRequest } from './responses/pending-request.ts';
import type { Responses } from './responses/responses.ts';

export interface OperatorPortsOptions {
  responses: Pick<Responses, 'create' | 'endForOperator' | 'positionOf'>;
  json: Pick<JsonReader, 'prepare'>;
  bodyBudget: BodyBudget;
}

/** The steps of an operator's acts that an api takes, because it accepts responses, waits for them and sends their events. */
export function operatorPorts({
  responses,
  json,
  bodyBudget,
}: OperatorPortsOptions): Pick<
  OperatorOptions,
  'bodyBudget' | 'createAgain' | 'endResponse' | 'positionOf' | 'presentEvents'
> {
  return {
    bodyBudget,
    endResponse: (responseId) => responses.endForOperator(responseId),
    positionOf: (queue, responseId) => responses.positionOf(queue, responseId),
    presentEvents,
    async createAgain(key, { body, previousId, memory }) {
      const tenant = key.name;
      const presence = new CallerPresence();
      const prepared = await json.prepare(body, { tenant, form: 'stored' });
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
    },
  };
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
  if (record.largeRequestBytes > 0) letGoOfLongMembers(record.request);
  const accepted = acceptedResponse(record);
  return (event, { end: ended }) => {
    const type = typeOf(event.json);
    if (!isLifecycleType(type)) return presentation.present(event).json;
    return presentation.lifecycle(accepted, { type, sequenceNumber: event.sequenceNumber }, ended).json;
  };
}
