import { StoredRefusal } from '@sluice/config';
import type { CellRow } from '@sluice/contract/admin';
import { cellRows } from '@sluice/operator';
import { FatalError } from '@sluice/runtime';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import { openOperator, type Operator } from '../queues/operator.ts';
import type { Surroundings } from '../service-sources.ts';
import { type Column, columnsText } from '../table.ts';
import { untilOpen } from './until-open.ts';

const usage = `Usage: sluice cells [list] [flags]
       sluice cells add ADDRESS [flags]
       sluice cells drain | open | remove | forget NAME [flags]

Shows each cell of the store: its address, whether it takes new responses, how many of its responses have no end yet, how many of those
wait, and the memory that its Redis uses. A cell that drains may go when the retention of its last response is over.

The processes of a service that runs follow each change by themselves, and nothing is restarted:

add adds the cell at an address, as it would stand in REDIS_URL: the name that \`cell=\` gives, or the next free one. It takes new responses
ten seconds after every process has reached it, for which the command waits. drain has a cell take no new responses, but for those that
continue one of its own, and open has it take some again; both hold after ten seconds. remove takes a cell away that was added and drained,
once no response can live there.

'forget' says that a cell is gone with all that was in it, whatever it had.

  --json          prints one line of JSON for each cell
${serviceFlagsUsage}

The command reaches Redis by REDIS_URL, by the settings file, or as the service does that runs with the data folder. It needs no running
process.`;

/** `sluice cells`: the cells of the store. */
export async function runCells(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('cells', argv, { json: { type: 'boolean' }, ...serviceFlags });
  if (values.help) {
    console.log(usage);
    return;
  }
  const [verb = 'list', name, ...more] = positionals;
  if (verb !== 'list' && (!isVerb(verb) || name === undefined || more.length > 0))
    throw badUsage('cells', `it is 'list', 'add' and an address, or ${verbList} and the name of a cell`);
  if (verb === 'list' && name !== undefined) throw badUsage('cells', "'list' takes no name");
  await using operator = await openOperator(loadWithRedis(values, place));
  if (!isVerb(verb) || name === undefined) return await list(operator, values.json === true);
  try {
    await verbs[verb](operator, name);
  } catch (error) {
    if (error instanceof StoredRefusal) throw new FatalError(error.message, { exitCode: 2 });
    throw error;
  }
}

const verbs = {
  add: async (operator, address) => {
    const name = await operator.cellChanges.add(address);
    console.log(`Added the cell '${name}'. It opens ten seconds after every process has reached it.`);
    await untilOpen(operator, name);
    console.log(
      `The cell '${name}' takes new responses. Put its address into REDIS_URL with the next deployment, or leave it stored.`,
    );
  },
  drain: async ({ cellChanges }, name) => {
    await cellChanges.drain(name);
    console.log(
      `The cell '${name}' takes no new responses in ten seconds. 'sluice cells' says when it may go.`,
    );
  },
  open: async ({ cellChanges }, name) => {
    await cellChanges.open(name);
    console.log(`The cell '${name}' takes new responses in ten seconds.`);
  },
  remove: async ({ cellChanges }, name) => {
    await cellChanges.remove(name);
    console.log(`Removed the cell '${name}'. Every process leaves it within two seconds.`);
  },
  forget: async ({ cellChanges }, name) => {
    await cellChanges.forget(name);
    console.log(`The cell '${name}' is forgotten, with every response that was in it.`);
  },
} as const satisfies Record<string, (operator: Operator, name: string) => Promise<void>>;

const verbList = Object.keys(verbs)
  .slice(1)
  .map((verb) => `'${verb}'`)
  .join(', ');

function isVerb(word: string): word is keyof typeof verbs {
  return Object.hasOwn(verbs, word);
}

const columns: readonly Column<CellRow>[] = [
  ['cell', ({ cell }) => cell],
  ['address', ({ address }) => address ?? '-'],
  ['from', ({ origin }) => origin ?? '-'],
  ['state', ({ state }) => (state === 'unknown' ? 'no address' : state)],
  ['open', ({ open }) => String(open ?? '-')],
  ['waiting', ({ waiting }) => String(waiting ?? '-')],
  [
    'memory',
    ({ used_memory_bytes: bytes }) => (bytes === null ? '-' : `${Math.ceil(bytes / 1_048_576)} MiB`),
  ],
  ['may go at', ({ may_go_at: at }) => at ?? '-'],
];

async function list(operator: Operator, isJson: boolean): Promise<void> {
  const rows = await cellRows(operator);
  if (isJson) for (const row of rows) console.log(JSON.stringify(row));
  else console.log(columnsText(columns, rows));
  for (const { cell, waits_for: waitsFor } of rows)
    if (waitsFor.length > 0)
      console.error(`sluice: the cell '${cell}' waits to be reached by ${waitsFor.join(', ')}`);
}
