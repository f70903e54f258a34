import type { CreateResponse, InputItem, OutputItem } from '@sluice/contract';
import { cancelled, nothingProduced } from '@sluice/contract';
import { forAllTests, said, startLocalRedis } from '@sluice/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { mostCalls } from '../src/record/tool-calls.ts';
import {
  type AcceptedOptions,
  contextLimits,
  oneServer,
  type Server,
  servers,
  stopCluster,
  storeForEachTest,
  StoreUnderTest,
  unknownId,
} from './store-under-test.ts';

afterAll(stopCluster);

function called(callId: string): OutputItem {
  return {
    type: 'function_call',
    id: 'fc_1',
    status: 'completed',
    call_id: callId,
    name: 'f',
    arguments: '{}',
  };
}

const call = (callId: string): InputItem => ({
  type: 'function_call',
  call_id: callId,
  name: 'f',
  arguments: '{}',
});
const output = (callId: string): InputItem => ({
  type: 'function_call_output',
  call_id: callId,
  output: 'done',
});

/** A request of these items alone. */
function of(...input: InputItem[]): { request: Partial<CreateResponse> } {
  return { request: { input } };
}

const notFound = { kind: 'unresolved', problem: { kind: 'previous_not_found' } };

describe.each(servers)('what a response continues from, on %s', (_name, serve: () => Promise<Server>) => {
  const store = storeForEachTest(serve);

  const resultOf = async (options: AcceptedOptions) => (await store.accepting(options)).result;
  const number = async (id: string, name: string) => Number(await store.field(id, name));

  it('is known to each record, in bytes and in responses', async () => {
    const text = 'x'.repeat(70_000);
    const ids = [...(await store.chain(2)), ...(await store.chain(1, { text }))];
    const [first = '', second = '', large = ''] = ids;
    const own = async (id: string) => {
      const { client } = store.server;
      const [record, value] = [store.keys.record(id), store.keys.large(id)];
      const inline = await client.hstrlen(record, 'input');
      return inline + (await client.strlen(value)) + (await client.hstrlen(record, 'result'));
    };
    expect(await number(first, 'context_bytes')).toBe(await own(first));
    expect(await number(second, 'context_bytes')).toBe((await own(first)) + (await own(second)));
    expect(await number(large, 'context_bytes')).toBe(await own(large));
    expect(await number(large, 'context_bytes')).toBeGreaterThan(70_000);
    expect(await Promise.all(ids.map((id) => number(id, 'context_turns')))).toEqual([1, 2, 1]);
  });

  it('may have as many bytes as the limit says, and not one more', async () => {
    const [, previousId = ''] = await store.chain(2);
    const bytes = await number(previousId, 'context_bytes');
    const within = (most: number) => resultOf({ previousId, context: { ...contextLimits, bytes: most } });
    expect(await within(bytes - 1)).toEqual({ kind: 'unresolved', problem: { kind: 'context_too_large' } });
    expect(await within(bytes)).toMatchObject({ kind: 'accepted' });
  });

  it('may be as many responses as the limit says, and not one more', async () => {
    const [, , previousId = ''] = await store.chain(3);
    const within = (turns: number) => resultOf({ previousId, context: { ...contextLimits, turns } });
    expect(await within(2)).toEqual({ kind: 'unresolved', problem: { kind: 'context_too_long' } });
    expect(await within(3)).toMatchObject({ kind: 'accepted' });
  });

  it('is one of the same tenant that is kept', async () => {
    const [foreign, unstored, deleted] = [
      await store.ended({ tenant: 'team-b' }),
      await store.ended({ store: false }),
      await store.ended(),
    ];
    await store.caller.erase(deleted, 'team-a');
    const elsewhere = unknownId().replace('_0', '_z');
    for (const previousId of [foreign, unstored, deleted, elsewhere, unknownId(), 'x', '{0}:open']) {
      expect(await resultOf({ previousId })).toEqual(notFound);
    }
  });

  it('has ended well', async () => {
    const open = await store.accepted();
    const running = await store.running('a');
    const ended = await store.accepted();
    await store.write(ended, '', 2, [], cancelled(nothingProduced));
    for (const [previousId, status] of [
      [open, 'queued'],
      [running, 'in_progress'],
      [ended, 'cancelled'],
    ] as const) {
      const problem = { kind: 'previous_not_finished', status };
      expect(await resultOf({ previousId })).toEqual({ kind: 'unresolved', problem });
    }
  });

  it('is refused without leaving or counting anything', async () => {
    const [previousId = ''] = await store.chain(1);
    const text = 'x'.repeat(70_000);
    const refused = [
      await store.accepting({ previousId: unknownId(), text }),
      await store.accepting({ previousId, text, context: { bytes: 1, turns: 1 } }),
      await store.accepting({ previousId, ...of(output('none')) }),
    ];
    const { client } = store.server;
    for (const { responseId, result } of refused) {
      expect(result.kind).toBe('unresolved');
      const { keys } = store;
      const left = [keys.record(responseId), keys.log(responseId), keys.large(responseId)];
      expect(await client.exists(...left)).toBe(0);
    }
    expect(await client.zcard(store.keys.open)).toBe(0);
    expect(await client.zcount(store.keys.stored('team-a'), 1, '+inf')).toBe(1);
    expect(await store.waiting()).toBe(0);
  });

  it('is not one whose record knows nothing of its context', async () => {
    const [first = ''] = await store.chain(2);
    await store.server.client.hdel(store.keys.record(first), 'context_bytes', 'context_calls');
    expect(await resultOf({ previousId: first })).toEqual(notFound);
  });

  it('is not needed for the end of a record that knows nothing of its context', async () => {
    const id = await store.running('a');
    await store.server.client.hdel(store.keys.record(id), 'context_bytes', 'context_calls');
    expect(
      await store.write(id, 'a', 3, [], { ...cancelled(nothingProduced), output: [called('c')] }),
    ).toEqual({
      kind: 'ok',
    });
  });

  describe('holds the call that a tool output answers', () => {
    const missing = (callId: string, isForgotten = false) => ({
      kind: 'unresolved',
      problem: { kind: 'call_not_found', callId, isForgotten },
    });

    it('anywhere before it, or in the same input', async () => {
      const first = await store.ended(of(call('in an input')), [called('in an output')]);
      const second = await store.ended({ previousId: first, ...of(output('in an input')) });
      const previousId = await store.ended({ previousId: second });
      for (const callId of ['in an input', 'in an output']) {
        expect(await resultOf({ previousId, ...of(output(callId)) })).toMatchObject({ kind: 'accepted' });
      }
      expect(await resultOf(of(call('here'), output('here')))).toMatchObject({ kind: 'accepted' });
      expect(await resultOf(of(output('here')))).toEqual(missing('here'));
      expect(await resultOf({ previousId, ...of(output('in an output'), output('nowhere')) })).toEqual(
        missing('nowhere'),
      );
      expect(await resultOf({ previousId: second, ...of(output('in an outpu')) })).toEqual(
        missing('in an outpu'),
      );
    });

    it('in an incomplete response, too, and under any id that a client may choose', async () => {
      const callId = '\n %s 😀 "';
      const custom = { type: 'custom_tool_call', call_id: callId, name: 'f', input: 'x' } as const;
      const previousId = await store.ended(of(custom));
      const answer = { type: 'custom_tool_call_output', call_id: callId, output: 'x' } as const;
      expect(await resultOf({ previousId, ...of(answer) })).toMatchObject({ kind: 'accepted' });
      expect(await resultOf({ previousId, ...of(output('\n')) })).toEqual(missing('\n'));
    });

    it('among the latest calls, however many there are', async () => {
      const many = Array.from({ length: mostCalls - 1 }, (_, at) => call(`call ${at}`));
      const first = await store.ended(of(call('the oldest'), ...many));
      const all = [call('the oldest'), ...many].map((each) =>
        output('call_id' in each ? `${each.call_id}` : ''),
      );
      expect(await resultOf({ previousId: first, ...of(...all) })).toMatchObject({ kind: 'accepted' });
      const previousId = await store.ended({ previousId: first }, [called('the newest')]);
      const answers = of(output('the newest'), output('call 0'), output(`call ${mostCalls - 2}`));
      expect(await resultOf({ previousId, ...answers })).toMatchObject({ kind: 'accepted' });
      const forgotten = of(output('the oldest'));
      expect(await resultOf({ previousId, ...forgotten })).toEqual(missing('the oldest', true));
      expect(await store.server.client.hstrlen(store.keys.record(previousId), 'context_calls')).toBeLessThan(
        16_000,
      );
    });
  });

  describe('is read', () => {
    const texts = (items: readonly InputItem[]) =>
      items.map((item) => {
        const content = 'content' in item ? item.content : undefined;
        return Array.isArray(content)
          ? (content[0] as { text: string }).text
          : (content as string | undefined);
      });

    it('whole and in order, whatever its length', async () => {
      const length = 203;
      const ids = await store.chain(length);
      const later = await store.continued(ids.at(-1) ?? '', 'b');
      const context = await store.attempts.readContext(later);
      const wanted = Array.from({ length }, (_, at) => [`asked ${at}`, `answered ${at}`]).flat();
      expect(context.kind === 'whole' && texts(context.items)).toEqual(wanted);
    });

    it('whole and in order, whatever its size', async () => {
      const sizes = [10, 70_000, 900_000, 300_000, 10];
      let previousId: string | undefined;
      for (const [at, size] of sizes.entries()) {
        const text = `${at}`.repeat(size);
        previousId = await store.ended({ text, ...(previousId !== undefined && { previousId }) }, [
          said(text.toUpperCase()),
        ]);
      }
      const context = await store.attempts.readContext(await store.continued(previousId ?? '', 'b'));
      const lengths = context.kind === 'whole' ? texts(context.items).map((text) => text?.length) : [];
      expect(lengths).toEqual(sizes.flatMap((size) => [size, size]));
    });

    it('not at all when one of it is gone', async () => {
      const [first = '', second = ''] = await store.chain(2);
      const later = await store.continued(second, 'b');
      await store.caller.erase(first, 'team-a');
      expect(await store.attempts.readContext(later)).toEqual({ kind: 'broken', missingId: first });
    });

    it('not at all when it is more than the limits allow by now', async () => {
      const [, second = ''] = await store.chain(2);
      const later = await store.continued(second, 'b');
      const bytes = await number(second, 'context_bytes');
      const read = (context: { bytes: number; turns: number }) =>
        store.worker({ context }).readContext(later);
      expect(await read({ bytes: bytes - 1, turns: 2 })).toEqual({ kind: 'too_large' });
      expect(await read({ bytes, turns: 1 })).toEqual({ kind: 'too_large' });
      expect(await read({ bytes, turns: 2 })).toMatchObject({ kind: 'whole' });
    });
  });
});

