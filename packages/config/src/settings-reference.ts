import { fileSetting, outerSettings } from './environment-variables.ts';
import { liveLimits } from './changed-settings.ts';
import { traceVariables } from './trace-settings.ts';
import { defaultOf, expectationOf, nodeAt, type SchemaNode, settingsTree } from './schema-node.ts';

/** The command that renews the page; a test compares the page with what this file renders. */
export const renewReference =
  'npx node --conditions=sluice-source packages/config/src/settings-reference.ts > docs/settings.md';

/** Renders the reference page from the schema: variables and flags, then every setting of the file. */
export function renderSettingsReference(): string {
  const tree = settingsTree();
  return [
    '# Settings',
    '',
    `<!-- Made from packages/config; renew it with: ${renewReference} -->`,
    '',
    'A flag wins over the environment, the environment over the file, and the file over the default. An empty variable',
    'counts as not set. `sluice.example.yaml` is an example of a file.',
    '',
    'Each running api and worker reads the file again when it changes. `models` and `providers` then take effect within seconds, in',
    `an api also \`keys\` and, of \`limits\`, ${liveLimits.map(code).join(', ')}.`,
    'Everything else waits for a restart, and a line of the log names it.',
    '',
    '## Environment and flags',
    '',
    ...table(['variable', 'flag', 'in the file', 'default', 'what it is'], outerRows(tree)),
    '',
    '`UPSTREAM_` and 1 to 64 capital letters, digits or underscores is the name of a variable with the key of a stored provider, which names it as',
    '`apiKeyVariable` ([upstreams.md](upstreams.md)). Each worker reads those variables when it starts.',
    '',
    '## Traces',
    '',
    'The variables of OpenTelemetry that are heeded, in no file and with no flag. Those of OTLP may have `TRACES_` in their',
    'names, as in `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, and win then.',
    '',
    ...table(['variable', 'default', 'what it is'], traceRows()),
    '',
    '## File',
    '',
    'Any text value may contain `${NAME}`, which reads an environment variable. A missing variable is an error, and so is',
    'an unknown setting. `$${` stands for `${` itself. Durations, sizes and counts are plain numbers in the unit given.',
    '',
    ...topLevel(tree),
    ...Object.entries(tree.properties ?? {}).flatMap(([name, node]) => section(name, node)),
  ].join('\n');
}

type Row = readonly string[];

function traceRows(): Row[] {
  return traceVariables.map((each) => [
    code(each.name),
    each.default === '' ? '' : code(each.default),
    each.description,
  ]);
}

function outerRows(tree: SchemaNode): Row[] {
  const file = [
    code(fileSetting.variable),
    code(fileSetting.flag),
    '',
    code(fileSetting.default),
    fileSetting.description,
  ];
  const rows = outerSettings.map(({ variable, flag, path, role }) => {
    const node = nodeAt(tree, path, undefined) ?? {};
    const only = role === undefined ? '' : ` Only \`${role}\` has it.`;
    return [
      variable === undefined ? '' : code(variable),
      code(flag),
      code(path.join('.')),
      defaultCell(node),
      `${descriptionOf(node)}${only}`,
    ];
  });
  return [file, ...rows];
}

const heads = ['setting', 'value', 'default', 'what it is'];

/** The settings outside of any section. */
function topLevel(tree: SchemaNode): string[] {
  const rows = Object.entries(tree.properties ?? {})
    .filter(([, node]) => rowsOf(node, '').length === 0)
    .map(([name, node]) => rowOf(name, node, false));
  return ['### Without a section', '', ...table(heads, rows), ''];
}

function section(name: string, node: SchemaNode): string[] {
  const rows = rowsOf(node, '');
  return rows.length === 0 ? [] : [`### ${name}`, '', descriptionOf(node), '', ...table(heads, rows), ''];
}

/** The settings below a node, nested ones under their path. */
function rowsOf(node: SchemaNode, prefix: string): Row[] {
  if (node.items !== undefined) return rowsOf(node.items, prefix);
  if (node.oneOf !== undefined) return unionRows(node.oneOf, prefix);
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const path = `${prefix}${name}`;
    const isNested = child.properties !== undefined || child.items?.properties !== undefined;
    const below = isNested ? rowsOf(child, child.items === undefined ? `${path}.` : `${path}[].`) : [];
    return [rowOf(path, child, node.required?.includes(name) === true), ...below];
  });
}

/** Settings that all kinds share appear once. Each other row names its kinds. */
function unionRows(kinds: readonly SchemaNode[], prefix: string): Row[] {
  const nameOf = (kind: SchemaNode) => kind.properties?.['type']?.const ?? '';
  const rows: Row[] = [
    [code(`${prefix}type`), `one of ${kinds.map(nameOf).join(', ')}`, 'required', 'The kind of upstream.'],
  ];
  const owners = new Map<string, { row: Row; kinds: string[] }>();
  for (const kind of kinds) {
    for (const row of rowsOf(kind, prefix)) {
      if (row[0] === code(`${prefix}type`)) continue;
      const owner = owners.get(row.join('|'));
      if (owner === undefined) owners.set(row.join('|'), { row, kinds: [nameOf(kind)] });
      else owner.kinds.push(nameOf(kind));
    }
  }
  for (const { row, kinds: names } of owners.values()) {
    const [setting = '', value = '', initial = '', description = ''] = row;
    const only = names.length === kinds.length ? '' : ` (${names.join(', ')})`;
    rows.push([setting, value, initial, `${description}${only}`]);
  }
  return rows;
}

function rowOf(path: string, node: SchemaNode, isRequired: boolean): Row {
  return [code(path), valueOf(node), isRequired ? 'required' : defaultCell(node), descriptionOf(node)];
}

function valueOf(node: SchemaNode): string {
  const items = node.items;
  if (items?.enum !== undefined) return `list of ${items.enum.join(', ')}`;
  if (items?.type === 'string') return 'list of text';
  if (node.items !== undefined) return 'list';
  if (node.type === 'object') {
    const { additionalProperties: others } = node;
    return others && others.type === 'string' ? 'mapping of text' : 'mapping';
  }
  return expectationOf(node);
}

function defaultCell(node: SchemaNode): string {
  const value = defaultOf(node);
  return value === undefined ? '' : code(value);
}

function descriptionOf(node: SchemaNode): string {
  const secret = node.secret === true ? ' A secret, never printed.' : '';
  return `${node.description ?? ''}${secret}`;
}

function table(head: Row, rows: readonly Row[]): string[] {
  const line = (row: Row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) process.stdout.write(renderSettingsReference());
