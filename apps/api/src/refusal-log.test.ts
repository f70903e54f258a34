import { type ErrorCode, ServiceError } from '@sluice/contract';
import { describe, expect, it, vi } from 'vitest';
import { RefusalLog } from './refusal-log.ts';

function refusals() {
  let now = 0;
  const log = new RefusalLog(() => now);
  const info = vi.fn<(fields: Record<string, unknown>, message: string) => void>();
  const refuse = (tenant: string | undefined, times = 1, code: ErrorCode = 'invalid_value') => {
    const request = { key: tenant === undefined ? undefined : { name: tenant }, log: { info } };
    for (let at = 0; at < times; at += 1) {
      // All of a request that is looked at.
      log.write(request as never, new ServiceError(code, { param: `tools[${at}]` }));
    }
  };
  const written = () => info.mock.calls.map(([fields]) => fields);
  return { refuse, written, pass: (ms: number) => (now += ms) };
}

describe('the log of refusals', () => {
  it('says whose request was refused, why, and about which member', () => {
    const { refuse, written } = refusals();
    refuse('a');
    expect(written()).toEqual([
      { tenant: 'a', status: 400, code: 'invalid_value', param: 'tools[0]', omitted: 0 },
    ]);
  });

  it('has room for each tenant while one is refused all the time, and says how many lines it left out', () => {
    const { refuse, written, pass } = refusals();
    refuse('loud', 10_000);
    refuse('quiet');
    refuse(undefined);
    expect(written().map(({ tenant }) => tenant)).toEqual([...Array(5).fill('loud'), 'quiet', undefined]);
    expect(written()[5]).toMatchObject({ omitted: 9_995 });
    pass(1_000);
    refuse('loud');
    expect(written().at(-1)).toMatchObject({ tenant: 'loud', omitted: 0 });
  });

  it('has one line in ten seconds for an outage, which refuses everybody', () => {
    const { refuse, written, pass } = refusals();
    refuse('a', 200, 'server_is_overloaded');
    pass(9_000);
    refuse('b', 200, 'server_is_overloaded');
    expect(written()).toHaveLength(1);
    refuse('b');
    expect(written()[1]).toMatchObject({ tenant: 'b', status: 400, omitted: 399 });
    pass(1_000);
    refuse('b', 1, 'server_is_overloaded');
    expect(written()[2]).toMatchObject({ status: 503 });
  });

  it('writes a bounded number of lines in a second, of however many tenants', () => {
    const { refuse, written } = refusals();
    for (let tenant = 0; tenant < 1_000; tenant += 1) refuse(String(tenant));
    expect(written()).toHaveLength(50);
  });
});
