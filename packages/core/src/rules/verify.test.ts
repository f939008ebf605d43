import { describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import { LIMITS } from '../contract/limits.ts'
import type { VerificationRow } from '../rows/rows.ts'
import {
  applyCode,
  type CodeState,
  codeKeys,
  decideCheck,
  decideCode,
  emptyCodeState,
  nextSendAt,
  withCount,
} from './verify.ts'

const MINUTE_MS = 60_000

/** One workspace that asks for codes, with the state that the storage would find. */
function service() {
  const clock = testRuntime('verify')
  const make = builders(clock)
  const state: CodeState = emptyCodeState()
  let costs = 0
  return {
    clock,
    get costs() {
      return costs
    },
    ask(fields: Partial<VerificationRow> = {}, resends: string | null = null) {
      const verification = make.verification('w1', fields)
      const message = make.message('w1', { recipient: verification.recipient })
      const asked = { verification, resends, response: () => '' }
      const decision = decideCode(asked, message, state)
      if (decision.outcome !== 'planned') return decision
      costs += 1
      applyCode(decision, state)
      return decision
    },
    approve(row: VerificationRow) {
      const { changed, count } = decideCheck(row, true, clock.now())
      if (!changed || !count) throw new Error('not approved')
      const { address, country } = codeKeys(row)
      state.recent.set(address, [changed])
      state.counts.set(
        country as string,
        withCount(state.counts.get(country as string) ?? [], count),
      )
    },
  }
}

const number = (n: number) => `+2557${String(n).padStart(8, '0')}`

describe('the guard against pumping', () => {
  it('10,000 requests to one country without an approval cost at most 50 messages', () => {
    const attack = service()
    let sent = 0
    for (let n = 0; n < 10_000; n++) {
      attack.clock.step(1_000)
      if (attack.ask({ recipient: number(n) }).outcome === 'planned') sent++
    }
    expect(sent).toBe(50)
    expect(attack.costs).toBe(50)
  })

  it('also if they take their time, until the day is over', () => {
    const attack = service()
    let sent = 0
    for (let n = 0; n < 1_000; n++) {
      attack.clock.step(MINUTE_MS)
      if (attack.ask({ recipient: number(n) }).outcome === 'planned') sent++
    }
    expect(sent).toBe(50)
  })

  it.each([0.5, 0.7, 0.95])(
    'refuses none of 10,000 honest requests, of which %d are approved',
    (share) => {
      const honest = service()
      const waiting: VerificationRow[] = []
      let refused = 0
      for (let n = 0; n < 10_000; n++) {
        // One request in 4 seconds, and 40 seconds to type the code.
        honest.clock.step(4_000)
        const decision = honest.ask({ recipient: number(n) })
        if (decision.outcome !== 'planned') refused++
        else waiting.push(decision.verification)
        const typed = waiting.length > 10 ? waiting.shift() : undefined
        if (typed && (n % 100) / 100 < share) honest.approve(typed)
      }
      expect(refused).toBe(0)
    },
  )

  it('stops an attack among honest requests', () => {
    const mixed = service()
    for (let n = 0; n < 500; n++) {
      mixed.clock.step(4_000)
      const decision = mixed.ask({ recipient: number(n) })
      if (decision.outcome === 'planned' && n % 10 < 7) mixed.approve(decision.verification)
    }
    let attacked = 0
    for (let n = 1_000; n < 11_000; n++) {
      if (mixed.ask({ recipient: number(n) }).outcome === 'planned') attacked++
    }
    // 350 approvals allow 750 messages without one, of which the honest requests took 150.
    expect(attacked).toBe(600)
  })
})

describe('the time of the next message', () => {
  it('doubles with each message, up to ten minutes', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7].map((count) => {
      const sent_at = Array.from({ length: count }, () => 0)
      return nextSendAt({ sent_at }).getTime() / 1000
    })
    expect(waits).toEqual([30, 60, 120, 240, 480, 600, 600])
  })
})

describe('a pending verification', () => {
  it('is sent again with its own code and attempts, and ends when it is too old', () => {
    const one = service()
    const first = one.ask()
    if (first.outcome !== 'planned') throw new Error(first.outcome)
    one.clock.step(LIMITS.verification_cooldown_s * 1000)
    const again = one.ask()
    expect(again).toMatchObject({
      verification: { id: first.verification.id, seed: first.verification.seed },
      canceled: null,
    })
    const late = service()
    const old = late.ask({
      expires_in: 3_600,
      expires_at: new Date(late.clock.now().getTime() + 3_600_000),
    })
    if (old.outcome !== 'planned') throw new Error(old.outcome)
    late.clock.step(MINUTE_MS)
    const next = late.ask({ expires_in: 3_600 })
    if (next.outcome !== 'planned') throw new Error(next.outcome)
    expect(next.verification.id).not.toBe(old.verification.id)
    expect(next.canceled).toMatchObject({ id: old.verification.id, status: 'canceled', seed: null })
  })
})
