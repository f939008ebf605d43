import { isIP } from 'node:net'
import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { Counter } from '@svc/core'
import {
  CLIENT_BITS,
  networkOf,
  type RATES,
  type RateLimit,
  SvcError,
  WIDE_NETWORK_FACTOR,
} from '@svc/core/contract'
import { type Awaitable, type DecodedCore, whenReady, within } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

export type Bucket = keyof typeof RATES

/** The owner of a counter in a bucket: an id of any kind, or a client. */
export type Counted = string | Client

/** A client and, for IPv6, its network. The network counts with `WIDE_NETWORK_FACTOR` times the limit. */
export interface Client {
  address: string
  network: string | null
}

export interface RateLimiter {
  /**
   * Counts the request in a bucket. The response's headers show the bucket with the least remaining.
   * @throws SvcError `rate_limit_exceeded`, or Error if the counters do not answer, so that the request is refused.
   */
  count(request: FastifyRequest, reply: FastifyReply, bucket: Bucket, who: Counted): Awaitable<void>
  /** Counts nothing. @throws SvcError `rate_limit_exceeded` if the bucket has nothing left, or Error as `count` does. */
  assertLeft(
    request: FastifyRequest,
    reply: FastifyReply,
    bucket: Bucket,
    who: Counted,
  ): Awaitable<void>
  /**
   * Like `count`, in the caller's own bucket and in a shared bucket, with one wait for both. A caller that keeps
   * exceeding its own bucket uses up nothing of the shared bucket.
   */
  countShared(
    request: FastifyRequest,
    reply: FastifyReply,
    own: readonly [Bucket, string],
    shared: readonly [Bucket, string],
  ): Awaitable<void>
  /** Shows a bucket in the response's headers. Refuses no request, even if the counters do not answer. */
  show(request: FastifyRequest, reply: FastifyReply, bucket: Bucket, who: Counted): Promise<void>
  /** Shows a bucket of unknown state if the response's headers show none yet: the counters did not answer in time. */
  showUnknown(request: FastifyRequest, reply: FastifyReply): void
  /** Counts the request and shows the bucket as `show` does; returns the bucket's state. */
  note(request: FastifyRequest, reply: FastifyReply, bucket: Bucket, who: Counted): Promise<State>
  /**
   * Counts work that came by no HTTP request, such as a mail.
   * @throws SvcError `rate_limit_exceeded`, or Error if the counters do not answer.
   */
  charge(bucket: Bucket, who: Counted): Awaitable<void>
  /** Counts input that never became a request; returns the bucket's state, even when the counters do not answer. */
  tally(bucket: Bucket, who: Counted): Promise<State>
}

/** The state of a bucket. */
export interface State {
  max: number
  remaining: number
  reset_s: number
  exceeded: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The bucket in the response's headers: of the buckets that counted the request, it has the least remaining. */
    svcTightest: State | null
  }
}

/** A probe shows the counters but does not wait long for them: the database may be stalled. */
const SHOW_MAX_MS = 500

/** The maximum number of remembered callers that exceeded their own bucket. One more caller clears the list. */
const EXCEEDING_MAX = 10_000

/** The key for clients that reset their connection before their request was read. Their address is unknown. */
const GONE = 'gone'

/** One key for all texts of a trusted proxy that are not addresses, so that each new text is not a new client. */
const NO_ADDRESS = 'no address'

/** The IPv6 network in which clients count together has the size that one site gets. IPv4 has no such network. */
const WIDE_BITS = { ...CLIENT_BITS, ipv6: 48 } as const

/** The client of a request. `of` separates its counter from others, for example by route. */
export function clientOf({ ip }: { ip: string | undefined }, of = ''): Client {
  const name = (text: string) => (of ? `${of} ${text}` : text)
  const wide = ip === undefined ? null : networkOf(plainAddress(ip) ?? '', WIDE_BITS)
  return { address: name(clientKey({ ip })), network: wide?.includes(':') ? name(wide) : null }
}

/** The key of one client: an IPv4 address, or the /64 that one IPv6 customer has. */
export function clientKey({ ip }: { ip: string | undefined }): string {
  if (ip === undefined) return GONE
  return networkOf(plainAddress(ip) ?? '', CLIENT_BITS) ?? NO_ADDRESS
}

