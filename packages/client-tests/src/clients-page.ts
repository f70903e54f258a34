import type { FeatureResult } from './client-results.ts';

/** A client as its users know it. */
export interface TestedClient {
  /** As its tests call it. */
  name: string;
  language: string;
  /** The packages with their versions: `openai 7.57.0`. */
  packages: string[];
}

const introduction = `# Tested clients

These clients run against the built service: an api and a worker as processes, with the simulator and a scripted model server as
upstreams. Each line is a test, at both mounts: at \`/v1\` the \`object\` of a response is \`response\`, at \`/api/v1\` it is
\`create_response\`. A client needs nothing but the address and a key.

\`npm run test:clients\` runs the tests and fails if this page says anything else than they do.
\`npm run test:clients -- --update-table\` writes it.
`;

/**
 * Writes the page. A client of which nothing ran keeps the section it has in `written`: a machine may lack Python, or
 * a program for its platform.
 */
export function clientsPage(
  clients: readonly TestedClient[],
  results: readonly FeatureResult[],
  written = '',
): string {
  const sections = clients.map((client) => {
    const own = results.filter((result) => result.client === client.name);
    if (own.every(({ outcome }) => outcome === 'skipped')) {
      return sectionIn(written, client.name) ?? section(client, own);
    }
    return section(client, own);
  });
  return [introduction, ...sections].join('\n');
}

function section(client: TestedClient, results: readonly FeatureResult[]): string {
  const mounts = [...new Set(results.map(({ mount }) => mount))].toSorted().toReversed();
  const features = [...new Set(results.map(({ feature }) => feature))];
  const remarks: string[] = [];
  const rows = features.map((feature) => {
    const cells = mounts.map((mount) => {
      const result = results.find((each) => each.feature === feature && each.mount === mount);
      if (result === undefined) return '';
      const { outcome, remark } = result;
      if (outcome !== 'passed' || remark === undefined) return words[outcome];
      if (!remarks.includes(remark)) remarks.push(remark);
      return `${words.passed} [${remarks.indexOf(remark) + 1}]`;
    });
    return [feature, ...cells];
  });
  const lines = remarks.map((remark, index) => `${index + 1}. ${remark}`);
  return `${headingOf(client.name)}
${client.language}: ${client.packages.join(', ')}

${table([['', ...mounts.map((mount) => `\`${mount}\``)], ...rows])}
${lines.length > 0 ? `\n${lines.join('\n')}\n` : ''}`;
}

const words = { passed: 'yes', failed: 'no', skipped: 'not tested' };

function headingOf(name: string): string {
  return `## ${name}\n`;
}

/** The section of a client in a page, with its heading, or undefined. */
function sectionIn(page: string, name: string): string | undefined {
  const heading = headingOf(name);
  const start = page.indexOf(`\n${heading}`);
  if (start < 0) return undefined;
  const end = page.indexOf('\n## ', start + heading.length);
  return page.slice(start + 1, end < 0 ? undefined : end);
}

/** A table whose columns are aligned, as the formatter of the workspace wants it. */
function table(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...body.map(line)].join('\n');
}
