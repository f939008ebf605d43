import { createHmac } from 'node:crypto'
import { elapsedMs } from '../clock.ts'
import { CALLBACK_RECEIVER, CHANNELS_OF, type Hook, type Post } from '../model.ts'
import { DECIDED_MS } from './attempts.ts'
import { isFaulted, type MessageRow, type Stage } from './rows.ts'

/** A delivery that failed is tried again by the schedule. The guide to webhooks has it. */
const RETRY_DELAYS_MS = [
  0, 5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
].map((delay_s) => delay_s * 1_000)
const RETRY_JITTER = 0.1

/** A delivery in flight while the clock is set is recorded within this time. */
const RECORDED_MS = 60_000

/** The waits of what was queued before the clock is set count anew once the service sees it, also if it is down until then. */
export function redatePending({ model, database }: Stage): void {
  const rows = database
    .prepare("select id, attempt_count from deliveries where status = 'pending'")
    .all() as { id: string; attempt_count: number }[]
  for (const { id, attempt_count } of rows) {
    model.redated.add(`${id} ${attempt_count}`).add(`${id} ${attempt_count + 1}`)
  }
}

export function checkRetries({ world, model, database }: Stage): void {
  const isJustSet = elapsedMs() - model.clock_set_ms < RECORDED_MS
  const rows = database
    .prepare(
      `select id, webhook_id, attempt_count, next_attempt_at - updated_at as wait_ms from deliveries
       where status = 'pending' and attempt_count > 0 and next_attempt_at is not null
         and coalesce(response_status, 0) not in (429, 503)`,
    )
    .all() as { id: string; webhook_id: string; attempt_count: number; wait_ms: number }[]
  const askedAgain = new Set(model.hooks.filter((one) => one.wasAskedAgain).map(({ id }) => id))
  for (const { id, webhook_id, attempt_count, wait_ms } of rows) {
    if (askedAgain.has(webhook_id)) continue
    // The waits of deliveries that were queued before the clock was set back count anew.
    if (isJustSet) model.redated.add(`${id} ${attempt_count}`)
    if (model.redated.has(`${id} ${attempt_count}`)) continue
    const delay_ms = RETRY_DELAYS_MS[attempt_count]
    // A request that may not have begun is made again without being counted.
    if (wait_ms === UNCOUNTED_WAIT_MS) continue
    const isRight =
      delay_ms !== undefined &&
      wait_ms >= delay_ms &&
      wait_ms <= Math.ceil(delay_ms * (1 + RETRY_JITTER))
    if (isRight) continue
    const at = `${world.nameOf('d', id)} waits ${wait_ms} ms after attempt ${attempt_count}`
    world.violate('a delivery is tried by the schedule', at)
  }
}

const UNCOUNTED_WAIT_MS = 5_000

/** The request of a claimed delivery begins within this time, unless the process dies, the machine sleeps or a commit fails. */
const BEGIN_MS = 4_000

/** A delivery that was claimed, or handed over with its claim, begins. */
export function checkDelivering({ world, model, database }: Stage): void {
  const now_ms = elapsedMs()
  const rows = database
    .prepare('select delivery_id, token from delivery_queue where token is not null')
    .all() as { delivery_id: string; token: string }[]
  const claimed = new Map<string, number>()
  for (const { delivery_id, token } of rows) {
    const since_ms = model.claimed.get(token + delivery_id) ?? now_ms
    claimed.set(token + delivery_id, since_ms)
    if (model.delivering.has(token + delivery_id) || now_ms - since_ms < BEGIN_MS) continue
    if (isFaulted(world, since_ms, now_ms)) continue
    const at = `${world.nameOf('d', delivery_id)} waits since ${since_ms}`
    world.violate('work that was handed over begins', at)
  }
  model.claimed = claimed
}

/** Notes that the request of a claimed delivery begins. */
export function noteDelivering({ model, database }: Stage, id: string): void {
  const find = database.prepare('select token from delivery_queue where delivery_id = ?').pluck()
  model.delivering.add(`${find.get(id) ?? ''}${id}`)
}

/** What must hold when a receiver gets a request. */
export function checkRequest({ world, model, database }: Stage, post: Post): void {
  const { receiver, headers, at_ms } = post
  const id = headers['x-svc-delivery'] ?? ''
  const at = `${world.nameOf('d', id)} to receiver ${receiver}`
  const earlier = model.posts.find(
    (one) => one.isAnswered && one.receiver === receiver && one.headers['x-svc-delivery'] === id,
  )
  if (earlier && !isFaulted(world, earlier.at_ms, at_ms)) {
    world.violate('an acknowledged delivery ends', at)
  }
  const row = database
    .prepare(
      // A test is delivered to a disabled webhook too.
      `select q.webhook_id, q.set_at from delivery_queue q join deliveries d on d.id = q.delivery_id
       where q.delivery_id = ? and q.token is not null and d.trigger <> 'test'`,
    )
    .get(id) as { webhook_id: string; set_at: number } | undefined
  const hook = model.hooks.find((one) => one.id === row?.webhook_id)
  if (!row || hook?.off_since_ms == null || at_ms - model.clock_set_ms < DECIDED_MS) return
  const claimed_ms = at_ms - (Date.now() - row.set_at)
  if (claimed_ms > hook.off_since_ms) {
    world.violate('a disabled webhook gets nothing', `${at}, claimed ${claimed_ms}`)
  }
}

