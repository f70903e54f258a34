import { join } from 'node:path';

/** The settings that the processes of a peer are given. */
export interface PeerPlace {
  /** Where its packages are installed. */
  folder: string;
  /** Empty for a worker that is called by its store. */
  storeUrl: string;
  upstreamUrl: string;
  slots: number;
}

export function peerVariables(place: PeerPlace): Record<string, string> {
  return {
    BENCH_FOLDER: place.folder,
    BENCH_STORE_URL: place.storeUrl,
    BENCH_UPSTREAM_URL: place.upstreamUrl,
    BENCH_SLOTS: String(place.slots),
  };
}

export function readPeerPlace(variables: NodeJS.ProcessEnv): PeerPlace {
  return {
    folder: variables['BENCH_FOLDER'] ?? '',
    storeUrl: variables['BENCH_STORE_URL'] ?? '',
    upstreamUrl: variables['BENCH_UPSTREAM_URL'] ?? '',
    slots: Number(variables['BENCH_SLOTS']),
  };
}

/** Loads a file of an installed package. Its types are not here, so the caller says what it uses of it. */
export async function importInstalled<Module>({ folder }: PeerPlace, file: string): Promise<Module> {
  return (await import(join(folder, 'node_modules', file))) as Module; // what the release offers that the peer names
}
