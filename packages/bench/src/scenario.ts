import type { BenchRedis } from './bench-redis.ts';
import type { Child } from './child-process.ts';
import type { Progress } from '@sluice/testing';
import type { Cost } from './guard.ts';
import type { Table } from './table.ts';

/** What a scenario may use. It starts its other processes itself, and stops them before it returns. */
export interface ScenarioContext {
  redis: BenchRedis;
  upstream: Child;
  upstreamUrl: string;
  load: Child;
  /** A folder for files, removed after the run. */
  directory: string;
  quick: boolean;
  profile: string | undefined;
  progress: Progress;
  /** Names of what to compare with: gateways, and durable peers. Empty: all that are known. */
  rivals: readonly string[];
  /** The root of another build of the service, to be measured beside this one. */
  against: string | undefined;
}

/** A part of the page. */
export interface ScenarioReport {
  title: string;
  /** What was measured and how, for a reader of the figures. */
  description: string;
  tables: Table[];
  /** Those that the guard watches. */
  costs?: Cost[];
}

export interface Scenario {
  name: string;
  run(context: ScenarioContext): Promise<ScenarioReport>;
}
