// The clock is replaced before Fastify is loaded.
import './clock.ts'
import type { Core } from '../../packages/core/src/core.ts'
import { mixed } from './random.ts'

const { RATES } = await import('../../packages/core/src/contract/limits.ts')

/** In one of this number of seeds, clients send, read and cancel by HTTP: each start of a process builds all routes. */
const SHARE = 5

export const isByHttp = (seed: number): boolean => mixed(seed, 15) % SHARE === 0

/** No client is slowed down: an answer that follows from the time between two requests is tested elsewhere. */
const FREE = { max: 1_000_000, window_s: 60 }

export type Door = Awaited<ReturnType<typeof openDoor>>

interface Envelope {
  data?: unknown
  error?: string
  message?: string
}

/** The HTTP API of a service, without a network. */
export async function openDoor(core: Core) {
  // Most seeds do without the routes.
  const { buildApp } = await import('../../packages/server/src/app.ts')
  let requests = 0
  const app = await buildApp(core, {
    config: {
      rates: Object.fromEntries(Object.keys(RATES).map((name) => [name, FREE])) as never,
      jwt_secret: 'a secret of the simulation only, 32 bytes',
      trust_proxy: [],
    },
    load: () => ({ requests: 0, delay_ms: 0 }),
    newRequestId: () => `request-${requests++}`,
  })
  await app.ready()

  /** The `data` of the answer, and whether it was replayed. @throws as the core does: an SvcError, or another error for a 500. */
  async function call<T>(
    method: 'GET' | 'POST',
    url: string,
    {
      key,
      body,
      idempotency_key,
    }: { key: string; body?: unknown; idempotency_key?: string | undefined },
  ): Promise<{ data: T; replayed: boolean }> {
    const answer = await app.inject({
      method,
      url: `/api/v1/messages/${url}`,
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    const { data, error, message } = JSON.parse(answer.payload) as Envelope
    const { statusCode: status } = answer
    if (status < 300) return { data: data as T, replayed: 'idempotent-replayed' in answer.headers }
    const failure = Object.assign(new Error(message), { code: error, status })
    // The reason of a 500 is in the log only.
    throw Object.assign(failure, status === 500 ? { isHidden: true } : { name: 'SvcError' })
  }
  return { call }
}
