import type { Fault } from '../../stage/rules.ts'
import type { Model, PROVIDERS } from '../model.ts'
import type { Connection, World } from '../world.ts'

const { contentOf } = await import('../../../packages/core/src/storage/sqlite/engine/contents.ts')

/** SQL: the content of a row of `messages`. */
export const CONTENT = contentOf('messages.content')

/** What an invariant reads: the world, what its people know, and the database of the running service. */
export interface Stage {
  world: World
  model: Model
  database: Connection
}

export interface MessageRow {
  id: string
  workspace_id: string
  api_key_id: string | null
  bulk_id: string | null
  livemode: number
  channel: (typeof PROVIDERS)[number]['channel']
  status: string
  accepted: number
  credits_used: number
  credits_refunded: number
  error_code: string | null
  sequence: number
  duration_s: number | null
  recipients: string | null
  erased_at: number | null
  recipient: string
  created_at: number
  scheduled_at: number | null
  deferred_until: number | null
  template: string | null
}

export interface RecipientRow {
  address: string
  role: string
  status: string
  accepted: boolean
}

export const recipientsOf = (row: Pick<MessageRow, 'recipients'> | undefined): RecipientRow[] =>
  JSON.parse(row?.recipients ?? '[]')

/** Whether a webhook got each event of the workspace for the whole seed. Those in other forms get some events only. */
export const hasAllEvents = ({ hooks, places }: Model, workspace_id: string): boolean =>
  hooks.some(
    ({ isWhole, mode, form, place }) =>
      isWhole && mode === 'all' && form === 'svc' && places[place]?.id === workspace_id,
  )

export const brief = ({
  status,
  accepted,
  credits_used,
  credits_refunded,
  error_code,
  sequence,
}: MessageRow) =>
  JSON.stringify({ status, accepted, credits_used, credits_refunded, error_code, sequence })

/** Whether a fault lies in a time. */
export const isFaulted = ({ faulted }: World, from_ms: number, until_ms: number): boolean =>
  faulted.some((at) => at >= from_ms && at <= until_ms)

/** The rules of the rows alone, which all proofs share. */
export function checkRows({ world, database }: Stage, statement: string): void {
  const [broken] = database.prepare(statement).all() as Fault[]
  if (broken) world.violate(broken.rule, broken.fault)
}
