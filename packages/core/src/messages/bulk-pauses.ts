import { invalid, SvcError } from '../contract/errors.ts'
import type { QuietHoursOf } from '../quiet-hours/quiet-hours.ts'
import type { BulkRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { startStepWatch, type Watch } from '../runtime/watch.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { templateOf } from '../templates/use-template.ts'

/** The held messages that one step frees in one transaction. */
const TOGETHER_MAX = 100

interface FreeingParts {
  storage: Storage
  runtime: Pick<Runtime, 'now'>
  quietHours: Pick<QuietHoursOf, 'endFor'>
}

/**
 * Pauses a bulk: from then on, claims hold its messages that no worker has begun to send.
 * @throws SvcError `not_found`; `validation_error` if it is paused, is a step of a broadcast, or no message is queued.
 */
export async function pauseBulk(
  { storage, runtime }: Pick<FreeingParts, 'storage' | 'runtime'>,
  { workspace_id, id, broadcast_id }: BulkRow,
): Promise<void> {
  if (broadcast_id !== null) {
    throw invalid('id', 'The bulk is a step of a broadcast: pause the broadcast')
  }
  await change(storage, { workspace_id, id }, async ({ paused_at }, { bulks }) => {
    if (paused_at !== null) throw invalid('id', 'The bulk is paused: it cannot be paused again')
    if (!(await bulks.hasQueued(workspace_id, id))) {
      throw invalid('id', 'No message of the bulk is queued: it cannot be paused')
    }
    return { paused_at: runtime.now(), next_at: null }
  })
}

/**
 * Resumes a bulk. The steps of the watch then free the messages that the pause held.
 * @throws SvcError `not_found`; `validation_error` if it is not paused, as after a cancellation.
 */
export async function resumeBulk(
  { storage, runtime }: Pick<FreeingParts, 'storage' | 'runtime'>,
  { workspace_id, id }: BulkRow,
): Promise<void> {
  await change(storage, { workspace_id, id }, async ({ paused_at }) => {
    if (paused_at === null) throw invalid('id', 'The bulk is not paused: it cannot be resumed')
    return { paused_at: null, next_at: runtime.now() }
  })
}

/** Ends the pause of a bulk whose queued messages were canceled. */
export async function endPause(
  { storage, runtime }: Pick<FreeingParts, 'storage' | 'runtime'>,
  bulk: Pick<BulkRow, 'workspace_id' | 'id'>,
): Promise<void> {
  // A message that was being sent and is sent again may have been held after the cancellation: the next step frees it.
  await change(storage, bulk, async ({ paused_at }) =>
    paused_at === null ? null : { paused_at: null, next_at: runtime.now() },
  )
}

/** Changes the pause of a bulk; null leaves it. */
function change(
  storage: Storage,
  { workspace_id, id }: Pick<BulkRow, 'workspace_id' | 'id'>,
  changeOf: (
    bulk: BulkRow,
    stores: Pick<Writes, 'bulks'>,
  ) => Promise<Pick<BulkRow, 'paused_at' | 'next_at'> | null>,
): Promise<void> {
  return storage.write(async (stores) => {
    const bulk = await stores.bulks.lock(workspace_id, id)
    if (!bulk) throw new SvcError('not_found', 'Bulk not found')
    const pause = await changeOf(bulk, stores)
    if (pause) await stores.bulks.change(workspace_id, id, pause)
  })
}

/**
 * Gives messages that the pause of a bulk or a broadcast holds their time: now, or the end of quiet hours. Returns whether there
 * were some.
 */
export async function freeHeld(
  { storage, runtime, quietHours }: FreeingParts,
  workspace_id: string,
  held_by: string,
): Promise<boolean> {
  const held = await storage.read.bulks.held(workspace_id, held_by, TOGETHER_MAX)
  const [first] = held
  if (!first) return false
  const { channel, livemode } = first
  const { category } = await templateOf(storage.read, { workspace_id, ...first })
  const recipients = () => held.map(({ recipient }) => recipient)
  const endOfQuiet = await quietHours.endFor(
    { workspace_id, mode: livemode ? 'live' : 'test' },
    { category, channel, recipients },
  )
  const at = runtime.now()
  const outcomes = await storage.hot.reschedule(
    held.map(({ id: message_id, recipient }) => {
      const deferred_until = endOfQuiet?.(recipient, at) ?? null
      const scheduled_at = deferred_until ?? at
      return { workspace_id, message_id, scheduled_at, deferred_until, at, held_by }
    }),
  )
  return outcomes.includes('rescheduled')
}

/** Frees the next messages of a resumed bulk. Returns whether further ones may follow. */
export type BulkStepper = (bulk: Pick<BulkRow, 'workspace_id' | 'id'>) => Promise<boolean>

/** A crash at any moment loses no message: the bulk stays due until a step finds no held message. */
export function createBulkStepper(parts: FreeingParts): BulkStepper {
  return async (bulk) => {
    const { workspace_id, id } = bulk
    if (await freeHeld(parts, workspace_id, id)) return true
    // Another pause since then may hold further messages. While the row is locked, no claim holds one.
    await change(parts.storage, bulk, async ({ paused_at }, { bulks }) => {
      if (paused_at !== null) return null
      const isFree = (await bulks.held(workspace_id, id, 1)).length === 0
      return isFree ? { paused_at, next_at: null } : null
    })
    return false
  }
}

/** Does the steps of resumed bulks. */
export function startBulkWatch({
  storage,
  runtime,
  gate,
  step,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'elapsed' | 'log'>
  /** While nothing is sent, nothing is freed. */
  gate?: { readonly is_paused: boolean } | undefined
  step: BulkStepper
}): Watch {
  return startStepWatch({
    name: 'bulks',
    storage,
    runtime,
    gate,
    due: (limit) => storage.read.bulks.due(runtime.now(), limit),
    step,
    waits: 'a bulk waits',
    failed: 'bulks wait',
  })
}
