import { describeFlags, wantsHelp } from '@sluice/config';
import { FatalError, runMain, serviceVersion } from '@sluice/runtime';
import type { Surroundings } from './service-sources.ts';

const usage = `Usage: sluice <command> [flags]

  start    everything in one terminal: an api, workers, and a store unless REDIS_URL is set
  api      an api process       (needs REDIS_URL)
  worker   a worker process     (needs REDIS_URL)

  keys create | list | limit | rotate | revoke    makes, shows, changes, replaces or ends API keys of a running service
  responses list | get | show | tail | cancel     finds, shows, follows or cancels responses of a running service
  batch run FILE                                  runs the lines of a file as a batch, and writes their answers beside it
  queues list | pause | resume | drain            shows, stops, starts or empties whole queues
  models [NAME] | add | change | remove           shows each model and its queue, and changes those that are stored
  providers [ID] | add | change | remove          shows each provider, and changes those that are stored
  webhooks list | send                            shows deliveries of webhooks, and sends them again
  tenants [NAME]                                  shows the limits of each tenant and their use
  usage                                           shows what responses took, by tenant, key, model and time
  cells [forget NAME]                             shows the cells of the store, and forgets one that is gone
  doctor   looks at the settings, Redis and the upstreams, and says what to correct
  bench    drives an endpoint with load, this service or another one, and reports its figures

'sluice <command> --help' lists the flags of a command, and 'sluice --version' says which release this is.`;

/** Those that run until they are told to stop, whoever reads their log. */
const roles: ReadonlySet<string | undefined> = new Set(['start', 'api', 'worker']);

/** Each of the other commands, which is loaded only when it runs. */
const tools: ReadonlyMap<
  string,
  () => Promise<(argv: readonly string[], place: Surroundings) => Promise<void>>
> = new Map([
  ['keys', async () => (await import('./keys/keys-command.ts')).runKeys],
  ['responses', async () => (await import('./responses/responses-command.ts')).runResponses],
  ['batch', async () => (await import('./batch/batch-command.ts')).runBatchCommand],
  ['queues', async () => (await import('./queues/queues-command.ts')).runQueues],
  ['models', async () => (await import('./models/models-command.ts')).runModels],
  ['providers', async () => (await import('./providers/providers-command.ts')).runProviders],
  ['webhooks', async () => (await import('./webhooks/webhooks-command.ts')).runWebhooks],
  ['tenants', async () => (await import('./tenants/tenants-command.ts')).runTenants],
  ['usage', async () => (await import('./usage/usage-command.ts')).runUsage],
  ['cells', async () => (await import('./cells/cells-command.ts')).runCells],
  ['doctor', async () => (await import('./doctor/doctor-command.ts')).runDoctor],
  ['bench', async () => (await import('./bench/bench-command.ts')).runBench],
]);

/** Runs the command that the arguments name, and sets the exit code: 2 for an unknown command. */
export function runCommand(argv: readonly string[]): Promise<void> {
  const [command, ...rest] = argv;
  return runMain(async () => {
    if (!roles.has(command)) endWithItsReader();
    switch (command) {
      case 'start':
      case 'api':
      case 'worker':
        if (wantsHelp(rest)) return print(`Usage: sluice ${command} [flags]\n\n${describeFlags(command)}`);
        return runRole(command, rest);
      case 'version':
      case '--version':
      case '-v':
        return print(serviceVersion);
      case undefined:
      case 'help':
      case '--help':
      case '-h':
        return print(usage);
      default: {
        const load = tools.get(command);
        if (load) return (await load())(rest, { env: process.env, cwd: process.cwd() });
        const known = ['start', 'api', 'worker', ...tools.keys()];
        const message = `There is no command '${command}': use ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`;
        throw new FatalError(message, { exitCode: 2 });
      }
    }
  });
}

/** Loads a role only when it runs: a worker needs no HTTP server. */
async function runRole(role: 'start' | 'api' | 'worker', argv: readonly string[]): Promise<void> {
  switch (role) {
    case 'start': {
      const { start } = await import('./start.ts');
      return start(argv);
    }
    case 'api': {
      const { buildConsoleBeside } = await import('./console-build.ts');
      const stopBuild = buildConsoleBeside({ say: console.error, isWatched: process.stderr.isTTY });
      try {
        const { runApi } = await import('@sluice/api');
        return await runApi(argv);
      } finally {
        await stopBuild();
      }
    }
    case 'worker': {
      const { runWorker } = await import('@sluice/worker');
      return runWorker(argv);
    }
  }
}

/** Ends the process once nobody reads what it prints, as behind `| head`. */
function endWithItsReader(): void {
  process.stdout.on('error', (error) => {
    if (!('code' in error) || error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

function print(text: string): void {
  console.log(text);
}
