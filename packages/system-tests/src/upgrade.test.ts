import { eventually, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startBalancedLoad } from './balanced-load.ts';
import { callerOf } from './caller.ts';
import { hasPagePrograms, openPageShell } from './operating-page.ts';
import { patchedBuild } from './patched-build.ts';
import { startService } from './service.ts';

const ended = { timeoutMs: 30_000 };
const cleanExit = { code: 0, signal: null };

describe.skipIf(!hasPagePrograms)('an upgrade (needs Redis on the PATH)', () => {
  it('to a release with other records fails no request and cuts no stream, in the order of the page', async () => {
    await using next = await patchedBuild([
      {
        file: 'packages/response-store/src/record/fields.ts',
        find: /recordVersion = '\d+'/,
        replace: "recordVersion = 'another'",
      },
    ]);
    await using shell = await openPageShell();
    await using service = await startService({ apis: 2, workers: 1 });
    const replaced = { apis: [...service.apis], workers: [...service.workers] };
    const load = startBalancedLoad(service);
    let answers: string[] = [];
    try {
      // Workers of the new release first: nobody else runs what its apis accept.
      const worker = await service.addWorker(next.root);
      for (const old of replaced.apis) {
        const api = await service.addApi(0, next.root);
        await eventually(() => load.reaches(api.url));
        await shell.run('Replace an api', { NEW_API_URL: api.url, OLD_API_PID: String(old.pid) });
        expect(await within(old.exited, ended)).toEqual(cleanExit);
      }
      // The last of the old workers runs what the old apis accepted, until nothing of it is left.
      const [oldWorker = expect.unreachable()] = replaced.workers;
      await shell.run('Replace a worker', {
        NEW_WORKER_URL: worker.healthUrl,
        OLD_WORKER_PID: String(oldWorker.pid),
      });
      expect(await within(oldWorker.exited, ended)).toEqual(cleanExit);
      const [, , { url } = expect.unreachable()] = service.apis;
      expect((await callerOf(url, service.key).create({ input: 'Done?' })).status).toBe(200);
    } finally {
      answers = await load.end();
    }
    expect(answers).toEqual(['stream completed', 'whole 200']);
  }, 240_000);
});
