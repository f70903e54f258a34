import { FatalError } from '@sluice/runtime';
import { TooManySums, type UsageAnswer, type UsageDatabase, type UsageQuery } from '@sluice/usage';
import type { AskedUsage } from './asked-usage.ts';
import { usageCsv, usageJson, usageTable } from './usage-rows.ts';

/** Most sums that are asked for at a time. The command has nothing else to do while it prints them, so it takes more than an api. */
const mostAtOnce = 20_000;

/** Prints usage as the database answers, span by span of time. What is much comes as several tables. */
export async function printUsage(
  database: Pick<UsageDatabase, 'sums'>,
  asked: AskedUsage,
  { form, print }: { form: 'table' | 'csv' | 'json'; print: (text: string) => void },
): Promise<void> {
  const { query } = asked;
  for (let from = query.from; from < query.until; ) {
    const { sums, until } = await answerTo({ ...query, from, most: mostAtOnce }, database);
    const isFirst = from === query.from;
    if (form === 'json') for (const sum of sums) print(usageJson(sum, asked));
    // A line of it ends with both.
    else if (form === 'csv') print(`${usageCsv(sums, asked, { hasTitles: isFirst })}\r`);
    else if (sums.length > 0) print(usageTable(sums, asked));
    else if (isFirst) print('Nothing has ended in that time.');
    from = until;
  }
}

async function answerTo(query: UsageQuery, database: Pick<UsageDatabase, 'sums'>): Promise<UsageAnswer> {
  try {
    return await database.sums(query, '');
  } catch (error) {
    if (!(error instanceof TooManySums)) throw error;
    throw new FatalError(
      `${error.message} Name fewer in --by, some by --tenant or --model, or a shorter time.`,
    );
  }
}
