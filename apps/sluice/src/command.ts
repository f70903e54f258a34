import { describeFlags, wantsHelp } from '@sluice/config';
import { FatalError, runMain, serviceVersion } from '@sluice/runtime';

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
      case 'keys': {
        const { keysUsage, runKeys } = await import('./keys/keys-command.ts');
        return wantsHelp(rest) ? print(keysUsage()) : runKeys(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'responses': {
        const { runResponses } = await import('./responses/responses-command.ts');
        return runResponses(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'batch': {
        const { runBatchCommand } = await import('./batch/batch-command.ts');
        return runBatchCommand(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'queues': {
        const { runQueues } = await import('./queues/queues-command.ts');
        return runQueues(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'models': {
        const { runModels } = await import('./models/models-command.ts');
        return runModels(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'providers': {
        const { runProviders } = await import('./providers/providers-command.ts');
        return runProviders(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'webhooks': {
        const { runWebhooks } = await import('./webhooks/webhooks-command.ts');
        return runWebhooks(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'tenants': {
        const { runTenants } = await import('./tenants/tenants-command.ts');
        return runTenants(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'usage': {
        const { runUsage } = await import('./usage/usage-command.ts');
        return runUsage(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'cells': {
        const { runCells } = await import('./cells/cells-command.ts');
        return runCells(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'doctor': {
        const { runDoctor } = await import('./doctor/doctor-command.ts');
        return runDoctor(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'bench': {
        const { runBench } = await import('./bench/bench-command.ts');
        return runBench(rest, { env: process.env, cwd: process.cwd() });
      }
      case 'version':
      case '--version':
      case '-v':
        return print(serviceVersion);
      case undefined:
      case 'help':
      case '--help':
      case '-h':
        return print(usage);
      default:
        throw new FatalError(
          `There is no command '${command}': use start, api, worker, keys, responses, batch, queues, models, providers, webhooks, tenants, usage, cells, doctor or bench.`,
          {
            exitCode: 2,
          },
        );
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
