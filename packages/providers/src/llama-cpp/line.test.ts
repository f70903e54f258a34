import { describe, expect, it } from 'vitest';
import { Line } from './line.ts';

const forEver = new AbortController().signal;

describe('a line', () => {
  it('lets so many through, and serves the others in order', async () => {
    const line = new Line(2);
    const served: string[] = [];
    const come = async (name: string) => {
      const leave = await line.take(forEver);
      served.push(name);
      return leave;
    };
    const leaves = await Promise.all([come('a'), come('b')]);
    const waiting = [come('c'), come('d')];
    expect(served).toEqual(['a', 'b']);
    leaves[0]?.();
    (await waiting[0])?.();
    await waiting[1];
    expect(served).toEqual(['a', 'b', 'c', 'd']);
  });

  it('loses who gives up, and no place with them', async () => {
    const line = new Line(1);
    const leave = await line.take(forEver);
    const abort = new AbortController();
    const impatient = line.take(abort.signal);
    const patient = line.take(forEver);
    abort.abort(new Error('cancelled'));
    await expect(impatient).rejects.toThrowError('cancelled');
    leave();
    await expect(patient).resolves.toBeTypeOf('function');
  });

  it('takes a place back once, however often it is given', async () => {
    const line = new Line(1);
    const leave = await line.take(forEver);
    leave();
    leave();
    await line.take(forEver);
    const abort = new AbortController();
    const third = line.take(abort.signal);
    abort.abort(new Error('still in line'));
    await expect(third).rejects.toThrowError('still in line');
  });

  it('lets nobody in who was aborted before', async () => {
    await expect(new Line(1).take(AbortSignal.abort(new Error('cancelled')))).rejects.toThrowError(
      'cancelled',
    );
  });
});
