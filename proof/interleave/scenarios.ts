import { units } from '../../packages/core/src/contract/fields/units.ts'
import { createRecipients } from '../../packages/core/src/retention/erasure.ts'
import { createRetention, RETENTION_DAYS_MIN } from '../../packages/core/src/retention/retention.ts'
import type { DispatchPauseRow } from '../../packages/core/src/rows/rows.ts'
import type { AcceptResult } from '../../packages/core/src/rules/accept.ts'
import type { ClaimedMessage } from '../../packages/core/src/rules/claim.ts'
import type { ClaimedDelivery } from '../../packages/core/src/rules/deliveries.ts'
import type { Settlement } from '../../packages/core/src/rules/settlement.ts'
import type { LaneEntry, MessageClaim } from '../../packages/core/src/storage/ports/hot.ts'
import type { Storage } from '../../packages/core/src/storage/ports/storage.ts'
import {
  type Builders,
  builders,
  SMS_PRICE,
  type TestRuntime,
  testRuntime,
} from '../../packages/core/test/fixtures.ts'
import type { connectTo } from '../stage/postgres.ts'
import { FAULTS } from '../stage/rules.ts'

const LEASE_MS = 30_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const RECIPIENT = '+255700000001'
/** After so many hours of work without faults, nothing may wait any more. */
const DRAIN_ROUNDS = 8

/** A server of the service: its storage, with a clock and ids of its own. */
export interface Server {
  storage: Storage
  clock: TestRuntime
  make: Builders
}

export function serverOn(storage: Storage, seed: string): Server {
  const clock = testRuntime(seed)
  return { storage, clock, make: builders(clock) }
}

/** A workspace with a waiting message, a claimed one, and a sent one whose webhook waits. It can pay for one more. */
export interface Scene {
  workspace_id: string
  webhook_id: string
  waiting: string
  claimed: string
  token: string
  sent: string
  /** The Idempotency-Key of all accepts that have one. */
  key: string
  /** Each claim that got a message: an order may not give it to two servers. */
  claims: { message_id: string; now_ms: number }[]
  /** The ids in the answers to accepts that were accepted or replayed. */
  answered: string[]
  /** Those of accepts with the key. */
  answeredByKey: Set<string>
  /** The secrets of all rotations, and how many rotations were answered. */
  secrets: string[]
  rotations: number
  /** Whether a pause of a restore was stored: the pause of an operator may not replace it. */
  hasRestored: boolean
}

export async function setScene(server: Server): Promise<Scene> {
  const { storage, clock, make } = server
  const row = make.workspace()
  const webhook = make.webhook(row.id)
  const workspace_id = row.id
  await storage.write(async ({ workspaces, credits, webhooks }) => {
    await workspaces.insert(row)
    await credits.open(workspace_id, clock.now())
    await credits.post(workspace_id, make.grant(units(4 * SMS_PRICE)))
    await webhooks.insert(webhook)
  })
  const accept = async (...recipients: string[]) => {
    const requests = recipients.map((recipient) => make.send(workspace_id, { recipient }))
    const results = await storage.hot.accept(requests)
    if (results.some(({ outcome }) => outcome !== 'accepted'))
      throw new Error('the scene is refused')
    return requests.map(({ messages: [message] }) => message?.id ?? '')
  }
  const [claimed = '', sent = ''] = await accept('+255700000002', '+255700000003')
  const token = clock.id()
  const scene: Scene = {
    ...{ workspace_id, webhook_id: webhook.id, waiting: '', claimed, token, sent },
    ...{ key: clock.id(), claims: [], answered: [], answeredByKey: new Set<string>() },
    ...{ secrets: [], rotations: 0 },
    hasRestored: false,
  }
  const taken = await claim(server, scene, { token })
  if (taken.length !== 2) throw new Error(`the scene: ${taken.length} messages were claimed`)
  await settle(server, scene, sent, token, accepted(1))
  const [waiting = ''] = await accept(RECIPIENT)
  scene.waiting = waiting
  scene.claims = []
  return scene
}

