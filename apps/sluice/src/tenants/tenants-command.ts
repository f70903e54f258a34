import { reportTenants } from '@sluice/api/tenant-report';
import { type Environment, limitsInEffect, suggestName, tenantsOf, uniteKeys } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { badUsage, parseFlags } from '../command-flags.ts';
import { openKeyOperator } from '../keys/key-operator.ts';
import { settingsInEffect } from '../keys/settings-in-effect.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import { tenantsTable } from './tenants-table.ts';

export const tenantsUsage = `Usage: sluice tenants [NAME] [flags]

Shows what each tenant may do, and what it uses of that now: requests and tokens of the current minute, what runs, what
stands in line for \`concurrent\`, what waits in all, and what is stored, each as used/limit. '-' is where there is no limit,
so that nobody counts. NAME shows one tenant.

  --json          prints one line of JSON for each tenant, with the members that GET /admin/v1/tenants has, too
${serviceFlagsUsage}

The tenants are those of the keys in the settings file and in Redis that are not revoked. The command reaches Redis by REDIS_URL, by
the settings file, or as the service does that runs with the data folder, and changes nothing.`;

/** `sluice tenants`: limits and use of each tenant. Needs the Redis of the service, and no running process. */
export async function runTenants(
  argv: readonly string[],
  place: { env: Environment; cwd: string },
): Promise<void> {
  const { values, positionals } = parseFlags('tenants', argv, {
    json: { type: 'boolean' },
    ...serviceFlags,
  });
  if (values.help) {
    console.log(tenantsUsage);
    return;
  }
  const [name, more] = positionals;
  if (more !== undefined) throw badUsage('tenants', `'${more}' is one argument too many`);
  await using operator = await openKeyOperator(loadWithRedis(values, place));
  const { keys: stored, now } = await operator.read();
  const settings = await settingsInEffect(operator.settings, stored);
  const tenants = tenantsOf(uniteKeys({ settings, stored }).keys, now);
  const asked = name === undefined ? tenants : tenants.filter((tenant) => tenant.name === name);
  if (name !== undefined && asked.length === 0) {
    const names = tenants.map((tenant) => tenant.name);
    throw new FatalError(`There is no tenant '${name}' with a key: ${suggestName(name, names)}`);
  }
  const redisBytes = await operator.redisBytes();
  const report = await reportTenants(operator, asked, (own) =>
    limitsInEffect(own, settings.limits, redisBytes),
  );
  if (values.json === true) for (const tenant of report.tenants) console.log(JSON.stringify(tenant));
  else if (asked.length > 0) console.log(tenantsTable(report.tenants));
  else
    console.log(
      "No tenants: there is no key in the settings file or in Redis; 'sluice keys create' makes one.",
    );
}
