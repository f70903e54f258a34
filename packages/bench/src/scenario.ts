import type { BenchRedis } from './bench-redis.ts';
import type { Child } from './child-process.ts';
import type { Progress } from '@sluice/testing';
import type { Table } from './table.ts';

/** A file that the page shows, in a folder beside it. */
export interface Picture {
  /** Its name, `*.svg`. */
  file: string;
  /** What it shows, for a reader who does not see it. */
  alt: string;
  svg: string;
}

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
  /** Names of the gateways to compare with. Empty: all that are known. */
  gateways: readonly string[];
  /** By `performance.now()`: when the scenario has used up its time. Every long wait ends by then. */
  deadline: number;
}

/** A part of the page. */
export interface ScenarioReport {
  title: string;
  /** What was measured and how, for a reader of the figures. */
  description: string;
  tables: Table[];
  pictures?: Picture[];
}

export interface Scenario {
  name: string;
  /** How long it may take. */
  budgetMs?: number;
  run(context: ScenarioContext): Promise<ScenarioReport>;
}
