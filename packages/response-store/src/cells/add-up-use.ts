import type { TenantUseNow } from '@sluice/contract/admin';

/** Adds up what tenants use in several cells. Each list has the tenants in the same order. What is not limited is counted in no cell. */
export function addUpUse(cells: readonly TenantUseNow[][]): TenantUseNow[] {
  const [first = [], ...others] = cells;
  return first.map((use, at) => others.reduce((sum, cell) => addUse(sum, cell[at] ?? sum), use));
}

function addUse(one: TenantUseNow, other: TenantUseNow): TenantUseNow {
  const names = Object.keys(one) as (keyof TenantUseNow)[]; // an object of numbers under exactly these names
  const sum = { ...one };
  for (const name of names) {
    // A number or null of the same name, which is null where nothing is counted.
    if (one[name] !== null) Object.assign(sum, { [name]: one[name] + (other[name] ?? 0) });
  }
  return sum;
}
