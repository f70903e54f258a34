import type { Response } from '@sluice/contract';
import { argumentsObject, type ObjectOf, ObjectScan } from '@sluice/protocols';
import type { LongTexts } from '@sluice/response-store';

/** Finds the objects that arguments are, also those of long calls, which nobody parses. */
export async function longObjects({ output }: Response, texts: LongTexts): Promise<ObjectOf> {
  const found = new Map<string, string | undefined>();
  for (const item of output) {
    if (item.type !== 'function_call') continue;
    found.set(item.arguments, await texts.valueOf(item.arguments, new ObjectScan()));
  }
  return (args) => found.get(args) ?? argumentsObject(args);
}
