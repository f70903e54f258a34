import { isLoopback, type Settings } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { describeConflict, stateOfKey, uniteKeys } from '@sluice/tenants';
import { orExplain } from '../keys/explain-refusal.ts';
import { openTenants } from '../keys/open-tenants.ts';
import { bad, type Finding, good, warn } from './finding.ts';

/** Most findings of one kind, so that a file that has changed does not fill the terminal. */
const mostNamed = 20;

/** Looks at the keys of the file and those that are stored, as an api puts them into effect. */
export async function checkKeys(settings: Settings & { redisUrl: string }): Promise<Finding[]> {
  const subject = 'keys';
  try {
    await using opened = await openTenants(settings);
    const { keys, unreadable, now } = await orExplain(opened.tenants.readStored());
    const { conflicts } = uniteKeys({ settings, stored: keys });
    const active = keys.filter((key) => stateOfKey(key, now) === 'active').length;
    const count = `${settings.keys.length} in the file, and ${active} stored that are active`;
    return [
      keys.length + settings.keys.length === 0 && !isLoopback(settings.server.host)
        ? bad(
            subject,
            `${count}: beyond loopback an api needs one, in the file or made by \`sluice keys create\``,
          )
        : good(subject, count),
      ...unreadable
        .slice(0, mostNamed)
        .map(({ id, problem }) => warn(subject, `${id} cannot be read and is refused: ${problem}`)),
      ...conflicts
        .slice(0, mostNamed)
        .map((conflict) => warn(subject, `${conflict.id}: ${describeConflict(conflict)}`)),
    ];
  } catch (error) {
    if (error instanceof FatalError) return [bad(subject, error.message)];
    throw error;
  }
}
