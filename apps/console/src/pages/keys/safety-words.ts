/** Words for the notice of a change that is made, but not yet as safe as `durability` asks for; none where it is. */
export function safetyWords(isSafe: boolean): string {
  if (isSafe) return '';
  return ' Redis has not yet stored this as safely as the setting durability asks for. Make the change once more to look again.';
}
