import type { Provider } from '@sluice/providers';

/** An upstream and the name it knows the model by. */
export interface Route {
  provider: Provider;
  model: string;
}

/**
 * Picks the upstream of an attempt: the routes of a model in order, one for each attempt, from the first again
 * when they are used up.
 */
export function routeTable(routes: ReadonlyMap<string, readonly Route[]>) {
  return (model: string, attempt: number): Route | undefined => {
    const ofModel = routes.get(model);
    return ofModel?.[(attempt - 1) % ofModel.length];
  };
}
