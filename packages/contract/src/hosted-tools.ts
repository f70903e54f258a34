import { ServiceError } from './service-error.ts';

/** Tools that the service of a model can run without the client taking part: an upstream may be asked for these. */
export const upstreamToolTypes = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'file_search',
  'code_interpreter',
  'mcp',
] as const;
export type UpstreamToolType = (typeof upstreamToolTypes)[number];

/** The other tools of OpenAI. What they say to a client, and it to them, is not passed on here. */
const otherToolTypes = [
  'apply_patch',
  'computer',
  'computer_use',
  'computer_use_preview',
  'image_generation',
  'local_shell',
  'namespace',
  'programmatic_tool_calling',
  'shell',
  'tool_search',
] as const;

const knownTypes: ReadonlySet<string> = new Set([...upstreamToolTypes, ...otherToolTypes]);

/** The types that the upstreams of a model run, by its id. Models that are not in it have none. */
export type HostedToolsOfModels = Readonly<Record<string, readonly UpstreamToolType[]>>;

/** A tool that the upstream runs, as the client described it. */
export type HostedTool = { type: string } & Readonly<Record<string, unknown>>;

/** The hosted tools that a request asks an upstream for, besides the client's own. Absent where there are none. */
export interface HostedRequest {
  hosted_tools?: HostedTool[];
  /** The one that must be used. */
  hosted_tool_choice?: { type: string };
}

/** Whether a tool has a type that is not one of the client's own. */
export function isForeignTool(value: unknown): value is HostedTool {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  const { type } = value;
  return typeof type === 'string' && type !== '' && type !== 'function' && type !== 'custom';
}

/** Whether a choice of a tool is one of OpenAI's. Of a type that nobody knows it is an error of another kind. */
export function isHostedChoice(value: unknown): value is { type: string } {
  return isForeignTool(value) && knownTypes.has(value.type);
}

/**
 * Finds the tools of a request that its upstream runs.
 *
 * One that it does not run is refused: the answer would be made up where it should have been looked up. Codex sends some with each
 * request, whether its user wants them or not, and does without them; for it they are dropped.
 *
 * @param body a request whose tools are of the right form.
 * @throws {ServiceError} `unsupported_tool`.
 */
export function hostedRequest(
  { model, tools = [], tool_choice: choice, client_metadata: client }: Record<string, unknown>,
  ofModels: HostedToolsOfModels,
): HostedRequest {
  const types: readonly string[] = Object.hasOwn(ofModels, String(model))
    ? (ofModels[String(model)] ?? [])
    : [];
  const maySkip = isCodex(client);
  const hosted: HostedTool[] = [];
  for (const [at, tool] of Array.isArray(tools) ? tools.entries() : []) {
    if (!isForeignTool(tool)) continue;
    if (types.includes(tool.type)) hosted.push(tool);
    else if (!maySkip) throw unsupported(tool.type, `tools[${at}].type`);
  }
  const isChosen = isHostedChoice(choice);
  if (isChosen && !hosted.some(({ type }) => type === choice.type)) {
    if (!maySkip) throw unsupported(choice.type, 'tool_choice.type');
    return withTools(hosted);
  }
  return { ...withTools(hosted), ...(isChosen && { hosted_tool_choice: choice }) };
}

function withTools(hosted: HostedTool[]): HostedRequest {
  return hosted.length > 0 ? { hosted_tools: hosted } : {};
}

/** It says so in a member that no other client sends, over HTTP and in frames alike. */
function isCodex(client: unknown): boolean {
  return (
    typeof client === 'object' &&
    client !== null &&
    Object.keys(client).some((name) => name.startsWith('x-codex-'))
  );
}

function unsupported(type: string, param: string): ServiceError {
  const message = `Tools of type '${type.slice(0, 64)}' are not run here. Send a function or custom tool, and run it yourself.`;
  return new ServiceError('unsupported_tool', message, { param });
}
