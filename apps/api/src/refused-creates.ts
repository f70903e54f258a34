import type { Telemetry } from '@sluice/runtime';
import { asServiceError } from './plugins/error-handler.ts';

/** The tenant whose request was refused, and the model; empty when that was not known yet. */
export interface RefusedCreate {
  tenant: string;
  model: string;
}

/** Says that a request to create a response was refused, if it was for want of room or time: with 429 or 503. */
export function tellRefusal(telemetry: Pick<Telemetry, 'emit'>, about: RefusedCreate, error: unknown): void {
  const known = asServiceError(error);
  if (known?.status !== 429 && known?.status !== 503) return;
  telemetry.emit('response.refused', { ...about, code: known.code });
}

/** The same for a step that may be refused. What it resolves or rejects with is passed on. */
export async function tellingRefusal<Result>(
  telemetry: Pick<Telemetry, 'emit'>,
  about: RefusedCreate,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    tellRefusal(telemetry, about, error);
    throw error;
  }
}
