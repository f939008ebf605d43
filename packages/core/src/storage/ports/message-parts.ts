import type { MessagePartRow } from '../../rows/rows.ts'

export interface MessagePartReads {
  /** All that a provider knows by one of these ids, of whatever workspace, newest first. */
  byProvider(provider: string, providerMessageIds: readonly string[]): Promise<MessagePartRow[]>
}
