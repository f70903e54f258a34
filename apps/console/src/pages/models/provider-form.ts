import type { ProviderRow } from '@sluice/contract/admin';

/** The kinds of providers that may be stored, and their words. */
export const providerTypes = [
  { value: 'openai-chat', label: 'Chat completions (openai-chat)' },
  { value: 'openai-responses', label: 'Responses (openai-responses)' },
  { value: 'simulator', label: 'Simulator, which invents text' },
] as const;

/** The text of the form of a provider, as it is typed. */
export interface ProviderForm {
  id: string;
  type: string;
  /** A line for each server. */
  servers: string;
  apiKeyVariable: string;
  discover: boolean;
}

export type ProviderField = keyof ProviderForm;

export const emptyProvider: ProviderForm = {
  id: '',
  type: 'openai-chat',
  servers: '',
  apiKeyVariable: '',
  discover: false,
};

/** The form that a stored provider is changed with. */
export function providerFormOf({ id, type, servers, key_variable, discover }: ProviderRow): ProviderForm {
  return { id, type, servers: servers.join('\n'), apiKeyVariable: key_variable ?? '', discover };
}

/** A new provider in the names of the settings file. */
export function newProvider(form: ProviderForm): { id: string; type: string } & Record<string, unknown> {
  const { type, discover } = form;
  const id = form.id.trim();
  if (type === 'simulator') return { id, type };
  const members = serversIn(form.servers);
  const variable = form.apiKeyVariable.trim();
  return {
    id,
    type,
    ...Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)),
    ...(variable !== '' && { apiKeyVariable: variable }),
    ...(discover && { discover }),
  };
}

/** The members that a form changes; undefined when there are none. An emptied field is null, which takes the member away. */
export function providerChange(before: ProviderForm, now: ProviderForm): Record<string, unknown> | undefined {
  const change: Record<string, unknown> = {};
  if (now.servers.trim() !== before.servers.trim()) Object.assign(change, serversIn(now.servers));
  const variable = now.apiKeyVariable.trim();
  if (variable !== before.apiKeyVariable.trim()) change['apiKeyVariable'] = variable === '' ? null : variable;
  if (now.discover !== before.discover) change['discover'] = now.discover;
  return Object.keys(change).length === 0 ? undefined : change;
}

/** The field that a refusal is about, by its `param`, such as `replicas[1]`. */
export function providerFieldOf(param: string | null): ProviderField | undefined {
  const [first = ''] = (param ?? '').split(/[.[]/);
  if (first === 'baseUrl' || first === 'replicas') return 'servers';
  return Object.hasOwn(emptyProvider, first) ? (first as ProviderField) : undefined; // It has just been found there.
}

/** One server is the base URL, and several are replicas; null takes the other away. */
function serversIn(text: string): { baseUrl: string | null; replicas: string[] | null } {
  const lines = text.split('\n').map((line) => line.trim());
  const [first, ...more] = lines.filter((line) => line !== '');
  if (first === undefined) return { baseUrl: null, replicas: null };
  return more.length === 0
    ? { baseUrl: first, replicas: null }
    : { baseUrl: null, replicas: [first, ...more] };
}