/** The IP address in a proxy's text, which may have brackets or a port; null for a text without one. */
export function plainAddress(forwarded: string): string | null {
  const [, bracketed, before] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(forwarded) ?? []
  const address = bracketed ?? before ?? forwarded
  return isIP(address) === 0 ? null : address
}

/** The buckets that count each request with a key. */
const HOT: readonly Bucket[] = ['general', 'workspace']

/** Reads the state of one counter, and adds `add` to it. */
type Look = (key: string, add: 0 | 1) => Awaitable<State>

/**
 * The rate limiter with the buckets of contract section 1. Each bucket is a limiter of @fastify/rate-limit over the counters
 * of the core, which all servers share; what a request counts in, and the headers, are decided here. The buckets of the hot
 * path, and two that are counted together, are counted without it: if the counters are in this process, they need no promise, and @fastify/rate-limit made six for
 * each request, which took 7 % of the time of an accepted message.
 */
export async function createRateLimiter(
  app: FastifyInstance,
  rates: Record<Bucket, RateLimit>,
  core: Pick<DecodedCore, 'count'>,
): Promise<RateLimiter> {
  app.decorateRequest('svcTightest', null)
  await app.register(rateLimit, { global: false, store: storeOn(core) })
  const looks = new Map<string, Look>()

  function look(bucket: Bucket, key: string, add: 0 | 1, factor = 1): Awaitable<State> {
    const name = `${bucket} ${factor}`
    const known = looks.get(name)
    if (known) return known(`${bucket} ${key}`, add)
    const { max, window_s } = rates[bucket]
    const limit = { max: max * factor, window_ms: window_s * 1000 }
    const made = HOT.includes(bucket) ? hotLook(core, limit) : lookOf(app, limit)
    looks.set(name, made)
    return made(`${bucket} ${key}`, add)
  }

  /** Either the state of the client or the state of its network: the state with less remaining. */
  function stateOf(bucket: Bucket, who: Counted, add: 0 | 1): Awaitable<State> {
    if (typeof who === 'string') return look(bucket, who, add)
    const { address, network } = who
    return whenReady(look(bucket, address, add), (own) => {
      // Refused requests of a client do not count against its network.
      if (network === null || own.exceeded) return own
      return whenReady(look(bucket, network, add, WIDE_NETWORK_FACTOR), (shared) =>
        shared.exceeded || shared.remaining < own.remaining ? shared : own,
      )
    })
  }

  /** Every response has the headers. They show an unknown state as nothing remaining. */
  function unknown(bucket: Bucket): State {
    return { max: rates[bucket].max, remaining: 0, reset_s: 1, exceeded: false }
  }

  function show(request: FastifyRequest, reply: FastifyReply, state: State): void {
    const { svcTightest: tightest } = request
    if (tightest && tightest.remaining <= state.remaining && !state.exceeded) return
    request.svcTightest = state
    reply.header('x-ratelimit-limit', state.max)
    reply.header('x-ratelimit-remaining', state.remaining)
    reply.header('x-ratelimit-reset', state.reset_s)
  }

  /** Like `stateOf`. Sets the response's headers even if the counters fail. */
  function query(
    request: FastifyRequest,
    reply: FastifyReply,
    bucket: Bucket,
    who: Counted,
    add: 0 | 1 = 1,
  ): Awaitable<State> {
    const state = stateOf(bucket, who, add)
    if (!(state instanceof Promise)) return state
    return state.catch((error) => {
      show(request, reply, unknown(bucket))
      throw error
    })
  }

  /** Like `stateOf`, with a short wait. Returns an unknown state after a timeout or a failure. */
  async function queryBriefly(bucket: Bucket, who: Counted, add: 0 | 1): Promise<State> {
    const state = Promise.resolve(stateOf(bucket, who, add))
    return within(SHOW_MAX_MS, state, () => unknown(bucket)).catch(() => unknown(bucket))
  }

  /** Callers whose last request exceeded their own bucket. This is only a hint: a wrong entry costs a second wait. */
  const exceeding = new Set<string>()

  function pass(request: FastifyRequest, reply: FastifyReply, state: State): void {
    show(request, reply, state)
    if (state.exceeded) throw rateExceeded(state)
  }

  function count(...[request, reply, bucket, who]: Parameters<RateLimiter['count']>) {
    return whenReady(query(request, reply, bucket, who), (state) => pass(request, reply, state))
  }

  return {
    count,
    assertLeft: (request, reply, bucket, who) =>
      whenReady(query(request, reply, bucket, who, 0), (state) =>
        pass(request, reply, { ...state, exceeded: state.remaining === 0 }),
      ),
    countShared(request, reply, own, shared) {
      const caller = `${own[0]} ${own[1]}`
      if (exceeding.has(caller)) {
        return whenReady(count(request, reply, ...own), () => {
          exceeding.delete(caller)
          return count(request, reply, ...shared)
        })
      }
      const passBoth = (counters: Counter[]) => {
        const mine = stateIn(rates[own[0]].max, counters[0] as Counter)
        if (mine.exceeded) {
          if (exceeding.size >= EXCEEDING_MAX) exceeding.clear()
          exceeding.add(caller)
        }
        pass(request, reply, mine)
        pass(request, reply, stateIn(rates[shared[0]].max, counters[1] as Counter))
      }
      const counted = core.count(
        [own, shared].map(([bucket, who]) => {
          return { key: `${bucket} ${who}`, window_ms: rates[bucket].window_s * 1000, add: 1 }
        }),
      )
      if (!(counted instanceof Promise)) return passBoth(counted)
      return counted.then(passBoth, (error) => {
        show(request, reply, unknown(own[0]))
        throw error
      })
    },
    async show(request, reply, bucket, who) {
      show(request, reply, await queryBriefly(bucket, who, 0))
    },
    showUnknown(request, reply) {
      if (!request.svcTightest) show(request, reply, unknown('anonymous'))
    },
    async note(request, reply, bucket, who) {
      const state = await queryBriefly(bucket, who, 1)
      show(request, reply, state)
      return state
    },
    charge: (bucket, who) =>
      whenReady(stateOf(bucket, who, 1), (state) => {
        if (state.exceeded) throw rateExceeded(state)
      }),
    tally: (bucket, who) => queryBriefly(bucket, who, 1),
  }
}

