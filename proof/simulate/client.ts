import { elapsedMs, later } from './clock.ts'
import { spendingOf } from './invariants/credits.ts'
import { isFaulted } from './invariants/rows.ts'
import { type Asked, addressesOf, type Model, type Place } from './model.ts'
import { optOutOf } from './outside.ts'
import { type Connection, type Core, UNANSWERED, type World } from './world.ts'

const { decodedOf } = await import('../../packages/core/src/core.ts')
const { apiFor } = await import('../../packages/core/src/contract/api.ts')
const { decode } = await import('../../packages/core/src/contract/endpoints/decode.ts')

/** A request to send, as the doors in the forms of other vendors decode it. */
const { body: SEND } = apiFor({ voice: true }).messages.send

/** How long a client waits before it repeats a request; the wait doubles. */
const REPEAT_MS = 700
const REPEAT_MAX_MS = 10_000

const ADDRESS = '127.0.0.1'

/** An error whose reason only the log has follows from a fault within this time. */
const HIDDEN_MS = 5_000

/** What an actor works with. */
export interface Stage {
  world: World
  model: Model
  /** Reads the database of the running service. */
  database(): Connection
}

/** An error that the service gave without a fault that explains it. */
function isRefusal(error: unknown): error is Error & { code: string; status: number } {
  return (error as Error)?.name === 'SvcError' && (error as { status: number }).status < 500
}

/** The identity of a key, as the server finds it. */
export async function identityOf(core: Core, key: string) {
  return core.apiKeys.authenticateKnown(key, ADDRESS) ?? core.apiKeys.authenticate(key, ADDRESS)
}

/** Calls the service. The result is the value, a refusal as `code`, or null for no answer or an error of the service. */
export async function ask<T>(
  { world }: Stage,
  what: string,
  work: (core: Core) => Promise<T>,
): Promise<{ value: T } | { code: string; text: string } | null> {
  try {
    const value = await world.ask(work)
    if (value === UNANSWERED) {
      world.trace(`${what}: no answer`)
      return null
    }
    return { value }
  } catch (error) {
    if (isRefusal(error)) {
      world.trace(`${what}: ${error.code}`)
      return { code: error.code, text: error.message }
    }
    const { code, message, isHidden } = error as Error & { code?: string; isHidden?: true }
    world.trace(`${what}: error ${code ?? message}`)
    const isExplained =
      world.isStopping || (isHidden && isFaulted(world, elapsedMs() - HIDDEN_MS, elapsedMs()))
    // A code that was accepted without the key is sent when the key is back.
    const isUnreadable =
      world.settings.isKeyMissing && (code === 'secrets_key' || message.includes('cannot be read'))
    if (code !== 'SQLITE_FULL' && !isExplained && !isUnreadable) {
      world.violate('no error without a fault', `${what}: ${code ?? ''} ${(error as Error).stack}`)
    }
    return null
  }
}

/** Repeats an operator's or owner's action until it is answered. */
export async function untilAnswered<T>(
  stage: Stage,
  what: string,
  work: (core: Core) => Promise<T>,
): Promise<{ value: T } | { code: string }> {
  stage.model.open += 1
  for (let time = 0; ; time++) {
    const answer = await ask(stage, what, work)
    if (answer) {
      stage.model.open -= 1
      return answer
    }
    await pause(time)
  }
}

/** The wait before a request is repeated. */
export const pause = (time: number): Promise<void> =>
  new Promise((resolve) => later(resolve, Math.min(REPEAT_MS * 2 ** time, REPEAT_MAX_MS)))

