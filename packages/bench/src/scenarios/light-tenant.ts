import { goalTable } from '../goals.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { pacedFlow } from '../traffic/flows.ts';
import { releaseMs } from '../upstream/paced-model.ts';
import { startedOf, waitsOf } from '../waits.ts';
import { type BesidePlan, graceMs, runBesideBacklog } from './beside-backlog.ts';
import { laterGoal, releasesLater, waitPicture, waitsByCompany, waitTable } from './waits-report.ts';

/** A slot is released every 16 ms. */
const model = { serviceMs: 320, slots: 20, tokens: 2 };

/** A third of what the model serves, which is less than the half that is due to one of two tenants. */
const everyMs = 50;

const plans: Record<'full' | 'quick', BesidePlan> = {
  full: { rounds: 3, everyMs, backlog: 12_000, roundMs: 7_000 },
  quick: { rounds: 1, everyMs, backlog: 400, roundMs: 1_000 },
};

/** A tenant with few requests beside one with thousands that wait. */
export const lightTenant: Scenario = {
  name: 'light-tenant',
  budgetMs: 150_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const watched = await runBesideBacklog(context, {
      name: 'light tenant',
      model,
      tenants: [{ name: 'light' }, { name: 'heavy' }],
      backlogOf: 'heavy',
      plan,
      flow: (service, shape) => pacedFlow(service, { ...shape, tenant: 'light', model }),
    });
    const waits = waitsByCompany(watched, ({ sent, log, until }) => waitsOf(sent, log, until));
    const unstarted = [...watched.values()].map((rounds) => [
      String(rounds.reduce((sum, { sent, log }) => sum + sent.length - startedOf(sent, log), 0)),
    ]);
    const later = (share: number) => releasesLater(waits, watched, { share, model });
    return {
      title: 'A light tenant beside a heavy one',
      description:
        `One tenant asks every ${everyMs} ms, and of another ${plan.backlog.toLocaleString('en-US')} background responses ` +
        `wait. Both have the weight 1. The model serves ${model.slots} requests at a time for ${model.serviceMs} ms each, so a ` +
        `slot is released every ${releaseMs(model)} ms, evenly. A wait is the time from sending a request to its arrival at ` +
        `the upstream. One that had not arrived ${graceMs / 1000} s after the last was sent counts with the time until then, ` +
        'so its wait was in truth longer.',
      tables: [
        goalTable([
          laterGoal('p99 wait beside the heavy one, later than alone, in mean slot releases', later(0.99)),
          laterGoal('the same at p50', later(0.5)),
        ]),
        waitTable('Waits of the light tenant', waits, unstarted),
      ],
      pictures: [waitPicture('light-tenant-waits.svg', 'Waits of the light tenant', waits)],
    };
  },
};
