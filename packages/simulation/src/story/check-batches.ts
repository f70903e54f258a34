import type { Batch } from '@sluice/contract';
import { diskFolder } from '../world/simulated-disk.ts';
import { askUntilDone } from './ask-api.ts';
import { callsToComplete, isQuiet } from './check-calls.ts';
import { checkResponse, type ReadResponse } from './check-response.ts';
import type { History } from './history.ts';
import type { FaultPlan, PromptPlan } from './scenario.ts';
import { askOf, ended, type SimulatedBatch } from './simulated-batch.ts';

/** A line of one of the two files of results. */
interface Result {
  custom_id: string;
  response: { status_code: number; body: ReadResponse & { error: { code: string } | null } } | null;
  error: { code: string } | null;
}

/** Holds batches against what is promised of them: each ends, and each of its lines has one result, which is that of one response. */
export async function checkBatches(history: History): Promise<string[]> {
  const problems = await Promise.all(
    history.batches.map(async (batch) => {
      const found = await checkBatch(history, batch);
      return found.map((problem) => `${batch.plan.name}: ${problem}`);
    }),
  );
  return [...problems.flat(), ...checkDisk(history)];
}

async function checkBatch(history: History, batch: SimulatedBatch): Promise<string[]> {
  const { plan, end, fileId } = batch;
  const { begunMs, doneMs } = batch;
  const losses = history.losses.filter(({ fromMs, toMs }) => begunMs <= toMs && doneMs >= fromMs).length;
  const all = await listed(history, batch);
  const own = all.filter(({ input_file_id: input }) => input === fileId);
  const problems: string[] = [];
  const open = own.filter(({ status }) => !ended.has(status));
  for (const { id, status } of open) problems.push(`${id} has not ended: it is ${status}`);
  if (losses === 0) {
    if (!end) problems.push('nobody was told of its end');
    const known = own.find(({ id }) => id === batch.id);
    if (end === 'none') {
      // A create that was refused is taken back, also behind somebody who has found it meanwhile.
      if (!batch.wasListed) problems.push(`${batch.id} is gone`);
    } else if (end && JSON.stringify(known) !== JSON.stringify(end))
      problems.push(`it was told ${JSON.stringify(end)}, and it is ${JSON.stringify(known)}`);
    if (own.length > 1 && !batch.wasRefused) problems.push(`${own.length} batches of one create`);
  }
  for (const each of own) problems.push(...(await checkResults(history, batch, { batch: each, losses })));
  if (losses === 0 && own.length === 1)
    problems.push(...plan.lines.flatMap((line) => checkRuns(history, line)));
  return problems;
}

/** The two files of a batch, its counts and its status say the same. */
async function checkResults(
  history: History,
  asked: SimulatedBatch,
  { batch, losses }: { batch: Batch; losses: number },
): Promise<string[]> {
  const { plan } = asked;
  // One that was refused is taken back, or cancelled when it has begun.
  const isCancelled = asked.isCancelled || asked.wasListed;
  const [outputs, failures] = await Promise.all([
    resultsOf(history, asked, batch.output_file_id),
    resultsOf(history, asked, batch.error_file_id),
  ]);
  const problems = checkCounts(batch, {
    lines: plan.lines.length,
    outputs: outputs.length,
    failures: failures.length,
  });
  const isAsItShould = batch.status === 'completed' || (isCancelled && batch.status === 'cancelled');
  if (losses === 0 && !isAsItShould) problems.push(`it is ${batch.status}: ${JSON.stringify(batch.errors)}`);
  const lines = new Map(plan.lines.map((line) => [line.name, line]));
  const seen = new Set<string>();
  for (const result of [...outputs, ...failures]) {
    const { custom_id: id } = result;
    const line = lines.get(id);
    if (seen.has(id)) problems.push(`the line ${id} has two results`);
    seen.add(id);
    if (!line) problems.push(`${id} is no line`);
    else problems.push(...checkResult(history, line, { result, losses, isCancelled }));
  }
  return problems;
}

