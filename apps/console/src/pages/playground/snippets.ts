/** A request as something to run elsewhere. The key is a variable there, never a text. */
export interface Snippets {
  curl: string;
  node: string;
  python: string;
}

/** Writes a request down for a shell, for Node.js and for Python. */
export function snippetsOf(apiUrl: string, body: Readonly<Record<string, unknown>>): Snippets {
  const isStreamed = body['stream'] === true;
  return {
    curl: [
      `curl ${isStreamed ? '-N ' : ''}${apiUrl}/v1/responses \\`,
      '  -H "Authorization: Bearer $SLUICE_API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d ${shellQuoted(JSON.stringify(body, undefined, 2))}`,
    ].join('\n'),
    node: [
      "import OpenAI from 'openai';",
      '',
      `const client = new OpenAI({ baseURL: '${apiUrl}/v1', apiKey: process.env.SLUICE_API_KEY });`,
      `const response = await client.responses.create(${JSON.stringify(body, undefined, 2)});`,
      isStreamed
        ? 'for await (const event of response) console.log(event);'
        : 'console.log(response.output_text);',
    ].join('\n'),
    python: [
      'import json, os',
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url="${apiUrl}/v1", api_key=os.environ["SLUICE_API_KEY"])`,
      `request = json.loads(${JSON.stringify(JSON.stringify(body))})`,
      'response = client.responses.create(**request)',
      ...(isStreamed ? ['for event in response:', '    print(event)'] : ['print(response.output_text)']),
    ].join('\n'),
  };
}

/** One word of a POSIX shell, whatever it holds. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