/** What a server can do in a scene. */
export type Operation = (server: Server, scene: Scene) => Promise<unknown>

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'accept with a key': async (server, scene) => {
    const { make, storage } = server
    const message = make.message(scene.workspace_id)
    const answer = { route: 'send', key: scene.key, request_hash: 'h' }
    const response = JSON.stringify({ id: message.id })
    const [result] = await storage.hot.accept([make.request([message], { ...answer, response })])
    const id = noteAnswer(scene, result, message.id)
    if (id !== null) scene.answeredByKey.add(id)
    return result?.outcome
  },
  accept: async ({ make, storage }, scene) => {
    const message = make.message(scene.workspace_id, { recipient: '+255700000004' })
    const [result] = await storage.hot.accept([make.request([message])])
    noteAnswer(scene, result, message.id)
    return result?.outcome
  },
  'accept and hand over': async (server, scene) => {
    const { make, storage } = server
    const message = make.message(scene.workspace_id, { recipient: '+255700000005' })
    const held: ClaimedMessage[] = []
    storage.hot.setLanes({ messages: laneOf(messageClaim(server), held) })
    try {
      const [result] = await storage.hot.accept([make.request([message])])
      noteAnswer(scene, result, message.id)
      noteClaims(scene, held, server.clock.now())
      await settleAll(server, scene, held)
      return result?.outcome
    } finally {
      storage.hot.setLanes(null)
    }
  },
  'settle and hand over': async (server, scene) => {
    const { storage, clock } = server
    const held: ClaimedDelivery[] = []
    const time = { now: clock.now(), elapsed_ms: clock.elapsed() }
    const terms = { ...time, lease_ms: LEASE_MS, token: clock.id(), admits: () => true }
    storage.hot.setLanes({ deliveries: laneOf(terms, held) })
    try {
      const isCounted = await settle(server, scene, scene.claimed, scene.token, accepted(1))
      await storage.hot.recordDeliveries(held.map((each) => delivered(each, clock)))
      return isCounted
    } finally {
      storage.hot.setLanes(null)
    }
  },
  claim: (server, scene) => claim(server, scene),
  'claim and send': (server, scene) => work(server, scene),
  'claim after the lease': (server, scene) =>
    work(server, scene, new Date(server.clock.now().getTime() + LEASE_MS + 1)),
  'settle as sent': (server, scene) =>
    settle(server, scene, scene.claimed, scene.token, accepted(1)),
  'settle as refused': (server, scene) =>
    settle(server, scene, scene.claimed, scene.token, {
      task: 'send',
      attempt: 1,
      never_accepted: true,
      outcome: { type: 'rejected', error_code: 'invalid', error_message: 'No such number' },
    }),
  'receipt: delivered': (server, scene) => receipt(server, scene, 'delivered'),
  'receipt: failed': (server, scene) => receipt(server, scene, 'failed'),
  cancel: ({ storage, clock }, { workspace_id, waiting, claimed }) =>
    storage.hot.cancel({ workspace_id, message_ids: [waiting, claimed], at: clock.now() }),
  reschedule: ({ storage, clock }, { workspace_id, waiting }) => {
    const at = clock.now()
    const scheduled_at = new Date(at.getTime() + HOUR_MS / 2)
    const times = { scheduled_at, deferred_until: null, at }
    return storage.hot.reschedule([{ workspace_id, message_id: waiting, ...times }])
  },
  deliver: async ({ storage, clock }, _scene) => {
    const taken = await storage.hot.claimDeliveries(deliveryClaim(clock))
    return storage.hot.recordDeliveries(taken.map((each) => delivered(each, clock)))
  },
  grant: ({ storage, make }, { workspace_id }) =>
    storage.write(({ credits }) => credits.post(workspace_id, make.grant(units(SMS_PRICE)))),
  freeze: ({ storage, clock }, { workspace_id }) =>
    storage.write(({ credits }) =>
      credits.setTerms(workspace_id, { status: 'frozen', frozen_reason: 'test' }, clock.now()),
    ),
  'opt out': ({ storage, clock }, { workspace_id }) =>
    storage.write(({ suppressions }) => {
      const at = { reason: 'opt_out', created_at: clock.now() } as const
      return suppressions.add([{ workspace_id, channel: 'sms', address: RECIPIENT, ...at }])
    }),
  erase: ({ storage, clock }, { workspace_id }) =>
    createRecipients({ storage, runtime: clock }).erase(RECIPIENT, { workspace_id }),
  'rotate the secret': async ({ storage, clock }, scene) => {
    const { workspace_id, webhook_id } = scene
    const secret = clock.id()
    scene.secrets.push(secret)
    await storage.write(async ({ webhooks }) => {
      const webhook = await webhooks.lock(workspace_id, webhook_id)
      if (!webhook) return
      const previous_secret = webhook.secret
      const sealed = secret as typeof previous_secret
      await webhooks.change(workspace_id, webhook_id, { secret: sealed, previous_secret })
    })
    scene.rotations++
  },
  pause: (server) => pauseBy(server, 'operator'),
  'pause after a restore': async (server, scene) => {
    await pauseBy(server, 'restore')
    scene.hasRestored = true
  },
  retention: ({ storage, clock }) => {
    const now = () => new Date(clock.now().getTime() + 2 * RETENTION_DAYS_MIN * DAY_MS)
    return createRetention({ storage, runtime: { ...clock, now }, days: RETENTION_DAYS_MIN }).apply(
      () => false,
    )
  },
  'remove the webhook': ({ storage }, { workspace_id, webhook_id }) =>
    storage.write(({ webhooks }) => webhooks.remove(workspace_id, webhook_id)),
}

