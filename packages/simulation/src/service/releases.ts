import { registerHooks } from 'node:module';
import { startApi } from './simulated-api.ts';
import { startWorker } from './simulated-worker.ts';

/** One release of the service: how its processes are started. */
export interface Release {
  name: string;
  startApi: typeof startApi;
  startWorker: typeof startWorker;
}

export const thisRelease: Release = { name: 'this', startApi, startWorker };

let other: Promise<Release> | undefined;

/** A release that writes other records than this one. It is the same code, loaded once more with another version of them. */
export function otherRelease(): Promise<Release> {
  other ??= loadOther();
  return other;
}

const mark = '?release=other';

/** Everything that depends on the store's records is loaded twice. The rest is shared, as two processes share a library. */
const doubled = /\/(apps\/(api|worker)|packages\/(operator|response-store|wiring))\/src\//;
const entries = /\/simulation\/src\/service\/simulated-(api|worker)\.ts$/;

async function loadOther(): Promise<Release> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const isInside = context.parentURL?.endsWith(mark) === true;
      const isOther = isInside && (doubled.test(resolved.url) || entries.test(resolved.url));
      return isOther && !resolved.url.endsWith(mark) ? { ...resolved, url: resolved.url + mark } : resolved;
    },
    load: (url, context, next) => {
      const loaded = next(url, context);
      return url.endsWith(`/record/fields.ts${mark}`)
        ? { ...loaded, source: withOtherVersion(loaded.source ?? '') }
        : loaded;
    },
  });
  try {
    const api = (await import(`./simulated-api.ts${mark}`)) as typeof import('./simulated-api.ts');
    const worker = (await import(`./simulated-worker.ts${mark}`)) as typeof import('./simulated-worker.ts');
    return { name: 'other', startApi: api.startApi, startWorker: worker.startWorker };
  } finally {
    hooks.deregister();
  }
}

function withOtherVersion(loaded: string | ArrayBuffer | NodeJS.TypedArray): string {
  const source = typeof loaded === 'string' ? loaded : new TextDecoder().decode(loaded);
  const changed = source.replace(/recordVersion = '\d+'/, "recordVersion = 'other'");
  if (changed === source) throw new Error('The version of the records is not where it was');
  return changed;
}