interface Limit {
  max: number
  window_ms: number
}

function hotLook(core: Pick<DecodedCore, 'count'>, { max, window_ms }: Limit): Look {
  return (key, add) =>
    whenReady(core.count([{ key, window_ms, add }]), ([counter]) =>
      stateIn(max, counter as Counter),
    )
}

function stateIn(max: number, { count, ends_in_ms }: Counter): State {
  return {
    max,
    remaining: Math.max(0, max - count),
    reset_s: Math.ceil(ends_in_ms / 1000),
    exceeded: count > max,
  }
}

/** What a limiter gets in place of a request: mails and refused connections are no requests. */
interface Counting {
  routeOptions: object
  key: string
}

function lookOf(app: FastifyInstance, { max, window_ms }: Limit): Look {
  const limiter = app.createRateLimit({
    max,
    timeWindow: window_ms,
    keyGenerator: (counting) => (counting as unknown as Counting).key,
  })
  return async (key, add) => {
    const counting: Counting = { routeOptions: {}, key }
    const state = await limiter(counting as unknown as FastifyRequest, { increment: add === 1 })
    if (state.isAllowed) throw new Error('no bucket has an allow list')
    const { remaining, ttlInSeconds: reset_s, isExceeded: exceeded } = state
    return { max, remaining, reset_s, exceeded }
  }
}

/** The store of @fastify/rate-limit on the counters of the core. */
function storeOn(core: Pick<DecodedCore, 'count'>) {
  type Args = Parameters<FastifyRateLimitStore['incr']>
  const ask = (add: 0 | 1, [key, callback, window_ms]: Args) => {
    void Promise.resolve(core.count([{ key, window_ms, add }])).then(([counter]) => {
      const { count, ends_in_ms } = counter as Counter
      callback(null, { current: count, ttl: ends_in_ms })
    }, callback)
  }
  return class implements FastifyRateLimitStore {
    incr(...args: Args) {
      ask(1, args)
    }
    read(...args: Args) {
      ask(0, args)
    }
    child() {
      return this
    }
  }
}

/** The error for a request that exceeds a limit. */
export function rateExceeded({ reset_s }: State): SvcError {
  const seconds = Math.max(1, reset_s)
  return new SvcError(
    'rate_limit_exceeded',
    `Rate limit exceeded. Try again in ${seconds} seconds.`,
    { retry_after_s: seconds },
  )
}
