import { isIP } from 'node:net'
import rateLimit from '@fastify/rate-limit'
import type { Core } from '@svc/core'
import {
  CLIENT_BITS,
  networkOf,
  type RATES,
  type RateLimit,
  SvcError,
  WIDE_NETWORK_FACTOR,
} from '@svc/core/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { countersOf } from './counters.ts'
import { inTime } from './in-time.ts'

export type Bucket = keyof typeof RATES

/** Who is counted in a bucket: by an id of any kind, or as a client, by its address. */
export type Counted = string | Client

/** A client and, of an IPv6 one, the network around it, which counts with `WIDE_NETWORK_FACTOR` times the limit. */
export interface Client {
  address: string
  network: string | null
}

export interface RateLimiter {
  /**
   * Counts the request in a bucket and puts that on the response's headers where it has the least remaining.
   * @throws SvcError `rate_limit_exceeded`, and Error when the counters do not answer: the gate stays shut.
   */
  count(request: FastifyRequest, reply: FastifyReply, bucket: Bucket, who: Counted): Promise<void>
  /**
   * As `count`, in the caller's own bucket and in one that it shares with others, with one wait for both. A caller that
   * keeps exceeding its own bucket takes nothing from those it shares the other one with.
   */
  countShared(
    request: FastifyRequest,
    reply: FastifyReply,
    own: readonly [Bucket, string],
    shared: readonly [Bucket, string],
  ): Promise<void>
  /** Shows a bucket on the response's headers, and refuses nothing, whether the counters answer or not. */
  show(request: FastifyRequest, reply: FastifyReply, bucket: Bucket, who: Counted): Promise<void>
  /** As `show`, of a request that it counts; answers how the bucket stands with it. */
  note(request: FastifyRequest, reply: FastifyReply, bucket: Bucket, who: Counted): Promise<State>
  /** Counts what never became a request, and tells how the bucket stands, whether the counters answer or not. */
  tally(bucket: Bucket, who: Counted): Promise<State>
}

/** How a bucket stands. */
export interface State {
  max: number
  remaining: number
  reset_s: number
  exceeded: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the buckets the request counted in, the one that its headers describe. */
    tightest: State | null
  }
}

/** What the plugin looks at of a request; a real one builds its route options anew at every look. */
interface Looked {
  key: string
  max: number
  routeOptions: object
}

const NO_ROUTE_OPTIONS = {}

/** A probe shows the counters, and does not wait for them: it may be asked of a process whose database stands still. */
const SHOW_MAX_MS = 500

/** So many callers are remembered as having exceeded their own bucket; beyond it all are forgotten. */
const EXCEEDING_MAX = 10_000

/** Stands for clients that reset their connection before their request was looked at: their address is unknown by then. */
const GONE = 'gone'

/** Stands for all clients of whom a trusted proxy tells what is no address: another text each time is no other client. */
const NO_ADDRESS = 'no address'

/** The network that clients of IPv6 count in together: what one site gets. Of IPv4, an address is all there is. */
const WIDE_BITS = { ...CLIENT_BITS, ipv6: 48 } as const

/** The client that a request comes from; with `of`, for a count of its own, such as that of one route. */
export function clientOf({ ip }: { ip: string | undefined }, of = ''): Client {
  const name = (text: string) => (of ? `${of} ${text}` : text)
  const wide = ip === undefined ? null : networkOf(plainAddress(ip) ?? '', WIDE_BITS)
  return { address: name(clientKey({ ip })), network: wide?.includes(':') ? name(wide) : null }
}

/** What counts as one client: an IPv4 address, or the /64 that one IPv6 customer has. */
export function clientKey({ ip }: { ip: string | undefined }): string {
  if (ip === undefined) return GONE
  return networkOf(plainAddress(ip) ?? '', CLIENT_BITS) ?? NO_ADDRESS
}

/** The IP address that a proxy told, which may stand in brackets or before a port; null where it told none. */
export function plainAddress(told: string): string | null {
  const [, bracketed, before] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(told) ?? []
  const address = bracketed ?? before ?? told
  return isIP(address) === 0 ? null : address
}

