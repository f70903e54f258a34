import type { KeySettings, ModelSettings } from '@sluice/config';
import { type HostedToolsOfModels, ServiceError } from '@sluice/contract';

/** The models of the service, by the ids that clients send. */
export class ModelDirectory {
  readonly #models: () => readonly ModelSettings[];

  /** @param models read at each use: they change while the service runs. */
  constructor(models: () => readonly ModelSettings[]) {
    this.#models = models;
  }

  /** @throws {ServiceError} for a model that there is not, or that the key may not use. */
  find(id: string, key: KeySettings): ModelSettings {
    const model = this.#models().find((each) => each.id === id);
    if (!model) {
      throw new ServiceError('model_not_found', `The model '${shown(id)}' does not exist.`);
    }
    if (!key.models.includes('*') && !key.models.includes(id)) {
      throw new ServiceError('model_not_allowed', `This key may not use the model '${id}'.`);
    }
    return model;
  }
}

/** The tools that the upstreams of each model run. */
export function hostedToolsOf(models: readonly ModelSettings[]): HostedToolsOfModels {
  return Object.fromEntries(models.map(({ id, hostedTools = [] }) => [id, hostedTools]));
}

/** A client's own word in an error message, short and without line breaks. */
function shown(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return plain.length > 64 ? `${plain.slice(0, 64)}…` : plain;
}
