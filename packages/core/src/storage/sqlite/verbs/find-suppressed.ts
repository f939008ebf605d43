import type { MessageRow } from '../../../rows/rows.ts'
import { suppressedAddress } from '../../../rules/suppression.ts'
import type { Connection } from '../engine/connection.ts'

/** Whether the recipient of a message must not be written to. */
export function prepareIsSuppressed(connection: Connection) {
  const find = connection
    .prepare('select 1 from suppressions where workspace_id = ? and channel = ? and address = ?')
    .pluck()
  return (message: Pick<MessageRow, 'workspace_id' | 'channel' | 'recipient'>): boolean =>
    find.get(message.workspace_id, message.channel, suppressedAddress(message)) !== undefined
}
