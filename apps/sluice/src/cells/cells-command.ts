import type { Environment } from '@sluice/config';
import { FatalError, isRedisUnavailable, maskRedisUrl, usedMemoryOf } from '@sluice/runtime';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import { openOperator, type Operator } from '../queues/operator.ts';
import { tableText } from '../table.ts';

const usage = `Usage: sluice cells [list] [flags]
       sluice cells forget NAME [flags]

Shows each cell of the store: its address, whether it takes new responses, how many of its responses have no end yet, how many of those
wait, and the memory that its Redis uses. A cell that drains, or that REDIS_URL does not name any more, may go when the retention of its
last response is over.

'forget' says that a cell is gone with all that was in it, so that processes start without it.

  --json          prints one line of JSON for each cell
${serviceFlagsUsage}

The command reaches Redis by REDIS_URL, by the settings file, or as the service does that runs with the data folder. It needs no running
process.`;

/** `sluice cells`: the cells of the store. */
export async function runCells(
  argv: readonly string[],
  place: { env: Environment; cwd: string },
): Promise<void> {
  const { values, positionals } = parseFlags('cells', argv, { json: { type: 'boolean' }, ...serviceFlags });
  if (values.help) {
    console.log(usage);
    return;
  }
  const [verb = 'list', name, ...more] = positionals;
  await using operator = await openOperator(loadWithRedis(values, place));
  if (verb === 'list' && name === undefined) return await list(operator, values.json === true);
  if (verb !== 'forget' || name === undefined || more.length > 0)
    throw badUsage('cells', "it is 'list', or 'forget' and the name of a cell");
  await forget(operator, name);
}

interface ListedCell {
  cell: string;
  address: string | null;
  state: 'open' | 'draining' | 'away' | 'not in REDIS_URL';
  /** Responses without an end, and those of them that wait; null where nobody can tell. */
  open: number | null;
  waiting: number | null;
  used_memory_bytes: number | null;
  /** When it may go, in ISO 8601; null while it takes new responses. */
  may_go_at: string | null;
}

async function list(operator: Operator, isJson: boolean): Promise<void> {
  const cells = await listedCells(operator);
  if (isJson) for (const cell of cells) console.log(JSON.stringify(cell));
  else {
    const rows = cells.map((each) => [
      each.cell,
      each.address ?? '-',
      each.state,
      String(each.open ?? '-'),
      String(each.waiting ?? '-'),
      each.used_memory_bytes === null ? '-' : `${Math.ceil(each.used_memory_bytes / 1_048_576)} MiB`,
      each.may_go_at ?? '-',
    ]);
    console.log(tableText([['cell', 'address', 'state', 'open', 'waiting', 'memory', 'may go at'], ...rows]));
  }
}

async function listedCells({ cells, known, store }: Operator): Promise<ListedCell[]> {
  const noted = new Map((await known.read()).map((each) => [each.name, each]));
  const goAt = (name: string) => {
    const at = noted.get(name)?.goneAt;
    return at === undefined ? null : new Date(at).toISOString();
  };
  const listed = await Promise.all(
    cells.map(async ({ name, url, isDraining, clients: { commands } }): Promise<ListedCell> => {
      const place = { cell: name, address: maskRedisUrl(url), may_go_at: isDraining ? goAt(name) : null };
      try {
        const [open, { all }, memory] = await Promise.all([
          commands.zcard(store.keys.inCell(name).open),
          store.waiting(name),
          commands.info('memory'),
        ]);
        const { usedBytes } = usedMemoryOf(memory);
        const state = isDraining ? 'draining' : 'open';
        return { ...place, state, open, waiting: all.responses, used_memory_bytes: usedBytes };
      } catch (error) {
        if (!isRedisUnavailable(error)) throw error;
        return { ...place, state: 'away', open: null, waiting: null, used_memory_bytes: null };
      }
    }),
  );
  const unnamed = [...noted.keys()].filter((name) => cells.every((cell) => cell.name !== name));
  const state = 'not in REDIS_URL';
  return [
    ...listed,
    ...unnamed.map(
      (cell): ListedCell => ({
        cell,
        address: null,
        state,
        open: null,
        waiting: null,
        used_memory_bytes: null,
        may_go_at: goAt(cell),
      }),
    ),
  ];
}

async function forget({ cells, known }: Operator, name: string): Promise<void> {
  if (cells.some((cell) => cell.name === name))
    throw new FatalError(`REDIS_URL names the cell '${name}': take its address out first.`, { exitCode: 2 });
  if (!(await known.forget(name)))
    throw new FatalError(`No cell '${name}' is known: 'sluice cells' shows those that are.`, { exitCode: 2 });
  console.log(`The cell '${name}' is forgotten, with every response that was in it.`);
}
