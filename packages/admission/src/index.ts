export { admissionKeys, type AdmissionKeys } from './admission-keys.ts';
export {
  isRefusal,
  parseSpent,
  parseUse,
  printLimits,
  type AdmissionLimits,
  type ExpectedTokens,
  type Refusal,
  type SpentBudget,
  type WindowUse,
} from './limits.ts';
export { costOf } from './fairness.ts';
export { TenantQueues } from './tenant-queues.ts';
export { ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';
export { parseWeight, weightOf, type Waiting } from './waiting.ts';

const file = (name: string) => new URL(`../src/${name}.lua`, import.meta.url);

/** The Lua of admission that an accept needs: `enter`, `take_turn`, `lift_limit`, `take_tag`, `change_held` and `look_at_budgets`. */
export const enterFragments: readonly URL[] = [
  'rate-window',
  'fair-queue',
  'places',
  'held-bytes',
  'budgets',
  'enter',
].map(file);

/** The Lua that counts the bytes of a tenant in the store. */
export const heldFragments: readonly URL[] = ['held-bytes'].map(file);

/** All of it, with `start` and `finish` and the lines of tenants, for the other scripts of the response store. */
export const admissionFragments: readonly URL[] = [...enterFragments, ...['lines', 'leave'].map(file)];
