import type { UsageDatabase, UsageFact } from './usage-database.ts';

/** By the classes of SQLSTATE: values that no column takes, such as a sum that is too large, and rows that are too long. */
const ofData = /^(22|54)/;

/**
 * Records facts, and returns those that the database refuses for what they say: the others would wait for them for ever.
 *
 * Rejects as `record` does for every other reason. Some of the facts may have been recorded then.
 */
export async function recordEach(
  database: Pick<UsageDatabase, 'record'>,
  facts: readonly UsageFact[],
): Promise<UsageFact[]> {
  try {
    await database.record(facts);
    return [];
  } catch (error) {
    if (!isOfData(error)) throw error;
    if (facts.length <= 1) return [...facts];
  }
  const refused: UsageFact[] = [];
  for (const fact of facts) refused.push(...(await recordEach(database, [fact])));
  return refused;
}

function isOfData(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ofData.test(String(error.code));
}
