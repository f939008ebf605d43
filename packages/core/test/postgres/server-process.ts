/**
 * A server of its own on the database that the first argument names. It does what its parent asks and answers with what
 * came of it; it lasts until it is killed or disconnected.
 */
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { builders } from '../fixtures.ts'
import type { Answers, Task } from './servers.ts'

const [url = ''] = process.argv.slice(2)
const runtime = systemRuntime()
const make = builders(runtime)
const storage = await openPostgres(url, runtime)

const CALLERS = 24

/** Every caller sends one message after another until there are no credits. */
async function spend(workspaceId: string): Promise<Answers['spend']> {
  const accepted: string[] = []
  const others = new Set<string>()
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (;;) {
        const request = make.send(workspaceId)
        const [result] = await storage.hot.accept([request])
        if (result?.outcome !== 'accepted') {
          others.add(String(result?.outcome))
          return
        }
        accepted.push(...request.messages.map(({ id }) => id))
      }
    }),
  )
  return { accepted, others: [...others] }
}

/** Sends with each of the keys, all at once; returns the response of each. */
async function repeat(workspaceId: string, keys: string[]): Promise<Answers['repeat']> {
  return Promise.all(
    keys.map(async (key) => {
      const response = runtime.id()
      const answer = { route: 'messages.send', key, request_hash: 'same', response }
      const [result] = await storage.hot.accept([make.send(workspaceId, {}, answer)])
      return result?.outcome === 'replayed'
        ? { key, outcome: 'replayed', response: result.response }
        : { key, outcome: String(result?.outcome), response }
    }),
  )
}

function claim(limit: number, lease_ms: number) {
  const { now, elapsed, id } = runtime
  const claim = { now: now(), elapsed_ms: elapsed(), limit, lease_ms, token: id() }
  return storage.hot.claimMessages({
    ...claim,
    route: () => ({ provider: 'sandbox', sender: null }),
  })
}

/** Claims until nothing is due; returns the messages, and those with an earlier claim. */
async function claimAll(limit: number, lease_ms: number): Promise<Answers['claimAll']> {
  const claimed: string[] = []
  const interrupted: string[] = []
  for (;;) {
    const some = await claim(limit, lease_ms)
    for (const message of some) {
      claimed.push(message.message_id)
      if (message.interrupted) interrupted.push(message.message_id)
    }
    if (some.length === 0) return { claimed, interrupted }
  }
}

/** Sends whatever is due, every third message in vain, and delivers what that announces, until nothing is left. */
async function dispatch(): Promise<Answers['dispatch']> {
  const sent: string[] = []
  const delivered: string[] = []
  for (let idle = 0; idle < 5; ) {
    const messages = await claim(40, 60_000)
    await storage.hot.settle(
      messages.map(({ workspace_id, message_id, token, attempt, recipient }) => ({
        workspace_id,
        message_id,
        token,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: {
          task: 'send' as const,
          attempt,
          outcome: recipient.endsWith('0')
            ? { type: 'rejected' as const, error_code: 'unroutable', error_message: 'No route' }
            : { type: 'accepted' as const, provider_message_id: null, lookup_after_ms: null },
        },
        at: runtime.now(),
      })),
    )
    sent.push(...messages.map(({ message_id }) => message_id))
    const deliveries = await storage.hot.claimDeliveries({
      now: runtime.now(),
      elapsed_ms: runtime.elapsed(),
      limit: 60,
      limit_per_webhook: 20,
      limit_per_workspace: 1_000,
      room_of_webhook: new Map(),
      room_of_workspace: new Map(),
      lease_ms: 60_000,
      token: runtime.id(),
    })
    const counted = await storage.hot.recordDeliveries(
      deliveries.map(({ workspace_id, webhook_id, delivery_id, token }) => ({
        workspace_id,
        webhook_id,
        delivery_id,
        token,
        started_at: runtime.now(),
        duration_ms: 1,
        response_status: 200,
        response_body: null,
        error: null,
        retry_after_ms: null,
      })),
    )
    delivered.push(...deliveries.filter((_, i) => counted[i]).map((each) => each.delivery_id))
    idle = messages.length + deliveries.length > 0 ? 0 : idle + 1
  }
  return { sent, delivered }
}

/** Runs the named work alone for this time, unless another server runs it. */
async function sweep(ms: number): Promise<Answers['sweep']> {
  const ran = await storage.alone?.('sweep', async () => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return true
  })
  return ran === true
}

function answer(received: Task): Promise<Answers[Task['task']]> {
  switch (received.task) {
    case 'spend':
      return spend(received.workspace_id)
    case 'repeat':
      return repeat(received.workspace_id, received.keys)
    case 'claimAll':
      return claimAll(received.limit, received.lease_ms)
    case 'dispatch':
      return dispatch()
    case 'sweep':
      return sweep(received.ms)
  }
}

process.on('message', async (received: Task) => {
  process.send?.(await answer(received))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
