/** The role of a process: the whole service in one terminal, or one part of it. */
export type Role = 'start' | 'api' | 'worker';

/** A setting that a variable or a flag may give, in place of the value at `path` of the file. */
export interface OuterSetting {
  path: readonly string[];
  flag: string;
  variable?: string;
  /** The only role that has it. Absent: every role. */
  role?: Role;
}

/** The environment variables and flags. Descriptions, units and defaults come from the schema at `path`. */
export const outerSettings: readonly OuterSetting[] = [
  { path: ['server', 'host'], variable: 'HOST', flag: '--host' },
  { path: ['server', 'port'], variable: 'PORT', flag: '--port' },
  { path: ['redisUrl'], variable: 'REDIS_URL', flag: '--redis-url' },
  { path: ['logLevel'], variable: 'LOG_LEVEL', flag: '--log-level' },
  { path: ['server', 'adminHost'], variable: 'ADMIN_HOST', flag: '--admin-host' },
  { path: ['server', 'adminPort'], variable: 'ADMIN_PORT', flag: '--admin-port' },
  { path: ['server', 'adminToken'], variable: 'ADMIN_TOKEN', flag: '--admin-token' },
  {
    path: ['server', 'adminActionToken'],
    variable: 'ADMIN_ACTION_TOKEN',
    flag: '--admin-action-token',
  },
  { path: ['workerConcurrency'], variable: 'WORKER_CONCURRENCY', flag: '--worker-concurrency' },
  { path: ['workerHealthPort'], variable: 'WORKER_HEALTH_PORT', flag: '--worker-health-port' },
  { path: ['dataDir'], variable: 'DATA_DIR', flag: '--data-dir' },
  { path: ['drainTimeoutMs'], variable: 'DRAIN_TIMEOUT_MS', flag: '--drain-timeout-ms' },
  { path: ['discover'], variable: 'SLUICE_DISCOVER', flag: '--discover', role: 'start' },
  { path: ['workers'], flag: '--workers', role: 'start' },
];

/** The path of the file, which cannot be a setting in the file. */
export const fileSetting = {
  variable: 'SLUICE_CONFIG',
  flag: '--config',
  default: './sluice.yaml',
  description: 'The settings file. A file that is named must exist. The default one may be missing.',
} as const;

/** The value of a variable. An empty one counts as not set: compose files set variables to nothing. */
export function readVariable(env: Environment, name: string): string | undefined {
  const text = Object.hasOwn(env, name) ? env[name] : undefined;
  return text === undefined || text === '' ? undefined : text;
}

/** Environment variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;
