/** The schemas that a schema applies to the very value that it is applied to itself. */
export type InPlaceSchemas = ReadonlyMap<object, readonly object[]>;

export const inPlaceLimits = {
  /** Most schemas that one value may have to satisfy, with all that they refer to. */
  schemas: 10_000,
  /** Longest way from a schema to one that it applies in its place. */
  steps: 64,
} as const;

/**
 * Says why applying the schemas to a single value could cost too much; undefined if it cannot.
 *
 * A schema may refer to itself through members and elements, because a value ends somewhere. In place it may not; and
 * references that double at each step are counted out. Each schema is looked at once.
 */
export function inPlaceProblem(schemas: InPlaceSchemas): string | undefined {
  const known = new Map<object, { schemas: number; steps: number } | 'open'>();
  const measure = (schema: object, depth: number): { schemas: number; steps: number } => {
    const found = known.get(schema);
    if (found === 'open')
      throw new InPlaceProblem('refers to itself without going into a member or an element');
    if (found) return found;
    if (depth > inPlaceLimits.steps) throw tooLong();
    known.set(schema, 'open');
    const cost = { schemas: 1, steps: 0 };
    for (const part of schemas.get(schema) ?? []) {
      const ofPart = measure(part, depth + 1);
      cost.schemas += ofPart.schemas;
      cost.steps = Math.max(cost.steps, ofPart.steps + 1);
    }
    if (cost.steps > inPlaceLimits.steps) throw tooLong();
    if (cost.schemas > inPlaceLimits.schemas) {
      throw new InPlaceProblem(`applies more than ${inPlaceLimits.schemas} schemas to one value`);
    }
    known.set(schema, cost);
    return cost;
  };
  try {
    for (const schema of schemas.keys()) measure(schema, 0);
  } catch (error) {
    if (error instanceof InPlaceProblem) return error.message;
    throw error;
  }
  return undefined;
}

class InPlaceProblem extends Error {}

function tooLong(): InPlaceProblem {
  return new InPlaceProblem(`refers from one schema to the next more than ${inPlaceLimits.steps} times`);
}
