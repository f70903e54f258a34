import type { Provider } from '@sluice/providers';

/** An upstream of a model, and the name it knows the model by. */
export interface ModelRoute {
  provider: Provider;
  model: string;
}

/** The upstream for an attempt at a model; undefined for a model that this worker does not serve. */
export type ChooseRoute = (model: string, attempt: number) => ModelRoute | undefined;

/**
 * Picks the upstream of an attempt: the routes of a model in order, one for each attempt, from the first again when
 * they are used up.
 */
export function inOrder(routes: ReadonlyMap<string, readonly ModelRoute[]>): ChooseRoute {
  return (model, attempt) => {
    const ofModel = routes.get(model);
    return ofModel?.[(attempt - 1) % ofModel.length];
  };
}
