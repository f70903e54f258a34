import { changeOfTenant, storedKeyText, type TenantChange } from '@sluice/config';
import type { KeyChanger } from './change-keys.ts';
import { KeyRefusal } from './key-refusal.ts';

export interface ChangedTenant {
  /** How many keys were changed; 0 when all of them had said so before. */
  keys: number;
  /** Whether they are stored as safely as the settings ask for. */
  isSafe: boolean;
}

/**
 * Changes the weight and the limits of a tenant in all of its stored keys, in one step. Expired keys are changed, too,
 * because they still say what they said of their tenant.
 *
 * @throws {KeyRefusal} with every problem when the change makes no sense or is the file's to make, or when no stored key
 *   is of the tenant.
 */
export async function changeTenant(
  { settings, change }: KeyChanger,
  wanted: TenantChange,
): Promise<ChangedTenant> {
  const { name } = wanted;
  const checked = changeOfTenant(wanted, settings);
  let changed = 0;
  const isSafe = await change(({ keys }) => {
    const live = keys.filter((key) => key.name === name && key.revokedAt === undefined);
    if (live.length === 0) {
      const isInFile = settings.keys.some((key) => key.name === name);
      throw new KeyRefusal(name, { kind: 'no_keys', isInFile, file: settings.file });
    }
    if ('problems' in checked) throw new KeyRefusal(name, { kind: 'rules', problems: checked.problems });
    const after = live.map((key) => checked.apply(key));
    const different = after.filter((key, at) => storedKeyText(key) !== storedKeyText(live[at] ?? key));
    changed = different.length;
    return different;
  });
  return { keys: changed, isSafe };
}
