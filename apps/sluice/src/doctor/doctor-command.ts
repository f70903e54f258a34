import { styleText } from 'node:util';
import { FatalError } from '@sluice/runtime';
import { badUsage, parseFlags } from '../command-flags.ts';
import { findRunningService } from '../running-service.ts';
import { loadServiceSettings, type Surroundings } from '../service-sources.ts';
import { checkFiles } from './check-files.ts';
import { checkKeys } from './check-keys.ts';
import { checkRedis } from './check-redis.ts';
import { checkUpstreams } from './check-upstreams.ts';
import { type Finding, good } from './finding.ts';
import { readUpstreams } from './read-upstreams.ts';

export const doctorUsage = `Usage: sluice doctor [flags]

Checks everything that the service needs, changes nothing, and says what to correct: Node, the settings, Redis (version, role,
eviction, log on disk, memory, latency, clock), the API keys, where files are, and whether each upstream answers, of the file and
stored ones. It needs the variables that the settings file names. Ends with 1 when something is bad.

  --config FILE   the settings file [SLUICE_CONFIG, ./sluice.yaml, the one of the service that runs with DATA_DIR]
  --json          prints one line of JSON for each finding`;

/**
 * `sluice doctor`: prints each finding at once.
 *
 * @throws {FatalError} with exit code 1 when something is bad, 2 for wrong arguments; {ConfigError} for settings that
 *   cannot be used.
 */
export async function runDoctor(argv: readonly string[], surroundings: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('doctor', argv, {
    config: { type: 'string' },
    json: { type: 'boolean' },
  });
  const { config, json, help } = values;
  if (positionals.length > 0) throw badUsage('doctor', `'${positionals[0]}' is one argument too many`);
  if (help) return console.log(doctorUsage);
  const given = loadServiceSettings({ config }, surroundings, { neededSecrets: 'all' });
  const running = given.redisUrl === undefined ? findRunningService(given.dataDir) : undefined;
  const settings = running?.kind === 'running' ? { ...given, redisUrl: running.store } : given;
  const file = settings.file ?? 'no file, so defaults and the environment';
  const tell = (findings: readonly Finding[]) => {
    for (const finding of findings) console.log(json ? JSON.stringify(finding) : lineOf(finding));
    return findings;
  };
  const { redisUrl } = settings;
  const before = [
    ...tell([
      good('Node', process.version),
      good('settings', `${file}; ${settings.models.length} models, ${settings.keys.length} keys`),
    ]),
    ...tell(await checkRedis(settings)),
  ];
  const isAway = before.some(({ subject, verdict }) => subject === 'Redis' && verdict === 'bad');
  const upstreams = await readUpstreams(settings, { isAway });
  const findings = [
    ...before,
    ...tell(redisUrl === undefined || isAway ? [] : await checkKeys({ ...settings, redisUrl })),
    ...tell(await checkFiles(settings)),
    ...tell(upstreams.findings),
    ...tell(await checkUpstreams(upstreams)),
  ];
  const count = (verdict: Finding['verdict']) => findings.filter((each) => each.verdict === verdict).length;
  if (count('bad') > 0) throw new FatalError(`${count('bad')} to correct, and ${count('warn')} to look at.`);
  if (!json) console.log(`\nNothing is bad${count('warn') > 0 ? `, and ${count('warn')} to look at` : ''}.`);
}

const marks = { good: '✓', warn: '!', bad: '✗' } as const;
const colours = { good: 'green', warn: 'yellow', bad: 'red' } as const;

/** Coloured on a terminal only. */
function lineOf({ verdict, subject, message }: Finding): string {
  return `${styleText(colours[verdict], marks[verdict])} ${subject}: ${message}`;
}