/** Stores a pause of all sends. */
async function pauseBy({ storage, clock }: Server, cause: 'operator' | 'restore'): Promise<void> {
  const pause = { scope: 'all', cause, reason: cause, backup_at: null, created_at: clock.now() }
  await storage.write(({ dispatchPauses }) => dispatchPauses.put(pause as DispatchPauseRow))
}

/** Returns the id in the answer; null if the request was refused. */
function noteAnswer(scene: Scene, result: AcceptResult | undefined, id: string): string | null {
  if (result?.outcome !== 'accepted' && result?.outcome !== 'replayed') return null
  const answered =
    result.outcome === 'replayed' ? (JSON.parse(result.response) as { id: string }).id : id
  scene.answered.push(answered)
  return answered
}

const accepted = (attempt: number): Settlement['result'] => ({
  task: 'send',
  attempt,
  outcome: { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null },
})

/** A lane with room for everything. What it gets back without knowing whether it is stored waits for the end of its lease. */
function laneOf<Terms, Item>(terms: Terms, held: Item[]): LaneEntry<Terms, Item, unknown> {
  return {
    reserve: () => ({
      terms,
      handOver: (items) => void held.push(...items),
      release() {},
      giveBack() {},
    }),
    queued() {},
  }
}

function messageClaim({ clock }: Server, now = clock.now(), token = clock.id()): MessageClaim {
  const elapsed_ms = clock.elapsed() + now.getTime() - clock.now().getTime()
  return {
    ...{ now, elapsed_ms, limit: 100, lease_ms: LEASE_MS, token },
    route: () => ({ provider: 'carrier', sender: null }),
  }
}

async function claim(
  server: Server,
  scene: Scene,
  { now = server.clock.now(), token = server.clock.id() }: { now?: Date; token?: string } = {},
): Promise<ClaimedMessage[]> {
  const taken = await server.storage.hot.claimMessages(messageClaim(server, now, token))
  noteClaims(scene, taken, now)
  return taken
}

function noteClaims(scene: Scene, taken: readonly ClaimedMessage[], now: Date): void {
  for (const { message_id } of taken) scene.claims.push({ message_id, now_ms: now.getTime() })
}

/** Claims, and settles each message as a worker does. Returns the number of messages. */
async function work(server: Server, scene: Scene, now = server.clock.now()): Promise<number> {
  const taken = await claim(server, scene, { now })
  await settleAll(server, scene, taken, now)
  return taken.length
}

async function settleAll(
  { storage, clock }: Server,
  { workspace_id }: Scene,
  taken: readonly ClaimedMessage[],
  now = clock.now(),
): Promise<void> {
  const settlements = taken.map(({ message_id, token, attempt, suppressed }) => {
    const result = suppressed ? ({ task: 'suppressed' } as const) : accepted(attempt)
    return settlement(workspace_id, message_id, token, result, now)
  })
  if (settlements.length > 0) await storage.hot.settle(settlements)
}

async function settle(
  { storage, clock }: Server,
  { workspace_id }: Scene,
  message_id: string,
  token: string | null,
  result: Settlement['result'],
): Promise<boolean | undefined> {
  const one = settlement(workspace_id, message_id, token, result, clock.now())
  return (await storage.hot.settle([one]))[0]
}

function settlement(
  workspace_id: string,
  message_id: string,
  token: string | null,
  result: Settlement['result'],
  at: Date,
): Settlement {
  const abilities = { idempotent: true, lookup: false }
  return { workspace_id, message_id, token, provider: 'carrier', abilities, result, at }
}

function receipt(server: Server, scene: Scene, status: 'delivered' | 'failed'): Promise<unknown> {
  const why = status === 'failed' ? 'undelivered' : null
  const reported = { status, provider_message_id: 'P1', error_code: why, error_message: why }
  return settle(server, scene, scene.sent, null, { task: 'callback', receipts: [reported] })
}

