import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { within } from '@sluice/testing';

/** A Python that runs one script after another: to load the package takes it longer than most scripts. */
export interface PythonSession {
  /** Runs a script and returns what it gives to `show(**values)`. Rejects with the traceback if it raises. */
  run: (script: string, key: string) => Promise<unknown>;
  close: () => Promise<void>;
}

/** Each line of the input is a script with its key; each line of the output is what it shows. */
const driver = `
import json, os, sys, time, traceback
import openai
for line in sys.stdin:
    order = json.loads(line)
    os.environ["OPENAI_API_KEY"] = order["key"]
    answer = {}
    client = openai.OpenAI(max_retries=0, timeout=20)
    names = {
        "client": client, "responses": client.responses, "openai": openai, "json": json, "time": time,
        "show": lambda **values: answer.update(shown=values),
    }
    try:
        exec(order["script"], names)
    except Exception:
        answer["raised"] = traceback.format_exc()
    print(json.dumps(answer), flush=True)
`;

export function startPython(baseUrl: string): PythonSession {
  const child = spawn('python3', ['-c', driver], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], OPENAI_BASE_URL: baseUrl },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
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
