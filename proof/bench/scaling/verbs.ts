import { units } from '../../../packages/core/src/contract/fields/units.ts'
import type { ClaimedMessage } from '../../../packages/core/src/rules/claim.ts'
import type { HotVerbs } from '../../../packages/core/src/storage/ports/hot.ts'
import { type Builders, builders } from '../../../packages/core/test/fixtures.ts'
import { quantile } from '../figure.ts'
import type { Scratch, ScratchDatabase } from './scratch.ts'

const PLENTY = units(900_000_000_000_000)
const LEASE_MS = 600_000
const CARRIER = { provider: 'carrier', abilities: { idempotent: false, lookup: false } }
const ACCEPTED = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
const DELIVERED = {
  status: 'delivered',
  provider_message_id: 'P1',
  error_code: null,
  error_message: null,
} as const

type Settlement = Parameters<HotVerbs['settle']>[0][number]

/** The verbs of every message, in this order. */
export const VERBS = ['accept', 'claim', 'settle', 'receipt', 'claim delivery', 'record'] as const
export type Verb = (typeof VERBS)[number]

/** The cost of one batch: milliseconds of the database's CPU, and the 25th percentile of the time until the answer. */
export interface BatchCost {
  cpu_ms: number
  wall_ms: number
}

/** A line through the costs of two batch sizes: a batch costs `fixed + per_item * items`. */
export interface LinearCost {
  fixed_ms: number
  per_item_ms: number
}

/** Workspaces that can pay, each with a webhook for deliveries. */
export async function makeWorkspaces(
  { storage, runtime }: ScratchDatabase,
  make: Builders,
  count: number,
): Promise<string[]> {
  const made: string[] = []
  for (let i = 0; i < count; i++) {
    const workspace = make.workspace()
    await storage.write(async ({ workspaces, credits, webhooks }) => {
      await workspaces.insert(workspace)
      await credits.open(workspace.id, runtime.now())
      await credits.post(workspace.id, make.grant(PLENTY))
      await webhooks.insert(make.webhook(workspace.id, { events: ['message.delivered'] }))
    })
    made.push(workspace.id)
  }
  return made
}

/** Takes `batches` batches of `size` messages through every verb, verb by verb; returns the cost of a batch of each. */
export async function costOfVerbs(
  scratch: Scratch,
  database: ScratchDatabase,
  { workspaces, batches, size }: { workspaces: string[]; batches: number; size: number },
): Promise<Record<Verb, BatchCost>> {
  const { storage, runtime } = database
  const make = builders(runtime)
  const claimed: ClaimedMessage[][] = []
  const costs = {} as Record<Verb, BatchCost>
  const measure = async (verb: Verb, step: (i: number) => Promise<unknown>) => {
    costs[verb] = await costOf(scratch, batches, step)
  }
  const settlement = (result: Settlement['result'], message: ClaimedMessage): Settlement => ({
    ...CARRIER,
    workspace_id: message.workspace_id,
    message_id: message.message_id,
    token: result.task === 'callback' ? null : message.token,
    result,
    at: runtime.now(),
  })
  await measure('accept', (i) => {
    const of = (n: number) => workspaces[(i * size + n) % workspaces.length] as string
    return storage.hot.accept(Array.from({ length: size }, (_, n) => make.send(of(n))))
  })
  await measure('claim', async () => {
    const claim = {
      now: runtime.now(),
      elapsed_ms: runtime.elapsed(),
      limit: size,
      lease_ms: LEASE_MS,
      token: runtime.id(),
    }
    claimed.push(
      await storage.hot.claimMessages({
        ...claim,
        route: () => ({ provider: 'carrier', sender: null }),
      }),
    )
  })
  const settleAll = (result: Settlement['result']) => (i: number) =>
    storage.hot.settle((claimed[i] ?? []).map((message) => settlement(result, message)))
  await measure('settle', settleAll({ task: 'send', attempt: 1, outcome: ACCEPTED }))
  await measure('receipt', settleAll({ task: 'callback', receipts: [DELIVERED] }))
  const deliveries = await claimAllDeliveries(database, batches, size, measure)
  await measure('record', (i) =>
    storage.hot.recordDeliveries(
      (deliveries[i] ?? []).map(({ workspace_id, webhook_id, delivery_id, token }) => ({
        workspace_id,
        webhook_id,
        delivery_id,
        token,
        started_at: runtime.now(),
        duration_ms: 40,
        response_status: 200,
        response_body: 'ok',
        error: null,
        retry_after_ms: null,
      })),
    ),
  )
  expectWhole('messages', claimed, batches * size)
  expectWhole('deliveries', deliveries, batches * size)
  return costs
}

async function claimAllDeliveries(
  { storage, runtime }: ScratchDatabase,
  batches: number,
  size: number,
  measure: (verb: Verb, step: () => Promise<unknown>) => Promise<void>,
) {
  const claimed: Awaited<ReturnType<typeof storage.hot.claimDeliveries>>[] = []
  await measure('claim delivery', async () => {
    const bounds = {
      limit: size,
      limit_per_webhook: size,
      limit_per_workspace: 1_000,
      room_of_webhook: new Map<string, number>(),
      room_of_workspace: new Map<string, number>(),
    }
    const time = { now: runtime.now(), elapsed_ms: runtime.elapsed() }
    const claim = { ...time, lease_ms: LEASE_MS, token: runtime.id(), ...bounds }
    claimed.push(await storage.hot.claimDeliveries(claim))
  })
  if (claimed.length !== batches) throw new Error('a claim is missing')
  return claimed
}

/** The cost of one of `batches` sequential steps. */
export async function costOf(
  scratch: Scratch,
  batches: number,
  step: (i: number) => Promise<unknown>,
): Promise<BatchCost> {
  const cpu = scratch.cpu_ms()
  const times: number[] = []
  for (let i = 0; i < batches; i++) {
    const from = performance.now()
    await step(i)
    times.push(performance.now() - from)
  }
  // Other work on the machine makes the others longer.
  return { cpu_ms: (scratch.cpu_ms() - cpu) / batches, wall_ms: quantile(times, 0.25) }
}

/** The line through the costs of a small and of a large batch; neither of its parts is negative. */
export function lineThrough(
  [small, cost]: [size: number, ms: number],
  [large, other]: [size: number, ms: number],
): LinearCost {
  const per_item_ms = Math.max(0, (other - cost) / (large - small))
  return { fixed_ms: Math.max(0, cost - per_item_ms * small), per_item_ms }
}

function expectWhole(what: string, batches: readonly unknown[][], count: number): void {
  const got = batches.reduce((sum, batch) => sum + batch.length, 0)
  if (got !== count) throw new Error(`${got} of ${count} ${what} arrived`)
}