/** A client sends a message, and the same at once again if it is impatient. */
export function sendCopies(
  stage: Stage,
  step: {
    workspace: number
    isTest: boolean
    isKeyed: boolean
    isLimited?: boolean
    callback?: Asked['callback']
    copies: number
    delay_s: number
    expires_s: number
  },
  message: { channel: string; to: string | string[]; content?: object; template?: object },
): void {
  const { model } = stage
  const { delay_s, expires_s } = step
  const body = {
    ...message,
    ...(delay_s > 0 && { scheduled_at: new Date(Date.now() + delay_s * 1000).toISOString() }),
    ...(expires_s > 0 && { expires_in: expires_s }),
  }
  const asked = newAsked(stage, step, 'send', body)
  model.asked.push(asked)
  for (let copy = 0; copy < step.copies; copy++) {
    // Without a key, each copy is a request of its own.
    if (asked.key || copy === 0) void post(stage, asked)
    else {
      const other = newAsked(stage, step, 'send', body)
      model.asked.push(other)
      void post(stage, other)
    }
  }
}

export function newAsked(
  { model }: Stage,
  {
    workspace,
    isTest,
    isKeyed,
    isLimited = false,
    callback,
  }: {
    workspace: number
    isTest: boolean
    isKeyed: boolean
    isLimited?: boolean
    callback?: Asked['callback']
  },
  kind: Asked['kind'],
  body: unknown,
): Asked {
  return {
    place: workspace,
    isTest,
    isLimited,
    kind,
    key: isKeyed ? `key-${model.asked.length}` : undefined,
    body,
    callback,
    answer: null,
    ids: [],
    refusals: [],
    lost: 0,
    pending: 0,
    prices: new Set(),
  }
}

/** The API key of a request. */
const keyOf = (place: Place, { isTest, isLimited, callback }: Asked): string =>
  isTest ? place.test_key : callback ? place.signing_key : isLimited ? place.limited_key : place.key

/** A request whose key was revoked, or that came while the service was busy, does not reach the stored answer. */
const MAY_FOLLOW: ReadonlySet<string> = new Set(['unauthorized', 'rate_limit_exceeded'])

/** A request; a client with a key repeats it until it has an answer. */
export async function post(stage: Stage, asked: Asked): Promise<void> {
  const { world, model } = stage
  const place = model.places[asked.place]
  if (!place) return
  const what = `${asked.kind} ${asked.key ?? '-'}`
  model.open += 1
  for (let time = 0; ; time++) {
    const wasFrozen = place.frozen.state
    const wasLimited = place.limit.state
    const optedOut = optOutsOfSend(asked).filter(({ toggle }) => toggle.state === 'yes')
    const wasAnswered = asked.answer !== null
    asked.pending += 1
    asked.prices.add(world.prices)
    const domain = domainOfSend(stage, asked)
    const wasUsable = domain?.usable.state
    // The sandbox, which takes the mails without a provider, sends none, and accepts any address.
    const isSandbox = world.without === 'once'
    const answer = await ask(stage, what, async (core) => {
      const options = { idempotency_key: asked.key }
      const { callback: status_callback } = asked
      if (world.door && asked.kind !== 'code' && !status_callback) {
        const { body } = asked
        const request = { key: keyOf(place, asked), body, ...options }
        return world.door.call<object>('POST', asked.kind, request)
      }
      const identity = await identityOf(core, keyOf(place, asked))
      if (status_callback) {
        // The doors in the forms of other vendors pass it with a decoded request.
        const request = decode(SEND, asked.body)
        return decodedOf(core).messages.send(identity, request, { ...options, status_callback })
      }
      if (asked.kind === 'send') {
        return core.messages.send(identity, asked.body as never, options)
      }
      if (asked.kind === 'code') {
        return core.verifications.start(identity, asked.body as never, options)
      }
      return core.messages.bulks.send(identity, asked.body as never, options)
    })
    asked.pending -= 1
    if (answer === null) {
      asked.lost += 1
      if (!asked.key) break
      await pause(time)
      continue
    }
    if ('code' in answer) {
      asked.refusals.push(answer.code)
      if (
        answer.text.includes('not a verified sending domain') &&
        wasUsable === 'yes' &&
        domain?.usable.state === 'yes'
      ) {
        world.violate('a verified domain may be used', `${what} from ${domain.name}`)
      }
      if (asked.answer !== null && !MAY_FOLLOW.has(answer.code)) {
        world.violate('an idempotent answer is stable', `${what} was answered, then ${answer.code}`)
      }
      break
    }
    const { data } = answer.value
    // A start while its code was sent a short time ago sends nothing.
    const isUnsent = (data as { credits_used?: unknown }).credits_used === 0
    noteAnswer(stage, asked, data)
    if (
      !asked.isTest &&
      wasLimited === 'yes' &&
      place.limit.state === 'yes' &&
      !answer.value.replayed
    ) {
      assertWithinLimit(stage, place)
    }
    const isFirst =
      !asked.isTest &&
      !isUnsent &&
      !wasAnswered &&
      asked.lost + asked.pending === 0 &&
      !answer.value.replayed
    const isUnusable = wasUsable === 'no' && domain?.usable.state === 'no' && !domain.isLost
    if (isFirst && isUnusable && !isSandbox) {
      world.violate('only a verified domain is used', `${what} from ${domain.name}`)
    }
    if (isFirst && optedOut.some(({ toggle }) => toggle.state === 'yes')) {
      world.violate('an opt-out holds', what)
    }
    if (wasFrozen === 'yes' && place.frozen.state === 'yes' && isFirst) {
      world.violate('a frozen workspace spends nothing', what)
    }
    break
  }
  model.open -= 1
}

