import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import type { LookupResult, Outcome } from '../../src/contract/outside/provider.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Reported, Settlement } from '../../src/rules/settlement.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { type Bench, benchFor, EVERYTHING, type OpenStorage, receipt } from './bench.ts'
import { expectCounted } from './message-counts.contract.ts'

const RUNS = RUNS_ALL_CASES ? 15 : 4
const STEPS_MAX = 40

const refusal = { error_code: 'unroutable', error_message: 'No route' }
const OUTCOMES: Outcome[] = [
  { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null },
  { type: 'accepted', provider_message_id: null, lookup_after_ms: 5_000 },
  { type: 'rejected', ...refusal },
  { type: 'retry', ...refusal, delay_ms: null },
  { type: 'ambiguous', ...refusal },
  { type: 'retry', ...refusal, delay_ms: null, partial: true },
]
const ANSWERS: LookupResult[] = [
  { type: 'found', receipts: [], replies: [], lookup_after_ms: null },
  { type: 'found', receipts: [receipt('delivered')], replies: [], lookup_after_ms: 5_000 },
  { type: 'found', receipts: [receipt('failed')], replies: [], lookup_after_ms: null },
  { type: 'not_found' },
  { type: 'unavailable' },
]

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('send' as const), count: fc.nat(3) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('claim' as const), limit: fc.nat(4) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('settle' as const),
        which: fc.nat(20),
        result: fc.nat(5),
        abilities: fc.record({ idempotent: fc.boolean(), lookup: fc.boolean() }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('callback' as const),
        which: fc.nat(20),
        status: fc.constantFrom<Reported>('sent', 'delivered', 'read', 'failed'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat(20) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        ms: fc.constantFrom(500, 2_000, 30_000, 600_000, 4 * 3_600_000),
      }),
    },
  ),
  { minLength: 5, maxLength: STEPS_MAX },
)
type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never

/** Whatever happens in whatever order: the books balance, no refund is wrong, no message is lost or announced twice. */
export function historyContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('holds what it promises after every step of any history', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const run = await startRun(bench)
        for (const step of history) {
          await run.take(step)
          await run.check()
        }
        await run.finish()
      }),
      { numRuns: RUNS },
    )
  })
}

