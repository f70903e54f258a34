import { goalTable } from '../goals.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { streamFlow } from '../traffic/flows.ts';
import { releaseMs } from '../upstream/paced-model.ts';
import { firstTokenWaits } from '../waits.ts';
import { type BesidePlan, graceMs, runBesideBacklog } from './beside-backlog.ts';
import { laterGoal, releasesLater, waitPicture, waitsByCompany, waitTable } from './waits-report.ts';

/** A slot is released every 16 ms. The first token is written when a request arrives. */
const model = { serviceMs: 320, slots: 20, tokens: 2 };

/** A third of what the model serves. */
const everyMs = 50;

const plans: Record<'full' | 'quick', BesidePlan> = {
  full: { rounds: 3, everyMs, backlog: 4_000, roundMs: 7_000 },
  quick: { rounds: 1, everyMs, backlog: 400, roundMs: 1_000 },
};

/** Streams that somebody waits for, over a backlog of the same tenant. */
export const priorityStreams: Scenario = {
  name: 'priority-streams',
  budgetMs: 150_000,
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const watched = await runBesideBacklog(context, {
      name: 'priority streams',
      model,
      tenants: [{ name: 'tenant', tiers: ['default', 'flex', 'priority'] }],
      backlogOf: 'tenant',
      plan,
      flow: (service, shape) => streamFlow(service, { ...shape, tenant: 'tenant', tier: 'priority', model }),
    });
    const waits = waitsByCompany(watched, ({ sent }) => firstTokenWaits(sent));
    const without = [...watched.values()].map((rounds) => [
      String(rounds.flatMap(({ sent }) => sent.filter((one) => one.firstTokenAt === undefined)).length),
    ]);
    const later = (share: number) => releasesLater(waits, watched, { share, model });
    return {
      title: 'Priority streams over a backlog',
      description:
        `One stream of the tier \`priority\` every ${everyMs} ms, while ${plan.backlog.toLocaleString('en-US')} background ` +
        `responses of the same tenant wait and fill every slot. The model serves ${model.slots} requests at a time for ` +
        `${model.serviceMs} ms each, so a slot is released every ${releaseMs(model)} ms, evenly. The first token is timed from ` +
        `sending the request to reading its event. A stream without one ${graceMs / 1000} s after the last was sent counts ` +
        'with the time until then.',
      tables: [
        goalTable([
          laterGoal(
            'p99 of the first token, later than in an empty system, in mean slot releases',
            later(0.99),
          ),
          laterGoal('the same at p50', later(0.5)),
        ]),
        waitTable('First token of a priority stream', waits, without),
      ],
      pictures: [waitPicture('priority-streams-first-token.svg', 'First token of a priority stream', waits)],
    };
  },
};
