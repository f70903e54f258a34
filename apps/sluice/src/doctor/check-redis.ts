import type { Settings } from '@sluice/config';
import { redisKeys } from '@sluice/response-store';
import {
  closeRedis,
  commandClient,
  createLogger,
  FatalError,
  inspectRedis,
  maskRedisUrl,
  parseRedisAddress,
  parseRedisCells,
  type RedisCell,
  type RedisFacts,
  redisProblems,
  requireRedis,
  waitForRedis,
} from '@sluice/runtime';
import { StoredCells } from '@sluice/wiring';
import { bad, type Finding, good, warn } from './finding.ts';

type Redis = ReturnType<typeof commandClient>;

/** Answers that are timed. */
const pings = 20;
/** A response makes some six round trips, so more than this is felt, in milliseconds. */
const slowPingMs = 5;
/** How long the first cell has to tell which were added, in milliseconds. */
const addedWithinMs = 2_000;

/** The share of its memory at which Redis is nearly full: it refuses writes when it is. */
const nearlyFull = 0.8;

/** Looks at the Redis of these settings as a starting process does, and at how fast and how full it is. */
export async function checkRedis({
  redisUrl,
  durability,
  keyPrefix,
}: Pick<Settings, 'redisUrl' | 'durability' | 'keyPrefix'>): Promise<Finding[]> {
  const subject = 'Redis';
  if (redisUrl === undefined) {
    return [
      good(
        subject,
        'REDIS_URL is not set and no service runs here: `sluice start` brings a store of its own',
      ),
    ];
  }
  const configured = parseRedisCells(redisUrl);
  const cells = [...configured, ...(await addedCells(configured, keyPrefix))];
  const found = await Promise.all(cells.map((cell) => checkCell(cell, { durability, keyPrefix })));
  if (cells.length === 1) return found.flatMap(({ findings }) => findings);
  return [
    ...found.flatMap(({ findings }, at) =>
      findings.map((finding) => ({ ...finding, message: `cell ${cells[at]?.name}: ${finding.message}` })),
    ),
    spread(cells, found),
  ];
}

/** The cells that were added while the service ran; none while the first one does not answer. */
async function addedCells([first]: readonly RedisCell[], keyPrefix: string): Promise<RedisCell[]> {
  if (!first) return [];
  const connection = commandClient(first.url, { logger: createLogger({ name: 'doctor', level: 'silent' }) });
  try {
    await waitForRedis(connection, AbortSignal.timeout(addedWithinMs));
    const { prefix } = redisKeys(keyPrefix).inCell(first.name);
    const { cells } = await new StoredCells({ connection, keyPrefix: prefix }).read();
    return [...cells].flatMap(([name, { url, isOpen }]) =>
      url === undefined ? [] : [{ name, url, isDraining: !isOpen }],
    );
  } catch {
    return [];
  } finally {
    await closeRedis(connection);
  }
}

/** Whether the cells are at servers of their own. */
function spread(cells: readonly RedisCell[], found: readonly CheckedCell[]): Finding {
  const subject = 'cells';
  const byServer = Map.groupBy(
    [...cells.keys()].filter((at) => found[at]?.runId !== undefined),
    (at) => found[at]?.runId,
  );
  const shared = [...byServer.values()].find((ofServer) => ofServer.length > 1);
  const there = found.filter(({ runId }) => runId !== undefined).length;
  if (!shared) return good(subject, `${there} of ${cells.length} cells answer, at servers of their own`);
  const names = shared.map((at) => cells[at]?.name).join(', ');
  return warn(subject, `cells ${names} are at one server, which has to carry all of them`);
}

/** A cell and what was found of it. Its server has no run id when it does not answer. */
interface CheckedCell {
  findings: Finding[];
  runId: string | undefined;
}

