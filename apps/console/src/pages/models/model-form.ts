import type { ModelRow } from '@sluice/contract/admin';

/** What is typed in the form of a model, as it is. */
export interface ModelForm {
  id: string;
  /** A line for each route: a provider, and behind a colon the name of the model there. */
  routes: string;
  queue: string;
  concurrency: string;
}

export type ModelField = keyof ModelForm;

export const emptyForm: ModelForm = { id: '', routes: '', queue: '', concurrency: '' };

/** The form that a stored model is changed with. */
export function modelFormOf({ id, routes, queue, concurrency }: ModelRow): ModelForm {
  return {
    id,
    routes: routes
      .map(({ provider, model }) => (model === id ? provider : `${provider}: ${model}`))
      .join('\n'),
    queue: queue === id ? '' : queue,
    concurrency: concurrency === null ? '' : String(concurrency),
  };
}

/** A new model in the names of the settings file. What cannot be read as a number is left for the service to refuse. */
export function newModel(form: ModelForm): { id: string } & Record<string, unknown> {
  return {
    id: form.id.trim(),
    routes: routesIn(form.routes),
    ...(form.queue.trim() !== '' && { queue: form.queue.trim() }),
    ...(form.concurrency.trim() !== '' && { concurrency: numberOr(form.concurrency) }),
  };
}

/** What a form changes of a model; undefined when nothing. What was emptied is null, which takes it away. */
export function modelChange(before: ModelForm, now: ModelForm): Record<string, unknown> | undefined {
  const change: Record<string, unknown> = {};
  if (now.routes.trim() !== before.routes.trim()) change['routes'] = routesIn(now.routes);
  if (now.queue.trim() !== before.queue.trim())
    change['queue'] = now.queue.trim() === '' ? null : now.queue.trim();
  if (now.concurrency.trim() !== before.concurrency.trim()) {
    change['concurrency'] = now.concurrency.trim() === '' ? null : numberOr(now.concurrency);
  }
  return Object.keys(change).length === 0 ? undefined : change;
}

/** The field that a refusal is about, by its `param`, such as `routes[0].provider`. */
export function fieldOfParam(param: string | null): ModelField | undefined {
  const [first = ''] = (param ?? '').split(/[.[]/);
  return Object.hasOwn(emptyForm, first) ? (first as ModelField) : undefined; // It has just been found there.
}

function routesIn(text: string): { provider: string; model?: string }[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const at = line.indexOf(':');
      if (at === -1) return { provider: line };
      return { provider: line.slice(0, at).trim(), model: line.slice(at + 1).trim() };
    });
}

function numberOr(text: string): number | string {
  const number = Number(text.trim());
  return Number.isFinite(number) ? number : text.trim();
}
