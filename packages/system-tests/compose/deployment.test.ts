import { eventually, within } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ComposeProject, composeProject } from './compose-project.ts';
import { docker, inspectContainers, runInside, tryDocker } from './docker.ts';

const image = inject('image');

/** Work that takes the simulator some seconds, so that it is under way when something dies. */
const slow = (text: string) => `${text} [[sluice: tokens=60 tokens_per_second=10]]`;
const rescue = { timeoutMs: 180_000 };

describe.skipIf(image === '')(
  'docker compose, with four workers (needs a Docker engine with compose)',
  () => {
    let project: ComposeProject;

    beforeAll(async () => {
      project = await composeProject(image);
      await project.up(4);
    });
    afterAll(async () => {
      await project.remove();
    });

    const inBackground = async (text: string): Promise<string> => {
      const { status, body } = await project.caller.create({
        input: slow(text),
        background: true,
        store: true,
      });
      expect(status).toBe(200);
      return body.id;
    };
    const many = (count: number, text: string) =>
      Promise.all(Array.from({ length: count }, (_, at) => inBackground(`${text} ${at}`)));
    const areUnderWay = (ids: readonly string[]) =>
      eventually(async () => {
        const answers = await Promise.all(ids.map((id) => project.caller.get(id)));
        return answers.some(({ body }) => body.status === 'in_progress');
      });
    /** What becomes of each, once all have ended. */
    const endsOf = (ids: readonly string[]) =>
      eventually(async () => {
        const answers = await Promise.all(ids.map((id) => project.caller.get(id)));
        const statuses = answers.map(({ status, body }) =>
          status === 200 ? body.status : `status ${status}`,
        );
        return statuses.every((status) => !['queued', 'in_progress'].includes(status)) && statuses;
      }, rescue);
    const allCompleted = async (ids: readonly string[]) =>
      expect(await endsOf(ids)).toEqual(ids.map(() => 'completed'));
    /** Whether a container runs again after its process was killed. */
    const restarted = (id: string) =>
      eventually(async () => {
        const [container] = await inspectContainers([id]);
        return container !== undefined && container.RestartCount > 0 && container.State.Status === 'running';
      }, rescue);

    it('answers whole, as a stream and in the background', async () => {
      const whole = await project.caller.create({ input: 'Hello' });
      expect(whole).toMatchObject({ status: 200, body: { status: 'completed' } });
      const stream = await project.caller.stream({ input: 'Hello' });
      expect(stream.final).toMatchObject({ status: 'completed' });
      expect(stream.text).not.toBe('');
      await allCompleted([await inBackground('Hello')]);
    });

    it('shows the console and metrics to who has the token, and to nobody else', async () => {
      const headers = { authorization: `Bearer ${project.adminToken}` };
      for (const path of ['/console', '/metrics']) {
        expect((await fetch(`${project.adminUrl}${path}`, { headers })).status).toBe(200);
        expect((await fetch(`${project.adminUrl}${path}`)).status).toBe(401);
      }
    });

    it('runs nothing as root, and nothing with a capability', async () => {
      const containers = await project.containers();
      expect(containers).toHaveLength(6);
      for (const { Id, Name } of containers) {
        const processes = await processesOf(Id, Name);
        expect(processes.length, Name).toBeGreaterThan(0);
        for (const { uids, capabilities } of processes) {
          expect(uids, Name).not.toContain(0);
          expect(BigInt(`0x${capabilities}`), Name).toBe(0n);
        }
      }
    });

    it('writes nothing to its file system, even as root', async () => {
      for (const { Id, Name } of await project.containers()) {
        const write = Name.includes('valkey')
          ? ['sh', '-c', 'echo x >/written']
          : ['node', '--eval', 'require("node:fs").writeFileSync("/app/written", "x")'];
        const { code, errors } = await tryDocker(['exec', '--user', '0', Id, ...write]);
        expect(code, Name).not.toBe(0);
        expect(errors, Name).toMatch(/read-only file system/i);
      }
    });

    it('keeps the store to itself', async () => {
      const [store] = await project.containers('valkey');
      if (store === undefined) throw new Error('there is no store');
      expect(Object.values(store.NetworkSettings.Ports).flatMap((bindings) => bindings ?? [])).toEqual([]);
      const network = await docker([
        'network',
        'inspect',
        '--format',
        '{{.Internal}}',
        `${project.name}_store`,
      ]);
      expect(network.trim()).toBe('true');
      // From the network on which the others reach models, its name leads nowhere.
      const lookUp = 'require("node:dns").lookup("valkey", (error) => console.log(error?.code))';
      const neighbour = [
        'run',
        '--rm',
        '--network',
        `${project.name}_outside`,
        '--entrypoint',
        'node',
        image,
      ];
      expect((await docker([...neighbour, '--eval', lookUp])).trim()).toMatch(/ENOTFOUND|EAI_AGAIN/);
      const withoutPassword = ['--env', 'VALKEYCLI_AUTH=', '--env', 'REDISCLI_AUTH='];
      const ping = await docker(['exec', ...withoutPassword, store.Id, 'valkey-cli', 'ping']);
      expect(ping).toMatch(/NOAUTH/);
    });

    it('publishes its ports on this machine alone', async () => {
      const containers = await project.containers();
      const bindings = containers.flatMap(({ NetworkSettings }) =>
        Object.values(NetworkSettings.Ports).flatMap((ports) => ports ?? []),
      );
      expect(bindings.map(({ HostIp }) => HostIp)).toEqual(['127.0.0.1', '127.0.0.1']);
    });

    it('loses no response when two workers and the api are killed', async () => {
      const ids = await many(20, 'Over a crash');
      await areUnderWay(ids);
      const workers = await project.containers('worker');
      const victims = [...workers.slice(0, 2), ...(await project.containers('api'))].map(({ Id }) => Id);
      await Promise.all(victims.map((id) => project.crash(id)));
      await Promise.all(victims.map(restarted));
      await project.answers();
      await allCompleted(ids);
    });

    it('loses no response when the store is restarted', async () => {
      const ids = await many(10, 'Over a restart of the store');
      await areUnderWay(ids);
      await project.compose('restart', 'valkey');
      await project.answers();
      await allCompleted(ids);
      expect((await project.caller.create({ input: 'Afterwards' })).status).toBe(200);
    });

    it('scales up and down under load without a failed request', async () => {
      const ids = await many(10, 'While it scales');
      await areUnderWay(ids);
      await project.up(6);
      expect(await project.containers('worker')).toHaveLength(6);
      const whole = project.caller.create({ input: slow('Over the way down') });
      await project.up(2);
      expect(await project.containers('worker')).toHaveLength(2);
      expect(await within(whole, rescue)).toMatchObject({ status: 200, body: { status: 'completed' } });
      await allCompleted(ids);
    });

    it('stops within its grace with exit code 0, and goes on afterwards', async () => {
      // Longer than a drain: these are given back.
      const long = 'On the next day [[sluice: tokens=400 tokens_per_second=10]]';
      const { body } = await project.caller.create({ input: long, background: true, store: true });
      const ids = [body.id, ...(await many(6, 'Over a stop'))];
      await areUnderWay([body.id]);
      const whole = project.caller.create({ input: slow('Until the end') });
      await eventually(async () => (await running(project)) > 1);
      await project.compose('stop');
      expect(await whole).toMatchObject({ status: 200, body: { status: 'completed' } });
      const containers = await project.containers();
      const ends = containers.map(({ Name, State }) => `${Name} ${State.Status} ${State.ExitCode}`);
      expect(ends).toEqual(containers.map(({ Name }) => `${Name} exited 0`));
      await project.up(2);
      await allCompleted(ids);
    });
  },
);

/** How many responses run, as the api's admin listener says. */
async function running({ adminUrl, adminToken }: ComposeProject): Promise<number> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const answer = await fetch(`${adminUrl}/scale`, { headers });
  // The page of deployment says what it has.
  return ((await answer.json()) as { active: number }).active;
}

interface ProcessFacts {
  /** Real, effective, saved and of the file system. */
  uids: number[];
  /** The bits of what it may do, in hexadecimal. */
  capabilities: string;
}

/** What the kernel says of each process of a container. */
async function processesOf(id: string, name: string): Promise<ProcessFacts[]> {
  const text = name.includes('valkey')
    ? await docker(['exec', id, 'sh', '-c', 'cat /proc/[0-9]*/status 2>/dev/null || true'])
    : await runInside(
        id,
        `for (const file of require('node:fs').globSync('/proc/[0-9]*/status')) {
           console.log(require('node:fs').readFileSync(file, 'utf8'));
         }`,
      );
  return [...text.matchAll(/^Uid:\t(.*)$[\s\S]*?^CapEff:\t(\w+)$/gm)].map(([, uids = '', bits = '']) => ({
    uids: uids.split('\t').map(Number),
    capabilities: bits,
  }));
}
