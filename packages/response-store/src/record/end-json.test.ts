import { completed, failed, failureBody, incomplete, nothingProduced } from '@sluice/contract';
import { said, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { parseEnd, parseEndFacts, printEnd } from './end-json.ts';

const usage = usageOf(3, 2);

describe('the facts of an end', () => {
  it.each([
    completed({ output: [said('x')], usage }, 7),
    completed({ output: [said('","output":[],"usage":{}')], usage: null }, 7),
    completed({ output: [said('{"output":1,"usage":2}'), said('\\","usage":null}')], usage }, 7),
    completed({ output: [said('x')], usage }, 7, ',"output":[],"usage":'),
    incomplete({ output: [], usage }, 'max_output_tokens'),
    failed(nothingProduced, failureBody('server_error', 'it said ","output":[{"usage":{"a":1}}]')),
  ])('are those of the whole end without its output: %#', (end) => {
    const json = printEnd({ responseId: 'create-response_0a', sequenceNumber: 4, end });
    const { output: _output, ...facts } = parseEnd(json).end;
    expect(parseEndFacts(json)).toEqual(facts);
  });

  it('are read without the output being parsed', () => {
    const json = printEnd({
      ...{ responseId: 'create-response_0a', sequenceNumber: 4 },
      end: completed({ output: [said('this')], usage }, 7),
    });
    expect(parseEndFacts(json.replace('"text":"this"', '"text":broken'))).toMatchObject({ usage });
  });
});
