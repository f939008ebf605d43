import { elapsedMs, later, running } from './clock.ts'
import { checkRequest, isSignedBy, noteDelivering } from './invariants/deliveries.ts'
import type { Hook, Post } from './model.ts'
import { outside } from './outside.ts'
import { mixed } from './random.ts'
import type { Network } from './world.ts'

const { readVerbs } = await import('../../packages/core/src/twiml/send-replies.ts')
// Loads the parser of TwiML, which the service loads for the first reply: this takes time of the machine.
await readVerbs('<Response/>')

type Options = Parameters<Network['dispatch']>[0]

type Handler = Parameters<Network['dispatch']>[1]

type Controller = Parameters<NonNullable<Handler['onRequestStart']>>[0]

/** The network between the service and its receivers. */
export const network = {
  dispatch(options: Options, handler: Handler): boolean {
    const asking = running.process
    const { world } = outside
    const receiver = Number(String(options.origin).split('.').at(-1))
    const controller = {
      aborted: false,
      paused: false,
      reason: null as Error | null,
      pause() {},
      resume() {},
      abort(reason: Error) {
        if (controller.aborted) return
        controller.aborted = true
        controller.reason = reason
        handler.onResponseError?.(controller, reason)
      },
    }
    const isOver = () => controller.aborted || asking !== running.process
    const draw = mixed(world.seed, receiver, outside.model.posts.length)
    later(
      () => {
        if (!isOver()) begin(receiver, options, { handler, controller, isOver, draw })
      },
      1 + (draw % 30),
    )
    return true
  },
  destroy: async () => {},
} as unknown as Network

/** The form of Twilio names its delivery and not its event. */
function withoutTwilio(headers: Record<string, string>): Record<string, string> {
  const delivery = headers['i-twilio-idempotency-token'] ?? ''
  const find = outside.database().prepare('select event_id from deliveries where id = ?').pluck()
  return {
    'x-svc-delivery': delivery,
    'x-svc-event': 'as Twilio',
    'webhook-id': (find.get(delivery) as string | undefined) ?? '',
  }
}

/** The replies of a receiver to what a person wrote. */
const TWIML = [
  '<Response><Message>Thank you</Message></Response>',
  '<Response><Message><Body>Thank you</Body></Message><Message>See you</Message></Response>',
  '<Response/>',
  `<Response><Message>${'a'.repeat(20_000)}</Message></Response>`,
  'no XML',
] as const

/** A delivery, and its webhook if the owner got its id. */
interface Possible {
  id: string
  hook: Hook | null
}

/** The deliveries of an event to the webhooks of a receiver in the form of Resend. */
function deliveriesOf(receiver: number, event_id: string): Possible[] {
  const { model, database } = outside
  const rows = database()
    .prepare(
      `select d.id, d.webhook_id from deliveries d join webhooks w on w.workspace_id = d.workspace_id and w.id = d.webhook_id
       where d.event_id = ? and w.format = 'resend'`,
    )
    .all(event_id) as { id: string; webhook_id: string }[]
  return rows
    .map(({ id, webhook_id }) => ({
      id,
      hook: model.hooks.find((one) => one.id === webhook_id) ?? null,
    }))
    .filter(({ hook }) => hook === null || hook.receiver === receiver)
}

/**
 * The form of Resend has the same signature under other names, and does not name its delivery: of those that are possible, it is the one to the webhook whose
 * secret made the signature.
 */
function withoutSvix(post: Post, possible: readonly Possible[]): Record<string, string> {
  const id = post.headers['svix-id'] ?? ''
  const headers = {
    'x-svc-event': 'as Resend',
    'webhook-id': id,
    'webhook-timestamp': post.headers['svix-timestamp'] ?? '',
    'webhook-signature': post.headers['svix-signature'] ?? '',
  }
  const signed = { ...post, headers }
  const isBy = ({ hook }: Possible) =>
    hook !== null && [...hook.secrets].some((secret) => isSignedBy(hook, secret, signed))
  const found =
    possible.find(isBy) ??
    possible.find(({ hook }) => hook === null || hook.hasUnknownSecret) ??
    possible[0]
  return { ...headers, 'x-svc-delivery': found?.id ?? `${id} ${post.receiver}` }
}