describe('what Redis does', () => {
  // Bytes and commands are counted by the server, so it has to be a server that nobody else uses.
  const own = forAllTests(startLocalRedis);
  const store = forAllTests(async () => new StoreUnderTest(await oneServer(own.url)));

  it('is a script and a read of each turn for a short context', async () => {
    const later = await store.continued((await store.chain(50)).at(-1) ?? '', 'b');
    await store.attempts.readContext(later); // The store knows the script then.
    const { commands } = await store.cost(() => store.attempts.readContext(later));
    // The first is looked at before it is known that they are short.
    expect(commands).toEqual({ evalsha: 1, hmget: 51 });
  });

  it('is two reads of each turn for one that is not short', async () => {
    const ids = await store.chain(10, { text: 'x'.repeat(30_000) });
    const later = await store.continued(ids.at(-1) ?? '', 'b');
    const { commands } = await store.cost(() => store.attempts.readContext(later));
    expect(commands).toEqual({ evalsha: 1, hmget: 20, hstrlen: 20 });
  });

  it('is the same for a refused id of another tenant and for one that nobody ever had', async () => {
    const foreign = await store.ended({ tenant: 'team-b', text: 'x'.repeat(500_000) }, [called('c')]);
    const refused = (previousId: string) => () => store.accepting({ previousId, ...of(output('c')) });
    await refused(unknownId())();
    const [ofForeign, ofUnknown] = [
      await store.cost(refused(foreign)),
      await store.cost(refused(unknownId())),
    ];
    expect(ofForeign.commands).toEqual(ofUnknown.commands);
    expect(ofForeign.commands).toEqual({ evalsha: 1, hmget: 2, time: 1 });
    expect(Math.abs(ofForeign.bytes - ofUnknown.bytes)).toBeLessThan(200);
    expect(ofForeign.bytes).toBeLessThan(2_000);
  });

  it('is the same for a refused item of another tenant and for one that nobody ever had', async () => {
    const foreign = await store.ended({ tenant: 'team-b', text: 'x'.repeat(500_000) });
    const look = (id: string) => () => {
      const itemId = `${id.replace('create-response_', 'msg_')}00000`;
      return store.caller.locateItems('team-a', [itemId], { bytes: 1_000_000, responses: 10 });
    };
    await look(unknownId())();
    const [ofForeign, ofUnknown] = [await store.cost(look(foreign)), await store.cost(look(unknownId()))];
    expect(await look(foreign)()).toMatchObject({ kind: 'not_found' });
    expect(ofForeign.commands).toEqual(ofUnknown.commands);
    expect(Math.abs(ofForeign.bytes - ofUnknown.bytes)).toBeLessThan(200);
    expect(ofForeign.bytes).toBeLessThan(2_000);
  });

  it('is a few bytes for a refusal, however large the turns before it are', async () => {
    let previousId: string | undefined;
    for (let at = 0; at < 4; at += 1) {
      const links = previousId === undefined ? {} : { previousId };
      previousId = await store.ended({ text: 'x'.repeat(1_000_000), ...links }, [
        said('y'.repeat(1_000_000)),
      ]);
    }
    const link = previousId === undefined ? {} : { previousId };
    const { bytes } = await store.cost(async () => {
      for (let at = 0; at < 4; at += 1) {
        expect((await store.accepting({ ...link, ...of(output('nowhere')) })).result.kind).toBe('unresolved');
      }
    });
    expect(bytes).toBeLessThan(4 * 1_000);
  });

  it('is a few bytes for items that are too large together', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 3; at += 1) ids.push(await store.ended({ text: 'x'.repeat(500_000) }));
    const itemIds = ids.map((id) => `${id.replace('create-response_', 'msg_')}00000`);
    const find = (bytes: number) => store.caller.locateItems('team-a', itemIds, { bytes, responses: 3 });
    const { bytes } = await store.cost(async () => {
      expect(await find(1_500_000)).toEqual({ kind: 'too_large' });
    });
    expect(bytes).toBeLessThan(2_000);
    expect(await find(1_600_000)).toMatchObject({ kind: 'located' });
    expect(await store.caller.locateItems('team-a', itemIds, { bytes: 1_600_000, responses: 2 })).toEqual({
      kind: 'too_many_responses',
    });
  });

  it('reads the part of a response that an item is in, once, and no other', async () => {
    const id = await store.ended({ text: 'x'.repeat(500_000) }, [said('y'.repeat(500_000))]);
    const inputItem = `${id.replace('create-response_', 'msg_')}00000`;
    const limits = { bytes: 3_000_000, responses: 3 };
    const { bytes } = await store.cost(async () => {
      const found = await store.caller.locateItems('team-a', [inputItem, inputItem, inputItem], limits);
      const [part, ...others] = found.kind === 'located' ? found.parts : [];
      expect(part).toMatchObject({ isInput: true, itemIds: [inputItem] });
      expect(others).toEqual([]);
      const json = part && (await store.caller.readItemPart(part));
      expect(json).toHaveLength(part?.bytes ?? 0);
    });
    expect(bytes).toBeGreaterThan(500_000);
    expect(bytes).toBeLessThan(510_000);
  });
});
