import type { MessageRow } from '../../../rows/rows.ts'
import { suppressedAddresses, suppressionKey } from '../../../rules/recipients.ts'
import type { Connection } from '../engine/connection.ts'

/**
 * Finds the suppressed recipients of messages, as keys of `suppressionKey`. A workspace without suppressions needs one
 * statement for all of its messages.
 */
export function prepareFindSuppressed(connection: Connection) {
  const find = connection
    .prepare('select 1 from suppressions where workspace_id = ? and channel = ? and address = ?')
    .pluck()
  const findAny = connection
    .prepare('select 1 from suppressions where workspace_id = ? limit 1')
    .pluck()
  return (
    messages: readonly Pick<MessageRow, 'workspace_id' | 'channel' | 'recipient' | 'recipients'>[],
  ): Set<string> => {
    const keys = new Set<string>()
    const hasAny = new Map<string, boolean>()
    for (const message of messages) {
      const { workspace_id, channel } = message
      if (!hasAny.has(workspace_id)) {
        hasAny.set(workspace_id, findAny.get(workspace_id) !== undefined)
      }
      if (!hasAny.get(workspace_id)) continue
      for (const address of suppressedAddresses(message)) {
        if (find.get(workspace_id, channel, address) === undefined) continue
        keys.add(suppressionKey({ workspace_id, channel, address }))
      }
    }
    return keys
  }
}
