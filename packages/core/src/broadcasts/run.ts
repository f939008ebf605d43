import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { identityOfKeyId } from '../api-keys/identity-of-key.ts'
import { scopesOf } from '../contract/endpoints/role-scopes.ts'
import { mayDo } from '../contract/endpoints/roles.ts'
import { SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { PauseReason } from '../contract/resources/broadcasts.ts'
import type { DispatchGate } from '../control/dispatch-control.ts'
import { BroadcastMoved, watchAccepts } from '../messages/acceptance.ts'
import { acceptBulk, type BulkParts, UNSAID } from '../messages/bulk-accept.ts'
import { freeHeld } from '../messages/bulk-pauses.ts'
import type { BroadcastRow, BulkRow } from '../rows/rows.ts'
import type { BroadcastStep } from '../rules/accept.ts'
import { cancellations } from '../rules/settle.ts'
import { type Runtime, timeOfId } from '../runtime/runtime.ts'
import { startStepWatch, type Watch } from '../runtime/watch.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type { BroadcastChange } from '../storage/ports/stores.ts'
import { announce } from '../verifications/ends.ts'
import { filterOf, needsAttributes } from './audience.ts'
import { planDepartures } from './departures.ts'
import {
  type DraftedPart,
  type Mailing,
  type MailingParts,
  nextDrafts,
  openMailing,
  requestOf,
  sentChannelOf,
} from './drafts.ts'

/** Does the next step of a broadcast. Returns whether a further step may follow at once, or when its messages are sent. */
export type BroadcastStepper = (row: BroadcastRow) => Promise<boolean | 'behind'>

/** The time between two steps of a broadcast with a high rate. */
const STEPS_MS = 1_000

/** The messages of one step, and the canceled messages of one settlement: each is one transaction. */
const STEP_MAX = 100

/**
 * The same while requests of others come: these wait for the end of a transaction, of 100 messages several milliseconds, and their
 * messages behind those of the step. Below this size the reads of a step cost more than its messages.
 */
const STEP_SHARED_MAX = 25

/** Requests count as coming for this time after the last one. */
const COMING_MS = 1_000

/**
 * Further messages are accepted when at most this part of a step waits for its provider: so the queue stays short for
 * others, and a pause or a cancellation concerns all but a few messages.
 */
const WAITING_PART = 1 / 2

/** A step does not wait longer for the messages of the last one, some of which may be retried for hours. */
const WAIT_MS = 60_000

/** The bulks whose queued messages one step cancels: a commit of its own stores how far the broadcast is. */
const CANCELED_BULKS = 20

/**
 * Messages that were in flight at a cancellation may be queued again: claims hold them, and a later pass cancels them. A pass reads all bulks,
 * and an unknown outcome may last for two days, so each waits as long as the cancellation is old, and at least this long.
 */
const CANCEL_AGAIN_MS = 30_000

/** How much of a rate may be caught up: the steps of a high rate come once a second. */
const CATCH_UP_MS = 2 * STEPS_MS

/** With a rate, a step has the messages of this time, so that they are spread over the minute. */
const RATE_STEPS_A_MINUTE = 6

/**
 * Does the steps of broadcasts that are due. A crash at any moment repeats and loses no message: each step is committed with its
 * messages, if the broadcast is still where the step begins.
 */
export function startBroadcastWatch({
  step,
  ...parts
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'elapsed' | 'log'>
  /** While nothing is sent, nothing is accepted. */
  gate?: Pick<DispatchGate, 'is_paused'> | undefined
  step: BroadcastStepper
}): Watch {
  const { storage, runtime } = parts
  return startStepWatch({
    ...parts,
    name: 'broadcasts',
    due: (limit) => storage.read.broadcasts.due(runtime.now(), limit),
    step,
    waits: 'a broadcast waits',
    failed: 'broadcasts wait',
  })
}

/** Stores the event of a broadcast that was paused or finished. Returns whether there are deliveries. */
export function announceBroadcast(
  stores: Writes,
  { id: newId }: Pick<Runtime, 'id'>,
  row: BroadcastRow,
): Promise<boolean> {
  const { workspace_id, id, name, channel, status, pause_reason, accepted, updated_at } = row
  return announce(stores, newId, {
    event: status === 'paused' ? 'broadcast.paused' : 'broadcast.finished',
    workspace_id,
    data: {
      broadcast_id: id,
      ...{ name, channel, status, pause_reason, accepted },
      livemode: true,
      occurred_at: updated_at,
    },
  })
}

export function createBroadcastStepper(
  parts: BulkParts & MailingParts & { onQueued: () => void },
): BroadcastStepper {
  const { storage, runtime, senders, sequences } = parts
  const { read } = storage
  const watched = watchAccepts(runtime.telemetry, parts.tracing)
  /** The last contact of broadcasts whose step was refused once. */
  const refused = new Map<string, string>()
  const coming = { requests: storage.hot.requested(), at_ms: Number.NEGATIVE_INFINITY }

  /** The messages of the next transaction. */
  function stepMax(): number {
    const now_ms = runtime.elapsed()
    const requests = storage.hot.requested()
    if (requests !== coming.requests) Object.assign(coming, { requests, at_ms: now_ms })
    return now_ms - coming.at_ms < COMING_MS ? STEP_SHARED_MAX : STEP_MAX
  }

  /** Changes the broadcast if it is as it was read. Returns the row, or null if another change came first. */
  async function change(row: BroadcastRow, changes: BroadcastChange): Promise<BroadcastRow | null> {
    const { workspace_id, id } = row
    const [changed, has_deliveries] = await storage.write(async (stores) => {
      const before = await stores.broadcasts.lock(workspace_id, id)
      if (!before || !isSame(before, row)) return [null, false] as const
      const after = { ...before, ...changes, updated_at: runtime.now() }
      await stores.broadcasts.change(workspace_id, id, { ...changes, updated_at: after.updated_at })
      const is_end = after.status !== before.status && ENDS.has(after.status)
      return [after, is_end && (await announceBroadcast(stores, runtime, after))] as const
    })
    if (has_deliveries) parts.onQueued()
    return changed
  }

  async function pause(row: BroadcastRow, reason: PauseReason, message: string): Promise<false> {
    const pause_message = message.slice(0, LIMITS.broadcast_pause_message_length).toWellFormed()
    await change(row, { status: 'paused', pause_reason: reason, pause_message, next_at: null })
    refused.delete(row.id)
    return false
  }

  /** The credential with which the broadcast is sent; null if it may not send any more. */
  async function senderOf({ workspace_id, api_key_id }: BroadcastRow): Promise<KeyIdentity | null> {
    const key = await identityOfKeyId(parts, workspace_id, api_key_id)
    if (key) {
      return key.mode === 'live' && key.scopes.includes('send_messages') ? key : null
    }
    const member = await read.members.byId(workspace_id, api_key_id)
    const role = api_key_id === workspace_id ? 'owner' : member?.role
    if (!role || !mayDo(role, 'send')) return null
    const scopes = scopesOf(role)
    return { workspace_id, api_key_id, scopes, mode: 'live', daily_credit_limit: null }
  }

  async function mailingOf(row: BroadcastRow, identity: KeyIdentity): Promise<Mailing> {
    const { workspace_id, audience, until_id, sender, variables } = row
    const { template: name, template_version: version, template_locale: locale } = row
    return openMailing(parts, identity, {
      ...{ workspace_id, channel: sentChannelOf(row), audience },
      until: until_id ?? '',
      template: {
        name,
        ...(version !== null && { version }),
        ...(locale !== null && { locale }),
        variables,
      },
      from: sender ?? undefined,
    })
  }

  /** Fixes the version of the template and the end of the audience. */
  async function begin(row: BroadcastRow, { source }: Mailing): Promise<boolean> {
    const { workspace_id, audience } = row
    const until_id = await read.contacts.newestId(workspace_id)
    const begun = await change(row, {
      status: 'running',
      started_at: runtime.now(),
      template_version: source.used.version,
      until_id,
      audience_size: needsAttributes(audience)
        ? null
        : await read.contacts.countAudience(workspace_id, filterOf(audience), until_id),
    })
    return begun !== null
  }

  const isTooMuch = (waiting: number) => waiting > stepMax() * WAITING_PART

  async function isBehind({ workspace_id, last_bulk_id }: BroadcastRow): Promise<boolean> {
    if (last_bulk_id === null) return false
    const now = runtime.now()
    if (now.getTime() - timeOfId(last_bulk_id).getTime() > WAIT_MS) return false
    const waiting = await read.broadcasts.waiting(workspace_id, last_bulk_id, now)
    return isTooMuch(waiting)
  }

  async function send(
    row: BroadcastRow,
    identity: KeyIdentity,
    mailing: Mailing,
  ): Promise<boolean | 'behind'> {
    const { cursor } = row
    const rate = paceOf(row)
    const ofRate = rate === null ? STEP_MAX : Math.ceil(rate / RATE_STEPS_A_MINUTE)
    const size = Math.min(stepMax(), ofRate)
    const part = await nextDrafts(parts, identity, mailing, { after: cursor, size })
    const { found, is_last } = part
    if (found.drafts.length === 0) {
      const at = runtime.now()
      const end = { status: 'finished', finished_at: at, next_at: null } as const
      const moved = await change(row, { ...stepAfter(row, part, null, at), ...(is_last && end) })
      return moved !== null && !is_last
    }
    const { channel } = row
    await sequences?.check(
      identity,
      channel,
      found.drafts.map(({ to }) => to),
    )
    const sender = await senders.of(identity.workspace_id, requestOf(mailing, []))
    const { contacts } = part
    const departures = await planDepartures(parts.quietHours, row, contacts, runtime.now())
    let waiting = 0
    await watched(
      channel,
      () =>
        acceptBulk(parts, identity, {
          channel,
          total: part.contacts.length,
          ...found,
          duplicates: found.duplicates.length,
          sendingOf: (draft) => ({
            schedule: departures.scheduleOf(draft),
            sender,
            template: mailing.source.used,
            category: mailing.source.category,
          }),
          isStrict: false,
          list: 'recipients',
          retry_of: null,
          said: UNSAID,
          broadcast: {
            id: row.id,
            stepOf(bulk, messages): BroadcastStep {
              const { created_at: at } = bulk
              waiting = messages.filter(
                ({ scheduled_at }) => !scheduled_at || scheduled_at <= at,
              ).length
              const next = {
                ...stepAfter(row, part, bulk, at),
                departures: departures.withMessages(messages),
              }
              return { id: row.id, cursor, next }
            },
          },
          idempotency: { route: 'broadcasts', request: null, key: undefined },
        }),
      ({ bulk_id, messages }) => ({
        message_ids: messages.map(({ message_id }) => message_id),
        bulk_id,
      }),
    )
    refused.delete(row.id)
    return isTooMuch(waiting) ? 'behind' : true
  }

  /** Cancels the queued messages of the next bulks. After the last one it begins again while messages are in flight. */
  async function cancelNext(row: BroadcastRow): Promise<boolean> {
    const { workspace_id, id, canceled_through: after } = row
    const bulks = await read.broadcasts.nextBulks(workspace_id, id, {
      after,
      limit: CANCELED_BULKS,
    })
    const last = bulks.at(-1)
    if (last === undefined) {
      const now_ms = runtime.now().getTime()
      const age_ms = now_ms - (row.finished_at?.getTime() ?? now_ms)
      const again = new Date(now_ms + Math.max(age_ms, CANCEL_AGAIN_MS))
      const is_left = await read.broadcasts.hasQueued(workspace_id, id)
      await change(row, is_left ? { canceled_through: '', next_at: again } : { next_at: null })
      return false
    }
    const queued = await read.broadcasts.queued(workspace_id, bulks)
    while (queued.length > 0) {
      // As a settlement, so that callers come before it, and that it shares a commit with others.
      const message_ids = queued.splice(0, stepMax())
      await storage.hot.settle(cancellations({ workspace_id, message_ids, at: runtime.now() }))
    }
    return (await change(row, { canceled_through: last })) !== null
  }

  /** What a refusal does: a pause, or another try. */
  async function refuse(row: BroadcastRow, { code, message }: SvcError): Promise<boolean> {
    switch (code) {
      case 'insufficient_credits':
        return pause(row, 'insufficient_credits', message)
      case 'forbidden':
        return pause(row, 'forbidden', message)
      case 'validation_error':
        // All recipients of the step may have been suppressed since it read them: the second try leaves them out.
        if (refused.get(row.id) === row.cursor || row.status === 'scheduled') {
          return pause(row, 'template', message)
        }
        refused.set(row.id, row.cursor)
        return true
      default:
        return false
    }
  }

  return async (row) => {
    if (row.status === 'canceled') return cancelNext(row)
    if (row.status === 'paused' || row.status === 'draft') return false
    // A pause may have held messages of a broadcast that has begun.
    if (row.started_at && (await freeHeld(parts, row.workspace_id, row.id))) return true
    if (row.status === 'finished') {
      await change(row, { next_at: null })
      return false
    }
    if (await isBehind(row)) return 'behind'
    const identity = await senderOf(row)
    if (!identity) {
      return pause(row, 'credential', 'Its API key or member may not send any more: resume it')
    }
    try {
      const mailing = await mailingOf(row, identity)
      return await (row.status === 'scheduled' ? begin(row, mailing) : send(row, identity, mailing))
    } catch (error) {
      if (error instanceof BroadcastMoved) return false
      if (error instanceof SvcError) return refuse(row, error)
      throw error
    }
  }
}

const ENDS: ReadonlySet<BroadcastRow['status']> = new Set(['paused', 'finished'])

/** Whether nothing that a step depends on has changed. */
function isSame(now: BroadcastRow, seen: BroadcastRow): boolean {
  return (
    now.status === seen.status &&
    now.cursor === seen.cursor &&
    now.canceled_through === seen.canceled_through &&
    now.next_at?.getTime() === seen.next_at?.getTime() &&
    now.updated_at.getTime() === seen.updated_at.getTime()
  )
}

/** The broadcast after a part of its audience. `bulk`: its messages; null if it has none. */
function stepAfter(
  row: BroadcastRow,
  { cursor, contacts, found, ...part }: DraftedPart,
  bulk: BulkRow | null,
  at: Date,
): BroadcastStep['next'] {
  const accepted = bulk?.accepted ?? 0
  // Between the reading of suppressions and the acceptance, further recipients may have been suppressed.
  const late = found.drafts.length - accepted
  return {
    cursor,
    next_at: nextAt(row, accepted, at),
    last_bulk_id: bulk?.id ?? row.last_bulk_id,
    contacts: row.contacts + part.read,
    accepted: row.accepted + accepted,
    suppressed: row.suppressed + part.suppressed + late,
    no_address: row.no_address + part.no_address,
    rejected: row.rejected + contacts.length - found.drafts.length,
    credits_used: (row.credits_used + (bulk?.credits_used ?? 0)) as BroadcastRow['credits_used'],
    departures: row.departures,
    updated_at: at,
  }
}

/** The rate at which messages are accepted. With `time_zone`, the rate spreads their times instead. */
function paceOf({ rate, time_zone }: BroadcastRow): number | null {
  return time_zone === null ? rate : null
}

function nextAt(row: BroadcastRow, accepted: number, at: Date): Date {
  const { next_at } = row
  const rate = paceOf(row)
  if (rate === null) return at
  const due_ms = Math.max(next_at?.getTime() ?? 0, at.getTime() - CATCH_UP_MS)
  return new Date(due_ms + Math.ceil((accepted * 60_000) / rate))
}
