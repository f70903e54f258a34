/** The command that reads a response with a key of its tenant. */
export function curlOf(apiUrl: string, id: string): string {
  const mount = id.startsWith('create-response_') ? '/api/v1' : '/v1';
  return [`curl ${apiUrl}${mount}/responses/${id} \\`, '  -H "Authorization: Bearer $SLUICE_API_KEY"'].join(
    '\n',
  );
}
