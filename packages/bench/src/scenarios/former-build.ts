import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import {
  inOne,
  onceMore,
  plans,
  type Row,
  type RowResult,
  slots,
  takeTurns,
  turnsTable,
} from '../storeys/take-turns.ts';

/** Two processes of the same code may differ by a tenth for as long as they run. So more of them count for more than longer rounds. */
const pairs = { full: 4, quick: 1 };

/** The cost of another build of the service, such as that of the last release, beside this one. `--against` says where it is. */
export const formerBuild: Scenario = {
  name: 'former-build',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { against, progress, quick } = context;
    if (against === undefined || !existsSync(join(against, 'apps/sluice/dist/main.js')))
      throw new RangeError('--against must name the folder of a checkout that `npm run build` has built.');
    const plan = quick ? plans.quick : plans.full;
    const rows = [{ storey: onceMore }, { storey: { name: 'the other build' }, root: against }];
    const results = new Map<Row, RowResult[]>(rows.map((row) => [row, []]));
    const count = quick ? pairs.quick : pairs.full;
    for (let pair = 1; pair <= count; pair += 1) {
      for (const row of rows) {
        progress.say(`former build: ${row.storey.name}, ${pair} of ${count}`);
        results.get(row)?.push(await takeTurns(context, plan, row));
      }
    }
    return {
      title: 'Another build',
      description:
        `A synchronous response of one token, ${plan.response.concurrency} at a time, and a token of ${slots} paced streams: CPU of the api, the worker and Redis ` +
        `of another build of the service, in turns with this one, by ${count} pairs of an api and a worker for each row. A ratio below 1 says that this build costs more.`,
      tables: [turnsTable([...results.values()].map(inOne))],
    };
  },
};