async function startRun(bench: Bench) {
  const workspaceId = await bench.workspace(12)
  const webhook = await bench.webhook(workspaceId)
  const claims: ClaimedMessage[] = []
  const ids: string[] = []
  const seen = new Map<string, MessageRow>()
  /** Messages that a provider may have, without a report. */
  /** Since when it is unknown whether a provider has it, by message. */
  const doubtful = new Map<string, number>()
  /** Those that went out in part. */
  const partly = new Set<string>()

  async function claim(limit: number): Promise<ClaimedMessage[]> {
    const claimed = await bench.claimMessages({ limit })
    claims.push(...claimed)
    return claimed
  }

  /** What a dispatcher would say of this claim: an interrupted attempt is ambiguous, whatever it gave. */
  function resultFor(claimed: ClaimedMessage, choice: number): Settlement['result'] {
    if (claimed.task === 'lookup' || claimed.status !== 'queued') {
      return { task: 'lookup', found: ANSWERS[choice % ANSWERS.length] as LookupResult }
    }
    const outcome = OUTCOMES[claimed.interrupted ? 4 : choice] as Outcome
    return { task: 'send', attempt: claimed.attempt, outcome }
  }

  async function settle(
    claimed: ClaimedMessage,
    choice: number,
    abilities: Settlement['abilities'],
  ) {
    const result = resultFor(claimed, choice)
    if (result.task === 'send' && 'partial' in result.outcome) {
      const { status } = await bench.message(workspaceId, claimed.message_id)
      if (status === 'queued') partly.add(claimed.message_id)
    }
    const counted = await bench.settle(claimed, result, { abilities })
    if (!counted) return
    const now_ms = bench.clock.now().getTime()
    if (result.task === 'send' && result.outcome.type === 'ambiguous') {
      if (!doubtful.has(claimed.message_id)) doubtful.set(claimed.message_id, now_ms)
    }
    if (result.task === 'lookup' && result.found.type === 'not_found') {
      // Sooner it may only not have come round to it.
      const since = doubtful.get(claimed.message_id) ?? now_ms
      if (now_ms - since >= 60_000) doubtful.delete(claimed.message_id)
    }
  }

  async function take(step: Step): Promise<void> {
    switch (step.do) {
      case 'send': {
        const request =
          step.count > 1
            ? bench.make.bulk(workspaceId, step.count)
            : bench.make.send(workspaceId, {
                expires_at: step.count ? new Date(bench.clock.now().getTime() + 60_000) : null,
              })
        const { outcome } = await bench.accept(request)
        if (outcome === 'accepted') ids.push(...request.messages.map(({ id }) => id))
        return
      }
      case 'claim':
        await claim(step.limit)
        return
      case 'settle': {
        const claimed = claims[step.which % Math.max(1, claims.length)]
        if (claimed) await settle(claimed, step.result, step.abilities)
        return
      }
      case 'callback': {
        const id = ids[step.which % Math.max(1, ids.length)]
        if (id) await bench.callback(await bench.message(workspaceId, id), step.status)
        return
      }
      case 'cancel': {
        const id = ids[step.which % Math.max(1, ids.length)]
        const at = bench.clock.now()
        if (id) await bench.storage.hot.cancel({ workspace_id: workspaceId, message_ids: [id], at })
        return
      }
      case 'wait':
        bench.clock.advance(step.ms)
    }
  }

  async function check(): Promise<void> {
    const { messages } = bench.storage.read
    const ledger = await bench.ledger(workspaceId)
    let balance = 0
    for (const [i, entry] of ledger.entries()) {
      balance += entry.amount
      expect(entry).toMatchObject({ seq: i + 1, balance_after: balance })
    }
    expect(balance).toBeGreaterThanOrEqual(0)
    expect(await bench.account(workspaceId)).toMatchObject({ balance, seq: ledger.length })

    await expectCounted(bench, workspaceId)
    const rows = await messages.list(workspaceId, {}, EVERYTHING)
    expect(rows.map(({ id }) => id).sort()).toEqual([...ids].sort())
    for (const row of rows) {
      const refunds = ledger.filter((e) => e.kind === 'refund' && e.ref_id === row.id)
      const refunded = refunds.length === 1
      expect(refunds.map(({ amount }) => amount)).toEqual(refunded ? [SMS_PRICE] : [])
      expect(row.credits_refunded).toBe(refunded ? SMS_PRICE : 0)
      // Exactly the messages that failed unaccepted were refunded.
      expect(refunded).toBe(row.status === 'failed' && !row.accepted)
      if (row.status === 'queued') expect(row.accepted).toBe(partly.has(row.id))
      if (refunded) expect(partly.has(row.id), 'a refund although a part is out').toBe(false)
      expectForward(seen.get(row.id), row)
      if (refunded && !seen.get(row.id)?.credits_refunded) {
        expect(doubtful.has(row.id), 'a refund although a provider may have it').toBe(false)
      }
      seen.set(row.id, row)
    }
  }

  /** Everything comes to an end, and was announced once. */
  async function finish(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      bench.clock.advance(24 * 3_600_000)
      for (const claimed of await claim(1_000)) {
        await settle(claimed, 2, { idempotent: false, lookup: false })
      }
    }
    await check()
    expect(await bench.claimMessages()).toEqual([])
    const { messages, webhooks } = bench.storage.read
    const deliveries = await webhooks.deliveries(workspaceId, webhook.id, EVERYTHING)
    const bodies = (await bench.claimDeliveries({ limit: 10_000, limit_per_webhook: 10_000 }))
      .filter(({ webhook_id }) => webhook_id === webhook.id)
      .map(({ body }) => JSON.parse(body).data)
    expect(bodies).toHaveLength(deliveries.length)
    for (const row of await messages.list(workspaceId, {}, EVERYTHING)) {
      expect(row.status).not.toBe('queued')
      const events = await bench.reportsOf(workspaceId, row.id)
      const changes = events.filter(({ applied }) => applied).map(({ status }) => status)
      expect(changes).toHaveLength(row.sequence)
      expect(changes.at(-1)).toBe(row.status)
      const announced = bodies
        .filter(({ message_id }) => message_id === row.id)
        .sort((a, b) => a.sequence - b.sequence)
      expect(announced).toMatchObject(changes.map((status, i) => ({ status, sequence: i + 1 })))
    }
  }

  return { take, check, finish }
}

const RANK = { queued: 0, sent: 1, delivered: 2, read: 3 } as const

/** Statuses move forward; a failure ends the message, unless a provider had it and reports success. */
function expectForward(before: MessageRow | undefined, after: MessageRow): void {
  if (!before) return
  expect(after.sequence).toBeGreaterThanOrEqual(before.sequence)
  if (before.status === after.status) return
  expect(after.sequence).toBeGreaterThan(before.sequence)
  if (before.status === 'failed') {
    expect(before.accepted).toBe(true)
    expect(['delivered', 'read']).toContain(after.status)
  } else if (after.status === 'failed') {
    expect(['queued', 'sent']).toContain(before.status)
  } else expect(RANK[after.status]).toBeGreaterThan(RANK[before.status])
}