/** Every second receiver knows the newest secret of its webhooks only; those in the form of Twilio have the key as secret. */
function refusesSignature(post: Post): boolean {
  const { model } = outside
  const hooks = model.hooks.filter(
    ({ receiver, form }) => receiver === post.receiver && form !== 'twilio',
  )
  if (post.receiver % 2 === 0 || hooks.length === 0 || model.hasUnknownHooks) return false
  if (hooks.some(({ hasUnknownSecret }) => hasUnknownSecret)) return false
  return !hooks.some((hook) => isSignedBy(hook, [...hook.secrets].at(-1) ?? '', post))
}

function begin(
  receiver: number,
  options: Options,
  {
    handler,
    controller,
    isOver,
    draw,
  }: {
    handler: Handler
    controller: Controller
    isOver: () => boolean
    draw: number
  },
): void {
  const { world, model } = outside
  const usual = model.calm ? 'well' : (model.receivers.get(receiver) ?? 'well')
  const { failing } = model
  const isFailing = failing?.receiver === receiver && elapsedMs() < failing.until_ms
  const mood = isFailing ? 'broken' : usual
  const fail = (code: string) =>
    handler.onResponseError?.(controller, Object.assign(new Error(code), { code }))
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers as Record<string, string>)) {
    headers[name.toLowerCase()] = value
  }
  const { 'svix-id': event_id } = headers
  const possible = event_id === undefined ? [] : deliveriesOf(receiver, event_id)
  const post: Post = {
    receiver,
    url: `${options.origin}${options.path}`,
    at_ms: elapsedMs(),
    headers,
    body: options.body == null ? '' : String(options.body),
    isAnswered: false,
    answered_ms: null,
  }
  if (event_id !== undefined) Object.assign(headers, withoutSvix(post, possible))
  const isTwilio = headers['x-twilio-signature'] !== undefined
  if (isTwilio) Object.assign(headers, withoutTwilio(headers))
  const stage = { world, model, database: outside.database() }
  const begun = [headers['x-svc-delivery'] ?? '', ...possible.map(({ id }) => id)]
  for (const id of begun) noteDelivering(stage, id)
  if (mood === 'dead') return void fail('ECONNREFUSED')
  handler.onRequestStart?.(controller, {})
  if (isOver()) return
  if (model.pause.state === 'yes')
    world.violate('a pause holds', `receiver ${receiver} got a request`)
  checkRequest(stage, post)
  model.posts.push(post)
  const delivery = world.nameOf('d', headers['x-svc-delivery'] ?? '')
  world.trace(`receiver ${receiver} ${delivery} ${headers['x-svc-event']}: ${mood}`)
  world.count(`request ${mood}`)
  const answer = (
    status: number,
    ms: number,
    fields: Record<string, string> = {},
    text: string = 'ok',
  ) =>
    later(() => {
      if (isOver()) return
      post.isAnswered = status < 300
      post.answered_ms = elapsedMs()
      handler.onResponseStart?.(controller, status, fields, '')
      handler.onResponseData?.(controller, Buffer.from(text))
      handler.onResponseEnd?.(controller, {})
    }, ms)
  const short = 2 + (mixed(draw, 1) % 60)
  if (mood === 'well' && isTwilio && post.body.includes('SmsStatus=received')) {
    const twiml = TWIML[draw % TWIML.length]
    const place = model.hooks.find((hook) => hook.receiver === receiver)?.place ?? 0
    model.replies[place] = (model.replies[place] ?? 0) + (twiml?.split('<Message>').length ?? 1) - 1
    return void answer(200, short, { 'content-type': 'text/xml' }, twiml)
  }
  if (mood === 'well' && !isTwilio && refusesSignature(post)) return void answer(401, short)
  if (mood === 'well') return void answer(draw % 3 === 0 ? 204 : 200, short)
  if (mood === 'slow') return void answer(200, 2_000 + (mixed(draw, 2) % 16_000))
  if (mood === 'broken') return void answer(draw % 2 === 0 ? 500 : 503, short)
  if (mood === 'gone') return void answer(410, short)
  if (mood === 'busy') return void answer(429, short, { 'retry-after': '7' })
  if (mood === 'moved') return void answer(302, short, { location: 'http://10.0.0.99/hook' })
  if (mood === 'forgetful') {
    later(() => {
      if (!isOver()) fail('ECONNRESET')
    }, short)
  }
}
