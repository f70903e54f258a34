/** The fields of a response that the commands show. */
export interface ShownResponse {
  id: string;
  status: string;
  model: string;
  created_at: number;
  output_text: string;
  usage: { total_tokens: number } | null;
  error: { code: string; message: string } | null;
}