/** Every change has its event, and every subscribed receiver got it. */
export function checkEvents(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
  /** The events that receivers acknowledged. */
  const got = new Set<string>()
  for (const { receiver, headers, isAnswered } of model.posts) {
    if (isAnswered) got.add(`${receiver} ${headers['webhook-id']}`)
  }
  const deliveries = database
    .prepare(
      'select id, workspace_id, webhook_id, event_id, message_id, status, attempt_count, error from deliveries',
    )
    .all() as {
    id: string
    webhook_id: string
    event_id: string
    message_id: string | null
    status: string
    attempt_count: number
  }[]
  const events = database
    .prepare('select id, message_id, body from events where message_id is not null')
    .all() as { id: string; message_id: string; body: string }[]
  const sequences = new Map<string, Map<number, string>>()
  for (const { id, message_id, body } of events) {
    const { data } = JSON.parse(body) as { data: { sequence?: number } }
    const of = sequences.get(message_id) ?? new Map<number, string>()
    if (of.has(data.sequence ?? 0)) {
      world.violate(
        'one event for each change',
        `${world.nameOf('m', message_id)} ${data.sequence}`,
      )
    }
    of.set(data.sequence ?? 0, id)
    sequences.set(message_id, of)
  }
  const made = new Map(deliveries.map((one) => [`${one.webhook_id} ${one.event_id}`, one]))
  for (const hook of model.hooks) {
    if (!hook.isWhole) continue
    const workspace_id = model.places[hook.place]?.id
    for (const row of messages) {
      if (row.workspace_id !== workspace_id) continue
      if (hook.mode !== 'all' && (hook.mode === 'live') !== (row.livemode === 1)) continue
      if (!CHANNELS_OF[hook.form].includes(row.channel)) continue
      for (let sequence = 1; sequence <= row.sequence; sequence++) {
        const at = () =>
          `event ${sequence} of ${world.nameOf('m', row.id)} for ${world.nameOf('w', hook.id)}`
        const event = sequences.get(row.id)?.get(sequence)
        const delivery = event && made.get(`${hook.id} ${event}`)
        if (!delivery) world.violate('every event reaches its receivers', `${at()} was lost`)
        else if (delivery.status === 'delivered' && !got.has(`${hook.receiver} ${event}`)) {
          world.violate('every event reaches its receivers', `${at()} counts as delivered`)
        } else if (delivery.status === 'failed' && delivery.attempt_count < 12) {
          world.violate('every event reaches its receivers', `${at()} failed early`)
        }
      }
    }
  }
}

/** A receiver can verify each delivery, and gets only what is its own. */
export function checkPosts({ world, model, database }: Stage): void {
  const bodies = new Map<string, string>()
  const owners = new Map(
    (
      database.prepare('select id, workspace_id, webhook_id from deliveries').all() as {
        id: string
        workspace_id: string
        webhook_id: string
      }[]
    ).map((one) => [one.id, one]),
  )
  for (const post of model.posts) {
    const { receiver, headers, body } = post
    const delivery = headers['x-svc-delivery'] ?? ''
    const at = `${world.nameOf('d', delivery)} to receiver ${receiver}`
    // The form of Resend has the subject of the message, until the content is removed.
    const isRemoved = headers['x-svc-event'] === 'as Resend' && body.includes('"subject":""')
    const known = isRemoved
      ? bodies.get(delivery)?.replace(/"subject":"(?:[^"\\]|\\.)*"/, '"subject":""')
      : bodies.get(delivery)
    // An erasure between two tries removes the address from the body.
    const text = textOf(post)
    const isErased = /\berased\b/.test(text) || [...model.erasing].some((one) => text.includes(one))
    if (known !== undefined && known !== body && !isErased) {
      world.violate('a receiver can verify each delivery', `${at} changed its body`)
    }
    bodies.set(delivery, body)
    const hooks = model.hooks.filter((hook) => hook.receiver === receiver)
    const owner = owners.get(delivery)
    const own = hooks.find((hook) => hook.id === owner?.webhook_id)
    // The deliveries of a deleted webhook are deleted.
    const signers = own ? [own] : owner ? [] : hooks
    const isCallback = receiver === CALLBACK_RECEIVER
    const isSigned = isCallback
      ? model.places.some((place) => isSignedAsTwilio(place.signing_key, post))
      : signers.some((hook) => [...hook.secrets].some((secret) => isSignedBy(hook, secret, post)))
    const isUnknown = signers.length === 0 && model.hasUnknownHooks
    if (!isSigned && !isUnknown && !signers.some(({ hasUnknownSecret }) => hasUnknownSecret)) {
      world.violate('a receiver can verify each delivery', `${at} has no signature of its webhook`)
    }
    if (headers['x-svc-event'] === 'as Twilio') continue
    const { livemode } = (JSON.parse(body) as { data: { livemode?: boolean } }).data
    if (own && own.mode !== 'all' && livemode !== undefined && livemode !== (own.mode === 'live')) {
      world.violate('a webhook gets only its mode', `${at}: ${own.mode}`)
    }
  }
}

/** The body without the notation of forms. */
function textOf({ headers, body }: Post): string {
  if (headers['x-svc-event'] !== 'as Twilio') return body
  return [...new URLSearchParams(body)].flat().join('\n')
}

/** Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over id, time and body, keyed with the decoded secret. */
export function isSignedBy({ form }: Hook, secret: string, post: Post): boolean {
  if (form === 'twilio') return isSignedAsTwilio(secret, post)
  const { headers, body } = post
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = `v1,${createHmac('sha256', key).update(text).digest('base64')}`
  return (headers['webhook-signature'] ?? '').split(' ').includes(expected)
}

/** Twilio: the base64 of HMAC-SHA1 over the URL and the fields of the form by their names, keyed with the text of the API key. */
function isSignedAsTwilio(secret: string, { url, headers, body }: Post): boolean {
  const fields = [...new URLSearchParams(body)].sort(([a], [b]) => (a < b ? -1 : 1))
  const expected = createHmac('sha1', secret)
    .update(url + fields.flat().join(''))
    .digest('base64')
  return headers['x-twilio-signature'] === expected
}