function checkCounts(
  { status, request_counts: counts }: Batch,
  { lines, outputs, failures }: { lines: number; outputs: number; failures: number },
): string[] {
  const { total, completed, failed } = counts;
  const problems: string[] = [];
  if (completed !== outputs || failed !== failures)
    problems.push(`it counts ${completed} and ${failed}, and its files have ${outputs} and ${failures}`);
  if (status === 'completed' && (total !== lines || completed + failed !== total))
    problems.push(`it is completed with ${completed} and ${failed} of ${total}, and has ${lines} lines`);
  return problems;
}

/** The results of a file, which every api reads alike. */
async function resultsOf(
  { service }: History,
  { plan }: SimulatedBatch,
  id: string | null | undefined,
): Promise<Result[]> {
  if (typeof id !== 'string') return [];
  const texts = new Set<string>();
  for (const api of service.apis) {
    const text = await askUntilDone({ world: service.world, apis: [api] }, () =>
      askOf(api, plan, ({ files }, owner) => contentOf(files, owner, id)),
    );
    texts.add(text);
  }
  if (texts.size > 1) throw new Error(`Apis read ${id} in ${texts.size} ways`);
  const [text = ''] = texts;
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Result); // as `answered` prints it
}

async function contentOf(
  files: Parameters<Parameters<typeof askOf>[2]>[0]['files'],
  { tenant }: { tenant: string },
  id: string,
): Promise<string> {
  const { content } = await files.read(tenant, id);
  return Buffer.concat(await content.toArray()).toString();
}

function checkResult(
  history: History,
  line: PromptPlan,
  { result, losses, isCancelled }: { result: Result; losses: number; isCancelled: boolean },
): string[] {
  const { response } = result;
  if (!response) return [`the line ${line.name} has no answer: ${JSON.stringify(result.error)}`];
  const { body, status_code: status } = response;
  const told = (problem: string) => `the line ${line.name} ${problem}`;
  if (status === 200) {
    const problems = checkResponse(history, line, body, losses).map(told);
    if (body.metadata.caller !== line.name) problems.push(told(`has the answer to ${body.metadata.caller}`));
    return problems;
  }
  const most = callsToComplete(line);
  return isQuiet(history) && most !== undefined && !isCancelled
    ? [told(`should complete, and is ${status}: ${JSON.stringify(body.error)}`)]
    : [];
}

/** Faults under which the process that runs a batch finds what another one has begun. */
const findable: readonly FaultPlan['kind'][] = ['stop', 'cut', 'lose a reply', 'full disk'];

/** A line is one response, whichever process runs its batch, and its upstream comes to the end of its answer once. */
function checkRuns({ upstream, scenario }: History, { name, calls: [first] }: PromptPlan): string[] {
  // A response whose worker dies is run again.
  const isFindable = scenario.faults.every((fault) =>
    'process' in fault && fault.kind === 'kill'
      ? fault.process.startsWith('api')
      : findable.includes(fault.kind),
  );
  // Each release begins its lines anew, and a key is free once its response has failed.
  if (!isFindable || scenario.hasTwoReleases === true || first.end !== 'finish') return [];
  const said = upstream.callsOf(name).filter(({ isOver, planned }) => isOver && planned === 'finish');
  return said.length > 1 ? [`the line ${name} was answered ${said.length} times by its upstream`] : [];
}

/** Nothing stays on the disk but files: no work that is done, and no draft that nobody writes. */
function checkDisk({ service, batches, losses, scenario }: History): string[] {
  const dies = scenario.faults.some(({ kind }) => kind === 'kill' || kind === 'stop');
  if (losses.length > 0 || batches.length === 0) return [];
  const empty = dies ? ['batches'] : ['batches', 'drafts'];
  return service.disk.paths
    .filter((path) => empty.some((folder) => path.startsWith(`${diskFolder}/files/${folder}/`)))
    .map((path) => `${path} is left`);
}

async function listed({ service }: History, { plan }: SimulatedBatch): Promise<Batch[]> {
  return askUntilDone(service, (api) =>
    askOf(api, plan, async ({ batches }, { tenant }) => (await batches.list(tenant, { limit: 100 })).data),
  );
}