function deliveryClaim(clock: TestRuntime) {
  const rooms = { room_of_webhook: new Map(), room_of_workspace: new Map() }
  const limits = { limit: 100, limit_per_webhook: 100, limit_per_workspace: 100 }
  const time = { now: clock.now(), elapsed_ms: clock.elapsed() }
  return { ...time, ...limits, ...rooms, lease_ms: LEASE_MS, token: clock.id() }
}

function delivered(
  claimed: { workspace_id: string; webhook_id: string; delivery_id: string; token: string },
  clock: TestRuntime,
) {
  const { workspace_id, webhook_id, delivery_id, token } = claimed
  const answer = { response_status: 200, response_body: 'ok', error: null, retry_after_ms: null }
  const key = { workspace_id, webhook_id, delivery_id, token }
  return { ...key, started_at: clock.now(), duration_ms: 40, ...answer }
}

const WAITING = `select message_id as id from message_queue union all select delivery_id from delivery_queue limit 1`

interface DrainOptions {
  servers: readonly Server[]
  isRepeated: boolean
  database: Database
}

/** Repeats an accept that has a key, as a client without an answer does, and works until nothing waits. Returns what is wrong. */
export async function drain(
  server: Server,
  scene: Scene,
  { servers, isRepeated, database }: DrainOptions,
): Promise<string[]> {
  const { storage, clock } = server
  if (isRepeated) await OPERATIONS['accept with a key']?.(server, scene)
  for (let round = 0; round < DRAIN_ROUNDS; round++) {
    for (const each of servers) each.clock.advance(HOUR_MS)
    await work(server, scene)
    const taken = await storage.hot.claimDeliveries(deliveryClaim(clock))
    await storage.hot.recordDeliveries(taken.map((each) => delivered(each, clock)))
    const { rows } = await database.query({ name: 'waiting', text: WAITING })
    if (rows.length === 0) return []
  }
  return [`something still waits after ${DRAIN_ROUNDS} hours`]
}

type Database = Awaited<ReturnType<typeof connectTo>>

/** The rules of the answers to requests, and of the webhook of the scene. */
const OWN_FAULTS = `
  select 'an answer names the message of its key' as rule, key as fault from idempotency_keys
    where response is not null and not exists (
      select 1 from messages m where m.workspace_id = idempotency_keys.workspace_id and m.id = (response::jsonb)->>'id')
  union all
  select 'every change has its event', id from messages m where exists (
    select 1 from webhooks w where w.workspace_id = m.workspace_id) and not exists (
    select 1 from events e where e.workspace_id = m.workspace_id and e.message_id = m.id)
  union all
  select 'a pause of a restore stays', cause from dispatch_pauses where cause = $1`

/** What breaks a rule in the scene, after `drain`. */
export async function faultsIn(database: Database, scene: Scene): Promise<string[]> {
  const weaker = scene.hasRestored ? 'operator' : ''
  const { rows } = await database.query({
    name: 'all_rules',
    text: `${FAULTS} union all ${OWN_FAULTS}`,
    values: [weaker],
  })
  const faults = rows.map(({ rule, fault }) => `${rule}: ${fault}`)
  if (scene.answeredByKey.size > 1) {
    faults.push(`one Idempotency-Key has several answers: ${[...scene.answeredByKey]}`)
  }
  const held = new Map<string, number>()
  for (const { message_id, now_ms } of scene.claims) {
    const before = held.get(message_id)
    if (before !== undefined && now_ms < before + LEASE_MS) {
      faults.push(`two servers claimed ${message_id} within one lease`)
    }
    held.set(message_id, now_ms)
  }
  const stored = await database.query({
    name: 'stored',
    text: 'select id from messages where workspace_id = $1',
    values: [scene.workspace_id],
  })
  const ids = new Set(stored.rows.map(({ id }) => id as string))
  const hooks = await database.query({
    name: 'hooks',
    text: 'select previous_secret from webhooks where id = $1',
    values: [scene.webhook_id],
  })
  // Receivers still verify with the secret of the rotation before the last.
  if (scene.rotations > 1 && hooks.rows.some((row) => !scene.secrets.includes(row.previous_secret)))
    faults.push('a rotation replaced the secret of another')
  for (const id of scene.answered) {
    if (!ids.has(id)) faults.push(`a message that was answered is not there: ${id}`)
  }
  return faults
}
