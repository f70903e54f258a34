import { describe, expect, inject, it } from 'vitest';
import { docker, tryDocker } from './docker.ts';

const image = inject('image');

/** The aim is 200 MB. */
const mostBytes = 200e6;

interface Sbom {
  bomFormat: string;
  components: {
    name: string;
    version: string;
    purl: string;
    properties?: { name: string; value: string }[];
  }[];
}

interface ImageFacts {
  Size: number;
  Config: { Labels: Record<string, string>; User: string; Env: string[] };
}

describe.skipIf(image === '')('the image (needs a Docker engine with compose)', () => {
  const inside = (script: string) =>
    docker([
      'run',
      '--rm',
      '--network',
      'none',
      '--read-only',
      '--entrypoint',
      'node',
      image,
      '--eval',
      script,
    ]);
  const inspect = async (): Promise<ImageFacts> => {
    // The command prints a JSON array with one object for each name.
    const [facts] = JSON.parse(await docker(['image', 'inspect', image])) as ImageFacts[];
    if (facts === undefined) throw new Error(`${image} is not there`);
    return facts;
  };

  it('is small', async () => {
    expect((await inspect()).Size).toBeLessThan(mostBytes);
  });

  it('says what it is, and holds no secret', async () => {
    const { Labels, User, Env } = (await inspect()).Config;
    expect(Labels).toMatchObject({
      'org.opencontainers.image.title': 'Sluice',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': expect.stringMatching(/^\d+\.\d+\.\d+$/),
      'org.opencontainers.image.revision': expect.any(String),
    });
    expect(User).toBe('1000:1000');
    expect(Env.filter((variable) => /TOKEN|KEY|PASSWORD/.test(variable))).toEqual([]);
  });

  it('carries its licence', async () => {
    expect(await inside(`console.log(require('node:fs').readFileSync('/app/LICENSE', 'utf8'))`)).toMatch(
      /Apache License\s+Version 2\.0/,
    );
  });

  it('lists every package that is in it, and those of which the console is built', async () => {
    const bom = JSON.parse(
      await inside(`console.log(require('node:fs').readFileSync('/app/sbom.cdx.json', 'utf8'))`),
    ) as Sbom;
    expect(bom.bomFormat).toBe('CycloneDX');
    const listed = bom.components.map(({ name, version }) => `${name}@${version}`);
    const found = JSON.parse(await inside(listPackages)) as string[];
    expect(found.length).toBeGreaterThan(50);
    expect(listed).toEqual(expect.arrayContaining(found));
    for (const name of ['node', 'fastify', 'bullmq', 'react', '@mantine/core', 'libc6']) {
      expect(bom.components.map((component) => component.name)).toContain(name);
    }
    expect(bom.components.every(({ purl }) => purl.startsWith('pkg:'))).toBe(true);
  });

  it('holds nothing that only a build or a test needs', async () => {
    const found = (JSON.parse(await inside(listPackages)) as string[]).map((entry) =>
      entry.replace(/@[^@]*$/, ''),
    );
    const unwanted =
      /^(react|react-dom|vite|vitest|typescript|@mantine\/.*|@biomejs\/.*|node-llama-cpp|@ai-sdk\/.*|openai|testcontainers|node-linux-.*)$/;
    expect(found.filter((name) => unwanted.test(name))).toEqual([]);
  });

  it('has no shell and no package manager', async () => {
    for (const program of ['sh', 'bash', 'npm', 'apt']) {
      const { code } = await tryDocker(['run', '--rm', '--entrypoint', program, image]);
      expect(code, program).toBe(127);
    }
  });

  it('runs every command', async () => {
    expect(await docker(['run', '--rm', image, '--help'])).toContain('Usage: sluice');
  });
});

/** Prints the packages under node_modules as a JSON array of `name@version`. Links are ours. */
const listPackages = `
  const fs = require('node:fs');
  const files = fs.globSync('/app/node_modules/{,**/node_modules/}{*,@*/*}/package.json');
  const read = files.filter((file) => !fs.lstatSync(file.slice(0, -13)).isSymbolicLink())
    .map((file) => JSON.parse(fs.readFileSync(file, 'utf8')));
  console.log(JSON.stringify(read.filter(({ version }) => version).map(({ name, version }) => name + '@' + version)));
`;
