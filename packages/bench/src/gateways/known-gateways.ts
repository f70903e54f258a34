import type { Gateway } from './gateway.ts';
import { litellm } from './litellm.ts';
import { portkey } from './portkey.ts';

const known: readonly Gateway[] = [portkey, litellm];

export const gatewayNames: readonly string[] = known.map(({ name }) => name);

/**
 * The gateways of these names.
 *
 * @throws {RangeError} for a name that is none.
 */
export function gatewaysOf(names: readonly string[]): readonly Gateway[] {
  return names.map((name) => {
    const found = known.find((gateway) => gateway.name === name);
    if (!found) throw new RangeError(`There is no gateway '${name}': use ${gatewayNames.join(', ')}.`);
    return found;
  });
}
