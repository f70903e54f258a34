/** What one test says of one feature of a client. */
export interface FeatureResult {
  /** The client as its tests call it: the file's outermost `describe`, up to ` at `. */
  client: string;
  feature: string;
  mount: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** What a test remarks of the client, in `task.meta.remark`. */
  remark: string | undefined;
}

interface JsonReport {
  testResults: {
    assertionResults: {
      ancestorTitles: string[];
      title: string;
      status: string;
      meta?: { remark?: string };
    }[];
  }[];
}

/**
 * Reads the report that vitest writes as JSON. A test belongs to the `describe` named `<client> at <mount>`.
 *
 * @throws {Error} If a test stands elsewhere, because it would be missing in the table.
 */
export function readResults(report: string): FeatureResult[] {
  const { testResults } = JSON.parse(report) as JsonReport; // the format of vitest's reporter
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title, status, meta }) => {
      const [, client, mount] = /^(.*) at (\/\S*)$/.exec(ancestorTitles.at(-1) ?? '') ?? [];
      if (client === undefined || mount === undefined) {
        throw new Error(`the test '${title}' belongs to no client and mount`);
      }
      const outcome = status === 'passed' || status === 'failed' ? status : 'skipped';
      return { client, feature: title, mount, outcome, remark: meta?.remark };
    }),
  );
}
