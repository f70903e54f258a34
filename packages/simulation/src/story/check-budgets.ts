import type { EndFact } from '@sluice/response-store';
import type { SimulatedNetwork } from '../world/simulated-network.ts';
import type { History } from './history.ts';

/** An end as the outbox has it. */
interface WrittenEnd {
  id: string;
  tenant: string;
  tokens: number;
  spend: number;
}

/**
 * Holds the budgets of tenants against the outbox: each end stands there once, and what a month has taken is the sum of what its
 * responses took. Only workers write ends there; those that an api writes took nothing.
 */
export function checkBudgets({ service, callers, losses, scenario }: History): string[] {
  // A store that has forgotten something has forgotten it of both, at different moments.
  if (losses.length > 0) return [];
  // Nor does an outbox keep what all of its readers have had.
  if (scenario.hasWebhooks === true) return [];
  const { networks, keys } = service;
  const ends = networks.flatMap((network, at) => writtenEnds(entriesOf(network, keys.inCell(at).outbox)));
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { id } of ends) {
    if (seen.has(id)) problems.push(`the end of ${id} was written twice`);
    seen.add(id);
  }
  for (const tenant of new Set(callers.map(({ plan }) => plan.tenant))) {
    const own = ends.filter((end) => end.tenant === tenant);
    // Each cell has its part.
    const budgets = networks.map((network, at) =>
      fieldsOf(network.ask('HGETALL', keys.inCell(at).budget('tenant', tenant))),
    );
    // Nobody is told of the end of a response that was refused, although it may have run for a moment.
    const isExact = !callers.some(({ plan, wasRefused }) => plan.tenant === tenant && wasRefused);
    for (const [kind, of] of kinds) {
      const taken = budgets.reduce((all, budget) => all + Number(budget.get(`${kind}_in_month`) ?? 0), 0);
      const sum = own.reduce((all, end) => all + of(end), 0);
      if (isExact ? taken !== sum : taken < sum)
        problems.push(`the budget of ${tenant} has ${taken} ${kind}, and its responses took ${sum}`);
    }
  }
  return problems;
}

const kinds = [
  ['tokens', ({ tokens }: WrittenEnd) => tokens],
  ['spend', ({ spend }: WrittenEnd) => spend],
] as const;

/** So many entries are read at once: the store gives no more than a part of a long reply in one step. */
const pageSize = 100;

function entriesOf(network: SimulatedNetwork, stream: string): unknown[] {
  const entries: unknown[] = [];
  for (let from = '-'; ; ) {
    const page = network.ask('XRANGE', stream, from, '+', 'COUNT', String(pageSize));
    if (!Array.isArray(page)) return entries;
    entries.push(...page);
    const last = page.at(-1);
    if (page.length < pageSize || !Array.isArray(last)) return entries;
    from = `(${String(last[0])}`;
  }
}

function writtenEnds(reply: unknown): WrittenEnd[] {
  if (!Array.isArray(reply)) return [];
  return reply.map((entry: unknown) => {
    const fields = fieldsOf(Array.isArray(entry) ? entry[1] : []);
    const told = JSON.parse(fields.get('told') ?? '{}') as Pick<EndFact, 'usage' | 'uncounted'>; // as `printTold` wrote it
    const { usage, uncounted = 0 } = told;
    return {
      id: fields.get('id') ?? '',
      tenant: fields.get('tenant') ?? '',
      tokens: usage ? usage.input + usage.output : uncounted,
      spend: Number(fields.get('spend') ?? 0),
    };
  });
}

function fieldsOf(reply: unknown): Map<string, string> {
  const texts = Array.isArray(reply) ? reply.map(String) : [];
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < texts.length; at += 2) fields.set(texts[at] ?? '', texts[at + 1] ?? '');
  return fields;
}
