import { readVariable } from '@sluice/config';
import { callerFlags, callerFlagsUsage, callerOf } from '../caller-flags.ts';
import { badUsage, parseFlags } from '../command-flags.ts';
import { serviceSources, type Surroundings } from '../service-sources.ts';
import { adminUrl } from '../service-url.ts';
import { ApiClient } from '../api-client.ts';
import type { ShownResponse } from './shown-response.ts';
import { findResponses, statuses } from './find-responses.ts';
import { printList, printResponse, tail } from './print-responses.ts';
import { findByRequest, printDetail } from './show-request.ts';

export const responsesUsage = `Usage: sluice responses <command> [flags]

  get ID       shows one response
  show ID      shows a response of any tenant, by its id or by the req_ id of its request; asks the admin listener
  list         lists your responses, newest first
  cancel ID    cancels a response that is queued or running
  tail ID      follows a response; one with stream: true as it is generated

  --json       prints one line of JSON for each response or event
  --limit N    list: how many responses to show, 1 to 100 [20]
  --status S   list: only those of a status, such as failed
  --after X    list: the id of the last response seen; tail: the number of the last event seen
  --url URL    the service [SLUICE_URL, PORT on this machine, the service that runs on it]; show: its admin listener [ADMIN_PORT]
  --key KEY    an API key [SLUICE_API_KEY, the development key of a service on this machine]

${callerFlagsUsage}`;

const flags = {
  json: { type: 'boolean' },
  limit: { type: 'string' },
  status: { type: 'string' },
  after: { type: 'string' },
  ...callerFlags,
} as const;

/** `sluice responses …`: shows, cancels and follows responses from a terminal, over the same API as any client. */
export async function runResponses(argv: readonly string[], { env, cwd }: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('responses', argv, flags);
  const [command, id, ...rest] = positionals;
  if (values.help || command === undefined) {
    console.log(responsesUsage);
    return;
  }
  if (rest.length > 0) throw badUsage('responses', `'${rest[0]}' is one argument too many`);
  const json = values.json ?? false;
  if (command === 'show') {
    const client = new ApiClient({
      url: values.url ?? adminUrl(serviceSources(values, { env, cwd })),
      path: '/admin/v1/responses',
      key: readVariable(env, 'ADMIN_TOKEN'),
      isDevelopmentKey: false,
    });
    return printDetail(await findByRequest(client, given(id)), json);
  }
  const client = await callerOf('responses', values, { env, cwd, path: '/v1/responses' });
  switch (command) {
    case 'get':
      return printResponse(await client.json<ShownResponse>('GET', `/${encoded(id)}`), json);
    case 'cancel':
      return printResponse(await client.json<ShownResponse>('POST', `/${encoded(id)}/cancel`), json);
    case 'list': {
      if (id !== undefined) throw badUsage('responses', "'list' takes no id");
      return printList(await findResponses(client, { ...values, status: statusIn(values.status) }), json);
    }
    case 'tail': {
      const query = new URLSearchParams({
        stream: 'true',
        ...(values.after && { starting_after: values.after }),
      });
      return tail(client.events(`/${encoded(id)}?${query.toString()}`), json);
    }
    default:
      throw badUsage('responses', `there is no command '${command}'`);
  }
}

function encoded(id: string | undefined): string {
  return encodeURIComponent(given(id));
}

function given(id: string | undefined): string {
  if (id === undefined) throw badUsage('responses', 'an id is missing');
  return id;
}

function statusIn(text: string | undefined): string | undefined {
  if (text === undefined || statuses.some((status) => status === text)) return text;
  throw badUsage('responses', `--status: must be one of ${statuses.join(', ')}`);
}