function optOutsOfSend({ kind, place, isTest, body }: Asked) {
  if (kind === 'bulk' || isTest) return []
  return addressesOf(body).map((address) =>
    optOutOf(place, (body as { channel: string }).channel, address),
  )
}

function domainOfSend({ model }: Stage, { place, isTest, body }: Asked) {
  const { from_address } = (body as { content?: { from_address?: string } }).content ?? {}
  if (isTest || from_address === undefined) return undefined
  return model.domains.find((one) => one.place === place && from_address.endsWith(`@${one.name}`))
}

function assertWithinLimit(
  { world, database }: Stage,
  { id, spent_max }: Pick<Model['places'][number], 'id' | 'spent_max'>,
): void {
  const { spent } = spendingOf(database(), id)
  if (spent > spent_max) {
    world.violate('a daily limit is never exceeded', `${spent} of ${spent_max} spent`)
  }
}

function noteAnswer({ world, model }: Stage, asked: Asked, answer: object): void {
  const { test_code = null, ...data } = answer as { test_code?: string }
  const bytes = JSON.stringify(data)
  const { message_id, messages } = data as {
    message_id?: string
    messages?: { message_id: string }[]
  }
  const ids = message_id ? [message_id] : (messages ?? []).map((one) => one.message_id)
  const shown = ids.map((id) => world.nameOf('m', id)).join(' ')
  world.trace(`${asked.kind} ${asked.key ?? '-'} of ${asked.place}: 201 ${shown}`)
  if (asked.answer === null) {
    asked.answer = bytes
    asked.ids = ids
    for (const id of ids) {
      if (!model.statuses.has(id)) model.statuses.set(id, { status: 'queued', isRefunded: false })
    }
    if (asked.kind === 'code') noteCode(asked, data as { verification_id?: string })
  } else if (asked.answer !== bytes) {
    world.violate('an idempotent answer is stable', `${asked.key}: ${asked.answer} and ${bytes}`)
  }

  function noteCode({ place, isTest, body }: Asked, { verification_id: id = '' }): void {
    world.trace(`code ${world.nameOf('v', id)}`)
    if (model.verifications.has(id)) return
    const counts = { approvals: 0, wrong: 0, lost: 0, guesses: 0 }
    const { to, fallback = [] } = body as { to: string; fallback?: { to?: string }[] }
    const addresses = [to, ...fallback.flatMap((one) => one.to ?? [])]
    model.verifications.set(id, {
      id,
      place,
      isTest,
      addresses,
      test_code,
      ...counts,
      isOver: false,
    })
  }
}
