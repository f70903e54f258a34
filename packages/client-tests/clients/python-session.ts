import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { forAllTests, within } from '@sluice/testing';
import type { Asked, StreamRead } from './broken-connections.ts';
import { pythonVersion } from '../src/tested-clients.ts';

/** A Python that runs one script after another: to load the package takes it longer than most scripts. */
interface PythonSession {
  /** Runs a script and returns what it gives to `show(**values)`. Rejects with the traceback if it raises. */
  run: (script: string, key: string) => Promise<unknown>;
  close: () => Promise<void>;
}

/** The packages that scripts use. */
export type PythonPackage = 'openai' | 'anthropic';

/** The names that a script has of each package. Its key is in the environment. */
const names: Record<PythonPackage, string> = {
  openai: `
    client = openai.OpenAI(max_retries=0, timeout=20)
    names = {"client": client, "responses": client.responses, "openai": openai}`,
  anthropic: `
    client = anthropic.Anthropic(max_retries=0, timeout=20)
    names = {"client": client, "messages": client.messages, "anthropic": anthropic}`,
};

/** Each line of the input is a script with its key; each line of the output is what it shows. */
const driverOf = (name: PythonPackage) => `
import json, os, sys, time, traceback
import ${name}
print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    os.environ["${name.toUpperCase()}_API_KEY"] = order["key"]
    answer = {}${names[name]}
    names.update(json=json, time=time, show=lambda **values: answer.update(shown=values))
    try:
        exec(order["script"], names)
    except Exception:
        answer["raised"] = traceback.format_exc()
    print(json.dumps(answer), flush=True)
`;

/** Whether the Python on the PATH has the package in the version that is pinned. Says so if it does not. */
export function hasPython(name: PythonPackage): boolean {
  const version = pythonVersion(name);
  try {
    const script = `import importlib.metadata; print(importlib.metadata.version("${name}"))`;
    const printed = execFileSync('python3', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    if (printed.toString().trim() === version) return true;
  } catch {
    // There is no Python, or no package.
  }
  console.warn(`Tests of Python need the package ${name} ${version} and are skipped.`);
  return false;
}

async function startPython(name: PythonPackage, baseUrl: string): Promise<PythonSession> {
  const child = spawn('python3', ['-c', driverOf(name)], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      [`${name.toUpperCase()}_BASE_URL`]: baseUrl,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  // Beside other work it may take a machine half a minute to load a package.
  await within(answers.next(), { timeoutMs: 90_000 });
  return {
    async run(script, key) {
      child.stdin.write(`${JSON.stringify({ script, key })}\n`);
      const line = await within(answers.next(), { timeoutMs: 25_000 });
      if (line.done === true) throw new Error('Python ended');
      // What the driver prints.
      const { shown, raised } = JSON.parse(line.value) as { shown?: unknown; raised?: string };
      if (raised !== undefined) throw new Error(raised);
      return shown;
    },
    async close() {
      child.stdin.end();
      child.kill();
      await exited;
    },
  };
}

/** The session of a suite, which runs for as long as that does: see `forAllTests`. */
export function pythonSession(name: PythonPackage, baseUrl: () => string): PythonSession {
  return forAllTests(() => startPython(name, baseUrl()));
}

/** How a package for Python asks, in its own words. */
interface PythonCalls {
  session: PythonSession;
  /** What every script begins with. */
  beginning: string;
  address: (asked: Asked) => string;
  /** The call of a method of a client, with `prompt`, `once` and `stream`. */
  create: string;
  /** The text of the whole `answer`. */
  whole: string;
  /** The text of a `part` of a stream. */
  piece: string;
}

/** Asks for a whole answer and for a stream in a session, for the tests of broken connections. */
export function askInPython(calls: PythonCalls): {
  whole: (asked: Asked) => Promise<string>;
  stream: (asked: Asked) => Promise<StreamRead>;
} {
  const run = (asked: Asked, script: string) => {
    const { prompt, once, maxRetries, apiKey } = asked;
    const given = [calls.address(asked), prompt, once].map((text) => JSON.stringify(text));
    const beginning = `${calls.beginning}
address, prompt, key = ${given.join(', ')}
once = {"Idempotency-Key": key}
retrying = client.with_options(base_url=address, max_retries=${maxRetries})
def ask(stream):
    return retrying.${calls.create}
`;
    return calls.session.run(`${beginning}${script}`, apiKey);
  };
  return {
    async whole(asked) {
      // What the script shows.
      const { text } = (await run(asked, `answer = ask(False)\nshow(text=${calls.whole})\n`)) as {
        text: string;
      };
      return text;
    },
    async stream(asked) {
      const script = `
text = ""
try:
    for part in ask(True):
        text += ${calls.piece}
    show(text=text)
except Exception as error:
    show(text=text, error=type(error).__name__)
`;
      return (await run(asked, script)) as StreamRead; // The same.
    },
  };
}
