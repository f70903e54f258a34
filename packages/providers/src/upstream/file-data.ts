const mediaTypes: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
};

/** The media type that the extension of a file name stands for; undefined for a name without a known one. */
export function mediaTypeOf(filename: string): string | undefined {
  const extension = /\.(\w+)$/.exec(filename)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(mediaTypes, extension) ? mediaTypes[extension] : undefined;
}

/** The Responses API accepts bare base64; chat completions need a data URL with a media type. */
export function asDataUrl(data: string, filename = ''): string {
  if (/^data:/i.test(data)) return data;
  return `data:${mediaTypeOf(filename) ?? 'application/octet-stream'};base64,${data}`;
}

/** The media type and the base64 of a data URL; undefined for any other URL and for text that is not base64. */
export function splitDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(',');
  const [mediaType = '', ...parameters] = url.slice(5, Math.max(comma, 5)).split(';');
  if (comma < 0 || parameters.at(-1)?.toLowerCase() !== 'base64') return undefined;
  return { mediaType: mediaType.toLowerCase(), base64: url.slice(comma + 1) };
}
