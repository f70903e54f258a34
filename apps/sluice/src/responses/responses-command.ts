import { type Environment, findDevelopmentKey, readVariable, type SettingsSources } from '@sluice/config';
import { badUsage, parseFlags } from '../command-flags.ts';
import { adminUrl, serviceUrl } from '../service-url.ts';
import { ApiClient, type ShownResponse } from './api-client.ts';
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

The service on this machine, and its development key, are looked up with its settings:

  --config FILE    its file of settings [SLUICE_CONFIG, ./sluice.yaml]
  --data-dir DIR   its data folder [DATA_DIR, the one of its file, ./.data]`;

const flags = {
  json: { type: 'boolean' },
  limit: { type: 'string' },
  status: { type: 'string' },
  after: { type: 'string' },
  url: { type: 'string' },
  key: { type: 'string' },
  config: { type: 'string' },
  'data-dir': { type: 'string' },
} as const;

/** `sluice responses …`: shows, cancels and follows responses from a terminal, over the same API as any client. */
export async function runResponses(
  argv: readonly string[],
  { env, cwd }: { env: Environment; cwd: string },
): Promise<void> {
  const { values, positionals } = parseFlags('responses', argv, flags);
  const [command, id, ...rest] = positionals;
  if (values.help || command === undefined) {
    console.log(responsesUsage);
    return;
  }
  if (rest.length > 0) throw badUsage('responses', `'${rest[0]}' is one argument too many`);
  const json = values.json ?? false;
  const sources = { env, cwd, argv: sourceFlags(values) };
  if (command === 'show') {
    const client = new ApiClient({
      url: values.url ?? adminUrl(sources),
      path: '/admin/v1/responses',
      key: readVariable(env, 'ADMIN_TOKEN'),
      isDevelopmentKey: false,
    });
    return printDetail(await findByRequest(client, given(id)), json);
  }
  const client = new ApiClient({
    url: values.url ?? serviceUrl(sources),
    path: '/v1/responses',
    ...(await keyFor(values.key, sources)),
  });
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

function sourceFlags({ config, 'data-dir': dataDir }: { config?: string; 'data-dir'?: string }): string[] {
  return [
    ...(config === undefined ? [] : [`--config=${config}`]),
    ...(dataDir === undefined ? [] : [`--data-dir=${dataDir}`]),
  ];
}

async function keyFor(
  flag: string | undefined,
  sources: SettingsSources,
): Promise<{ key: string; isDevelopmentKey: boolean }> {
  const named = flag ?? readVariable(sources.env, 'SLUICE_API_KEY');
  if (named !== undefined) return { key: named, isDevelopmentKey: false };
  const key = await findDevelopmentKey(sources);
  if (key === undefined)
    throw badUsage('responses', 'an API key is missing: set SLUICE_API_KEY or give --key');
  return { key, isDevelopmentKey: true };
}
