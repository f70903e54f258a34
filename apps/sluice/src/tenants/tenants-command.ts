import { suggestName } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { nameToList, parseFlags } from '../command-flags.ts';
import { orExplain } from '../keys/explain-refusal.ts';
import { openTenants } from '../keys/open-tenants.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import type { Surroundings } from '../service-sources.ts';
import { tenantsTable } from './tenants-table.ts';

export const tenantsUsage = `Usage: sluice tenants [list] [NAME] [flags]

Shows the limits of each tenant and their use, each as used/limit: requests and tokens of the current minute, responses that
run, that wait in line for \`concurrent\`, and that wait in all, and stored bytes. '-' stands for no limit and no count. NAME
shows one tenant; \`list NAME\` also one that is called 'list'.

  --json          prints one line of JSON for each tenant, with the members that GET /admin/v1/tenants has, too
${serviceFlagsUsage}

The tenants are those of the keys in the settings file and in Redis that are not revoked. The command reaches Redis by REDIS_URL, by
the settings file, or as the service does that runs with the data folder, and changes nothing.`;

/** `sluice tenants`: limits and use of each tenant. Needs the Redis of the service, and no running process. */
export async function runTenants(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('tenants', argv, {
    json: { type: 'boolean' },
    ...serviceFlags,
  });
  if (values.help) {
    console.log(tenantsUsage);
    return;
  }
  const name = nameToList('tenants', positionals);
  await using opened = await openTenants(loadWithRedis(values, place));
  const { tenants } = await orExplain(opened.tenants.read());
  const asked = name === undefined ? tenants : tenants.filter((tenant) => tenant.name === name);
  if (name !== undefined && asked.length === 0) {
    const names = tenants.map((tenant) => tenant.name);
    throw new FatalError(`There is no tenant '${name}' with a key: ${suggestName(name, names)}`);
  }
  const report = await orExplain(opened.tenants.report(asked));
  if (values.json === true) for (const tenant of report.tenants) console.log(JSON.stringify(tenant));
  else if (asked.length > 0) console.log(tenantsTable(report.tenants));
  else
    console.log(
      "No tenants: there is no key in the settings file or in Redis; 'sluice keys create' makes one.",
    );
}