async function checkCell(
  { name, url }: RedisCell,
  { durability, keyPrefix }: Pick<Settings, 'durability' | 'keyPrefix'>,
): Promise<CheckedCell> {
  const subject = 'Redis';
  const logger = createLogger({ name: 'doctor', level: 'silent' });
  const client = commandClient(url, { logger });
  try {
    // The checks below report everything that this refuses.
    await requireRedis(client, { url, logger, signal: new AbortController().signal }).catch(
      (error: unknown) => {
        if (client.status !== 'ready') throw error;
      },
    );
    const facts = await inspectRedis(client);
    const version = facts.version ?? 'of an unknown version';
    const findings = [
      good(subject, `${facts.product} ${version} answers at ${maskRedisUrl(url)}`),
      ...problems(facts, { url, durability }),
      ...(facts.isCluster ? [migration(facts)] : []),
      memory(facts),
      await latency(client),
      await writing(client, `${redisKeys(keyPrefix, () => [name]).inCell(name).prefix}doctor`),
    ];
    return { findings, runId: facts.runId };
  } catch (error) {
    const message =
      error instanceof FatalError ? error.message : `${maskRedisUrl(url)} does not answer: ${String(error)}`;
    return { findings: [bad(subject, message)], runId: undefined };
  } finally {
    await closeRedis(client);
  }
}

function problems(
  facts: RedisFacts,
  { url, durability }: { url: string; durability: Settings['durability'] },
): Finding[] {
  const isCluster = parseRedisAddress(url).topology.kind === 'cluster';
  const found = redisProblems(facts, { isEmbedded: facts.isEmbedded, isCluster, durability });
  if (found.length === 0)
    return [
      good('durability', `role, eviction, log on disk and clock are as durability: ${durability} needs them`),
    ];
  return found.map(({ severity, message }) =>
    severity === 'refuse' ? bad('durability', message) : warn('durability', message),
  );
}

/** Whether the engine can give the slot of a service that runs to another primary. */
function migration({ product, productVersion: version = '0' }: RedisFacts): Finding {
  const subject = 'cluster';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isAtomic = product === 'valkey' ? major >= 9 : major > 8 || (major === 8 && minor >= 4);
  if (isAtomic)
    return good(subject, 'all keys of a cell are in one slot, which can be moved while the service runs');
  return warn(
    subject,
    `all keys of a cell are in one slot: stop the service before that slot is moved, because ${product} ${version} moves key by key`,
  );
}

function memory({ usedMemoryBytes, maxmemoryBytes }: RedisFacts): Finding {
  const subject = 'memory';
  const used = mebibytes(usedMemoryBytes ?? 0);
  if (!maxmemoryBytes) {
    return warn(
      subject,
      `${used} in use and no maxmemory: set one below the memory of the machine, or the system may kill Redis`,
    );
  }
  const share = (usedMemoryBytes ?? 0) / maxmemoryBytes;
  const message = `${used} of ${mebibytes(maxmemoryBytes)} in use`;
  if (share < nearlyFull) return good(subject, message);
  return warn(
    subject,
    `${message}: give Redis more, or shorten retention.responseSeconds; a full one refuses work`,
  );
}

async function latency(client: Redis): Promise<Finding> {
  const subject = 'latency';
  const times: number[] = [];
  for (let at = 0; at < pings; at += 1) {
    const startedAt = performance.now();
    await client.ping();
    times.push(performance.now() - startedAt);
  }
  times.sort((one, other) => one - other);
  const median = times[Math.floor(pings / 2)] ?? Number.NaN;
  const message = `a PING takes ${median.toFixed(2)} ms (${times[0]?.toFixed(2)} to ${times.at(-1)?.toFixed(2)})`;
  if (median <= slowPingMs) return good(subject, message);
  return warn(subject, `${message}: a response takes some six round trips; run Sluice nearer to Redis`);
}

/** A write that goes by itself. A full server, a replica, and one that lost its disk refuse it. */
async function writing(client: Redis, key: string): Promise<Finding> {
  try {
    await client.set(key, '1', 'PX', 1_000);
    return good('writing', 'a write is taken');
  } catch (error) {
    return bad('writing', `a write is refused: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / (1024 * 1024)).toLocaleString('en-US')} MiB`;
}
