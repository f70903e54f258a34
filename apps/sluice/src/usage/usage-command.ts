import { existsSync } from 'node:fs';
import type { Settings } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { dimensions, openUsage, type UsageDatabase, usageFile } from '@sluice/usage';
import { badUsage, parseFlags } from '../command-flags.ts';
import { serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import { loadServiceSettings, type Surroundings } from '../service-sources.ts';
import { askedUsage } from './asked-usage.ts';
import { printUsage } from './print-usage.ts';

export const usageUsage = `Usage: sluice usage [flags]

Shows what responses took, by the time of their ends: how many there were, their tokens, how long they held slots of workers, and what they
cost in usage.currency by the prices of their models.

  --since TIME    from when on: a date, a time, or an age such as 24h or 30d [7d]
  --until TIME    until when [now]
  --each PERIOD   hour, day or all: what is summed up together [all]
  --by NAMES      ${dimensions.join(', ')}: by what, separated by commas [tenant,model]
  --tenant NAME   only those of a tenant (may be repeated)
  --model NAME    only those of a model (may be repeated)
  --csv, --json   prints CSV, or one line of JSON for each row
${serviceFlagsUsage}

Hours and days are those of UTC, and whole. Usage is counted while usage.enabled is set, in usage.databaseUrl or the data folder of the apis: this command reads it there.`;

/** `sluice usage`: what was counted, from the database itself, whether an api runs or not. */
export async function runUsage(argv: readonly string[], surroundings: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('usage', argv, {
    since: { type: 'string' },
    until: { type: 'string' },
    each: { type: 'string' },
    by: { type: 'string' },
    tenant: { type: 'string', multiple: true },
    model: { type: 'string', multiple: true },
    csv: { type: 'boolean' },
    json: { type: 'boolean' },
    ...serviceFlags,
  });
  if (values.help) return console.log(usageUsage);
  if (positionals.length > 0) throw badUsage('usage', `'${positionals[0]}' is one argument too many`);
  if (values.csv && values.json) throw badUsage('usage', '--csv and --json exclude each other');
  const asked = askedUsage(values, Date.now());
  const neededSecrets = ['usage.databaseUrl'];
  const database = open(loadServiceSettings(values, surroundings, { neededSecrets }));
  try {
    const form = values.json ? 'json' : values.csv ? 'csv' : 'table';
    await printUsage(database, asked, { form, print: (text) => console.log(text) });
  } catch (error) {
    throw new FatalError(error instanceof Error ? error.message : 'usage cannot be read');
  } finally {
    await database.close();
  }
}

function open(settings: Pick<Settings, 'dataDir' | 'usage'>): UsageDatabase {
  const path = usageFile(settings.dataDir);
  // Opening it would make an empty one.
  if (settings.usage.databaseUrl === undefined && !existsSync(path)) {
    throw new FatalError(
      `There is no usage at ${path}: set usage.enabled, or name the data folder of the apis with --data-dir.`,
    );
  }
  return openUsage(settings, () => undefined); // A call says when it fails.
}
