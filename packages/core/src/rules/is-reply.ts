import type { MessageRow } from '../storage/ports/storage.ts'

/**
 * Whether the service itself wrote a message, to answer STOP, START or HELP: it is sent to whoever is suppressed too.
 * No key asked for it and nobody pays for it, which no other message is.
 */
export function isReply({
  api_key_id,
  credits_used,
}: Pick<MessageRow, 'api_key_id' | 'credits_used'>): boolean {
  return api_key_id === null && credits_used === 0
}
