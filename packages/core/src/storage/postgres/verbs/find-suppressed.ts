import type { MessageRow, SuppressionRow } from '../../../rows/rows.ts'
import { suppressedAddresses, suppressionKey } from '../../../rules/recipients.ts'
import { statement, type Transaction } from '../engine/database.ts'

/** SQL: the suppressed recipients, as `s`, of messages whose values `suppressedOf` returns. */
export const SUPPRESSED = `unnest($1::text[], $2::text[], $3::text[]) r(workspace_id, channel, address)
   join suppressions s using (workspace_id, channel, address)`

type Recipient = Pick<MessageRow, 'workspace_id' | 'channel' | 'recipient' | 'recipients'>

const find = statement<Pick<SuppressionRow, 'workspace_id' | 'channel' | 'address'>>(
  'find_suppressed',
  `select s.workspace_id, s.channel, s.address
   from ${SUPPRESSED}`,
)

/** Finds the suppressed recipients of messages, as keys of `suppressionKey`. Makes no query without messages. */
export async function findSuppressed(
  tx: Transaction,
  messages: readonly Recipient[],
): Promise<Set<string>> {
  if (messages.length === 0) return new Set()
  const rows = await tx.rows(find, ...suppressedOf(messages))
  return new Set(rows.map(suppressionKey))
}

/** The parameters of `SUPPRESSED`. */
export function suppressedOf(messages: readonly Recipient[]): [string[], string[], string[]] {
  const workspaces: string[] = []
  const channels: string[] = []
  const addresses: string[] = []
  for (const message of messages) {
    for (const address of suppressedAddresses(message)) {
      workspaces.push(message.workspace_id)
      channels.push(message.channel)
      addresses.push(address)
    }
  }
  return [workspaces, channels, addresses]
}