/** The buckets of the contract's section 1. */
export async function createRateLimiter(
  app: FastifyInstance,
  rates: Record<Bucket, RateLimit>,
  core: Pick<Core, 'count'>,
): Promise<RateLimiter> {
  await app.register(rateLimit, { global: false, store: countersOf(core) })
  app.decorateRequest('tightest', null)
  const limiters = Object.fromEntries(
    Object.entries(rates).map(([bucket, { window_s }]) => [
      bucket,
      app.createRateLimit({
        max: (looked) => (looked as unknown as Looked).max,
        timeWindow: window_s * 1000,
        keyGenerator: (looked) => `${bucket} ${(looked as unknown as Looked).key}`,
      }),
    ]),
  ) as Record<Bucket, ReturnType<FastifyInstance['createRateLimit']>>

  async function look(
    bucket: Bucket,
    { key, factor = 1, increment }: { key: string; factor?: number; increment: boolean },
  ): Promise<State> {
    const max = rates[bucket].max * factor
    const looked: Looked = { key, max, routeOptions: NO_ROUTE_OPTIONS }
    const state = await limiters[bucket](looked as unknown as FastifyRequest, { increment })
    if (state.isAllowed) throw new Error('no request is exempt from its bucket')
    const { remaining, ttlInSeconds, isExceeded } = state
    return { max, remaining, reset_s: ttlInSeconds, exceeded: isExceeded }
  }

  /** Of a client and the network around it, the one with less left. */
  async function stateOf(bucket: Bucket, who: Counted, increment: boolean): Promise<State> {
    if (typeof who === 'string') return look(bucket, { key: who, increment })
    const own = await look(bucket, { key: who.address, increment })
    // What a client is refused does not count against its neighbours.
    if (who.network === null || own.exceeded) return own
    const shared = await look(bucket, {
      key: who.network,
      factor: WIDE_NETWORK_FACTOR,
      increment,
    })
    return shared.exceeded || shared.remaining < own.remaining ? shared : own
  }

  /** The headers are on every response: what cannot be known is shown as nothing left for now. */
  function unknown(bucket: Bucket): State {
    return { max: rates[bucket].max, remaining: 0, reset_s: 1, exceeded: false }
  }

  function show(request: FastifyRequest, reply: FastifyReply, state: State): void {
    const { tightest } = request
    if (tightest && tightest.remaining <= state.remaining && !state.exceeded) return
    request.tightest = state
    reply.header('x-ratelimit-limit', state.max)
    reply.header('x-ratelimit-remaining', state.remaining)
    reply.header('x-ratelimit-reset', state.reset_s)
  }

  /** As `stateOf`; a failure too leaves the headers behind. */
  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    ...[bucket, who, increment]: Parameters<typeof stateOf>
  ): Promise<State> {
    try {
      return await stateOf(bucket, who, increment)
    } catch (error) {
      show(request, reply, unknown(bucket))
      throw error
    }
  }

  /** As `stateOf`, for those who do not wait long, and are not held back. */
  async function glance(...asked: Parameters<typeof stateOf>): Promise<State> {
    return inTime(SHOW_MAX_MS, stateOf(...asked)).catch(() => unknown(asked[0]))
  }

  /** Callers whose last request exceeded their own bucket. Only a hint: a wrong one costs a second wait. */
  const exceeding = new Set<string>()

  function pass(request: FastifyRequest, reply: FastifyReply, state: State): void {
    show(request, reply, state)
    if (state.exceeded) throw rateExceeded(state)
  }

  async function count(...[request, reply, bucket, who]: Parameters<RateLimiter['count']>) {
    pass(request, reply, await ask(request, reply, bucket, who, true))
  }

  return {
    count,
    async countShared(request, reply, own, shared) {
      const caller = own.join(' ')
      if (exceeding.has(caller)) {
        await count(request, reply, ...own)
        exceeding.delete(caller)
        return count(request, reply, ...shared)
      }
      const [mine, ours] = await Promise.all([
        ask(request, reply, ...own, true),
        ask(request, reply, ...shared, true),
      ])
      if (mine.exceeded) {
        if (exceeding.size >= EXCEEDING_MAX) exceeding.clear()
        exceeding.add(caller)
      }
      pass(request, reply, mine)
      pass(request, reply, ours)
    },
    async show(request, reply, bucket, who) {
      show(request, reply, await glance(bucket, who, false))
    },
    async note(request, reply, bucket, who) {
      const state = await glance(bucket, who, true)
      show(request, reply, state)
      return state
    },
    tally: (bucket, who) => glance(bucket, who, true),
  }
}

/** The refusal of whoever exceeded a limit. */
export function rateExceeded({ reset_s }: State): SvcError {
  const seconds = Math.max(1, reset_s)
  return new SvcError(
    'rate_limit_exceeded',
    `Rate limit exceeded. Try again in ${seconds} seconds.`,
    { retry_after_s: seconds },
  )
}
