import { loadSettings, type Settings } from '@sluice/config';
import type { CellChange } from '../story/scenario.ts';
import { diskFolder } from '../world/simulated-disk.ts';
import {
  cellNames,
  crowdModel,
  crowdTenants,
  keyPrefix,
  type ModelName,
  models,
  mostInMinute,
  mostNarrow,
  mostShared,
  tenants,
} from './names.ts';

/** What differs from seed to seed. */
export interface ServiceChoices {
  /** Whether the journal and the statistics are kept, which nothing of a response depends on. */
  keepsRecords: boolean;
  /** Whether nobody is told of what no replica has. */
  isReplicated: boolean;
  /** How many cells the store has; 1 by default. */
  cells?: number;
  /** The change of the second one: one that is added is not among the addresses. */
  cellChange?: CellChange | undefined;
  /** Whether it has the tenants and the model of a crowd; false by default. */
  hasCrowd?: boolean | undefined;
  /** Whether tenants may have endpoints; false by default. */
  hasWebhooks?: boolean | undefined;
  /** Whether tenants may have batches; false by default. */
  hasBatches?: boolean | undefined;
  /** The only model that the process serves; all of them by default. */
  model?: ModelName | undefined;
}

/** The host of the store of a cell. */
export const hostOf = (cell: number) => `store-${cell}`;

/** The address of a cell, and those of the first so many. */
export const addressOf = (at: number) => `redis://${hostOf(at)}:6379?cell=${cellNames[at]}`;
export const addresses = (cells: number) => Array.from({ length: cells }, (_, at) => addressOf(at)).join(' ');

const known = new Map<string, Settings & { redisUrl: string }>();

/** The settings of every process: locks as short as they may be, so that a seed has many of them. */
export function serviceSettings(
  role: 'api' | 'worker',
  {
    keepsRecords,
    isReplicated,
    cells = 1,
    cellChange,
    hasCrowd = false,
    hasWebhooks = false,
    hasBatches = false,
    model,
  }: ServiceChoices,
): Settings & { redisUrl: string } {
  const redisUrl = addresses(cellChange === 'add' ? 1 : cells);
  const name = `${role} ${keepsRecords} ${isReplicated} ${redisUrl} ${hasCrowd} ${hasWebhooks} ${hasBatches} ${model}`;
  const before = known.get(name);
  if (before) return before;
  const usual: ModelName[] = hasCrowd
    ? [models.wide, models.narrow, crowdModel]
    : [models.wide, models.narrow];
  const served = model === undefined ? usual : [model];
  const settings = loadSettings({
    env: { REDIS_URL: redisUrl },
    argv: [],
    cwd: '/',
    role,
    readFile: () => `
keyPrefix: '${keyPrefix}'
logLevel: silent
providers: [{ id: upstream, type: simulator }]
models:
${served.map((each) => modelLines[each]).join('\n')}
keys:
  - { name: ${tenants.free}, key: sk-simulation-0123456789abcdef, limits: { ${budget} } }
  - { name: ${tenants.other}, key: sk-simulation-0f1e2d3c4b5a6978, limits: { cells: 2, ${budget} } }
  - { name: ${tenants.limited}, key: sk-simulation-fedcba9876543210, limits: { cells: 2, concurrent: 2, ${budget} } }
${hasCrowd ? crowd : ''}
recovery: { lockMs: 3000, stalledMs: 500, maxAttempts: ${maxAttempts} }
durability: ${isReplicated ? 'replica' : 'local'}
timeouts: { durabilityMs: 500, queueMs: ${queueMs}, backgroundQueueMs: ${queueMs}, totalMs: ${totalMs}, syncWaitMs: ${queueMs + totalMs} }
workerConcurrency: 8
drainTimeoutMs: ${drainMs}
console: { journal: ${keepsRecords}, statistics: ${keepsRecords} }
webhooks: { enabled: ${hasWebhooks} }
files: { enabled: ${hasBatches}, folder: ${diskFolder}/files }
usage: { enabled: ${role === 'worker'} }
`,
  });
  const complete = { ...settings, redisUrl };
  known.set(name, complete);
  return complete;
}

const modelLines: Readonly<Record<ModelName, string>> = {
  [models.wide]: `  - { id: ${models.wide}, routes: [{ provider: upstream }], price: { input: 2.5, cachedInput: 0.5, output: 10 } }`,
  [models.narrow]: `  - { id: ${models.narrow}, routes: [{ provider: upstream }], concurrency: ${mostNarrow} }`,
  [crowdModel]: `  - { id: ${crowdModel}, routes: [{ provider: upstream }], concurrency: ${mostShared} }`,
};

/** Budgets that nobody comes near: they are counted, and `check-budgets.ts` holds them against what responses took. */
const budget = 'tokensPerMonth: 1000000000, spendPerMonth: 1000000';

const crowd = `
  - { name: ${crowdTenants.heavy}, key: sk-simulation-1032547698badcfe, weight: 3, limits: { ${budget} } }
  - { name: ${crowdTenants.spread}, key: sk-simulation-2301674589efcdab, limits: { cells: 3, ${budget} } }
  - { name: ${crowdTenants.hurried}, key: sk-simulation-3210765498fedcba, limits: { cells: 3, requestsPerMinute: ${mostInMinute}, ${budget} } }
`;

/** How long a process that was told to stop may take, in milliseconds. */
export const drainMs = 5_000;

/** Most generations of a response. */
export const maxAttempts = 2;

/** How long a response may wait, and how long it may run, in milliseconds. */
export const queueMs = 60_000;
export const totalMs = 20_000;
