import type { MessageRow } from '../../../rows/rows.ts'
import { suppressedAddress, suppressionKey } from '../../../rules/suppression.ts'
import type { Connection } from '../engine/connection.ts'

/** Finds the suppressed recipients of messages, by `suppressionKey`. */
export function prepareFindSuppressed(connection: Connection) {
  const find = connection
    .prepare('select 1 from suppressions where workspace_id = ? and channel = ? and address = ?')
    .pluck()
  return (
    messages: readonly Pick<MessageRow, 'workspace_id' | 'channel' | 'recipient'>[],
  ): Set<string> => {
    const keys = new Set<string>()
    for (const message of messages) {
      const { workspace_id, channel } = message
      const address = suppressedAddress(message)
      if (find.get(workspace_id, channel, address) === undefined) continue
      keys.add(suppressionKey({ workspace_id, channel, address }))
    }
    return keys
  }
}
