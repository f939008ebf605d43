import { describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import { units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { HOUR_MS } from './count-changes.ts'
import {
  applyCode,
  type CodePlan,
  type CodeState,
  codeKeys,
  countedAt,
  decideCheck,
  decideCode,
  emptyCodeState,
  ended,
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
    allow(country: string, for_ms: number) {
      const paused_at = clock.now()
      const allowed_until = new Date(paused_at.getTime() + for_ms)
      const pause = { workspace_id: 'w1', country, paused_at, sent: 0, approved: 0, allowed_until }
      state.pauses.set(`w1\n${country}`, pause)
    },
    /** The message of a row fails before any provider accepts it. */
    fail({ workspace_id, country, created_at, sent_at }: VerificationRow) {
      const at = new Date(sent_at.at(-1) ?? created_at)
      const key = `${workspace_id}\n${country}`
      const less = { sent: -1, approved: 0, credits_used: units(0) }
      const count = { workspace_id, country: country as string, ...countedAt(at), ...less }
      state.counts.set(key, withCount(state.counts.get(key) ?? [], count))
    },
    end(row: VerificationRow, status: 'canceled' | 'expired' | 'max_attempts') {
      state.recent.set(codeKeys(row).address, [ended(row, status, clock.now())])
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

function plannedOf(decision: ReturnType<ReturnType<typeof service>['ask']>): CodePlan {
  if (decision.outcome !== 'planned') throw new Error(decision.outcome)
  return decision
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

  it('refuses none of 10,000 honest requests whose messages fail and cost nothing', () => {
    const honest = service()
    let refused = 0
    for (let n = 0; n < 10_000; n++) {
      honest.clock.step(100)
      const decision = honest.ask({ recipient: number(n) })
      if (decision.outcome === 'planned') honest.fail(decision.verification)
      else refused++
    }
    expect(refused).toBe(0)
  })

  it('stops an attack after messages that failed', () => {
    const attack = service()
    for (let n = 0; n < 1_000; n++) {
      attack.fail(plannedOf(attack.ask({ recipient: number(n) })).verification)
    }
    let sent = 0
    for (let n = 1_000; n < 11_000; n++) {
      if (attack.ask({ recipient: number(n) }).outcome === 'planned') sent++
    }
    expect(sent).toBe(50)
  })

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

  it('is sent again by its own id only, while another one is pending', () => {
    const one = service()
    const first = plannedOf(one.ask())
    one.clock.step(LIMITS.verification_cooldown_s * 1000)
    const next = plannedOf(one.ask({ code_length: 8 }))
    one.clock.step(LIMITS.verification_cooldown_s * 1000)
    expect(one.ask({}, first.verification.id)).toMatchObject({
      outcome: 'code_over',
      verification: { id: first.verification.id, status: 'canceled' },
    })
    expect(one.ask({}, 'unknown')).toEqual({ outcome: 'code_over', verification: null })
    expect(plannedOf(one.ask({}, next.verification.id)).verification.id).toBe(next.verification.id)
  })

  it('keeps its options and metadata in a resend, gets new ones in a start, and has the language of its last text', () => {
    const one = service()
    const wait = () => one.clock.step(LIMITS.verification_cooldown_s * 2_000)
    const began = { locale: 'de', options: { from: 'Acme' }, metadata: { user: 'U1' } }
    const other = { locale: 'fr', options: {}, metadata: { user: 'U2' } }
    const { verification: first } = plannedOf(one.ask(began))
    wait()
    expect(plannedOf(one.ask(other, first.id)).verification).toMatchObject({
      ...began,
      locale: 'fr',
    })
    wait()
    expect(plannedOf(one.ask(other)).verification).toMatchObject({ ...other, id: first.id })
  })

  it('is valid for at most an hour, however often it is sent again', () => {
    const one = service()
    const { verification: first } = plannedOf(one.ask())
    for (const wait_s of [60, 120, 240]) {
      one.clock.step(wait_s * 1000)
      one.ask({}, first.id)
    }
    const end = first.created_at.getTime() + LIMITS.verification_lifetime_s * 1000
    one.clock.step(480_000)
    const { verification: last } = plannedOf(one.ask({ expires_in: 3_600 }, first.id))
    expect(last.expires_at).toEqual(new Date(end))
  })
})

describe('the limits of an address and of a network', () => {
  it('are ten messages in a day', () => {
    const one = service()
    const outcomes = Array.from({ length: 12 }, () => {
      one.clock.step(HOUR_MS)
      return one.ask().outcome
    })
    expect(outcomes).toEqual([
      ...Array(LIMITS.verification_sends_per_day).fill('planned'),
      'code_limit',
      'code_limit',
    ])
  })

  it.each(['canceled', 'expired', 'max_attempts'] as const)(
    'keep the wait after a verification that is %s',
    (status) => {
      const one = service()
      const { verification } = plannedOf(one.ask())
      one.end(verification, status)
      expect(one.ask()).toEqual({ outcome: 'code_limit', of: 'recipient', retry_after_s: 30 })
    },
  )

  it('do not keep the wait after an approval', () => {
    const one = service()
    one.approve(plannedOf(one.ask()).verification)
    expect(one.ask().outcome).toBe('planned')
  })

  it('count the verifications of a network, not their resends', () => {
    const one = service()
    const client_network = '203.0.113.7/32'
    const ask = (n: number, resends: string | null = null) =>
      one.ask({ recipient: number(n), client_network }, resends)
    const { verification: first } = plannedOf(ask(0))
    one.clock.step(LIMITS.verification_cooldown_s * 1000)
    plannedOf(ask(0, first.id))
    for (let n = 1; n < LIMITS.verifications_per_network; n++) plannedOf(ask(n))
    expect(ask(999)).toMatchObject({ outcome: 'code_limit', of: 'network' })
    one.clock.step(LIMITS.verification_cooldown_s * 2_000)
    expect(ask(0, first.id).outcome).toBe('planned')
  })

  it('count the verifications of a network in each mode alone', () => {
    const one = service()
    const client_network = '2001:db8:1:2::/64'
    const ask = (n: number, livemode: boolean) =>
      one.ask({ recipient: number(n), client_network, livemode }).outcome
    for (let n = 0; n < LIMITS.verifications_per_network; n++) ask(n, false)
    expect(ask(999, false)).toBe('code_limit')
    expect(ask(999, true)).toBe('planned')
  })
})

describe('a pause of a country', () => {
  const hourAfter = (at: Date, hours: number) =>
    new Date((Math.floor(at.getTime() / HOUR_MS) + hours) * HOUR_MS)
  /** The stated end. Requests are refused until then, and not from then on. */
  function endOf(one: ReturnType<typeof service>): Date {
    const first = one.ask({ recipient: number(900) })
    if (first.outcome !== 'country_paused') throw new Error(first.outcome)
    one.clock.step(first.ends_at.getTime() - one.clock.now().getTime() - 1)
    const last = one.ask({ recipient: number(901) })
    expect(last).toMatchObject({ outcome: 'country_paused', ends_at: first.ends_at })
    one.clock.step(1)
    expect(one.ask({ recipient: number(902) }).outcome).toBe('planned')
    return first.ends_at
  }

  it('ends when its messages are a day old', () => {
    const one = service()
    const at = one.clock.now()
    for (let n = 0; n < 50; n++) one.ask({ recipient: number(n) })
    expect(endOf(one)).toEqual(hourAfter(at, 25))
  })

  it('ends after two hours if enough of the messages of the day were approved', () => {
    const one = service()
    for (let n = 0; n < 40; n++)
      one.approve(plannedOf(one.ask({ recipient: number(n) })).verification)
    one.clock.step(3 * HOUR_MS)
    const at = one.clock.now()
    for (let n = 100; n < 150; n++) one.ask({ recipient: number(n) })
    expect(endOf(one)).toEqual(hourAfter(at, 2))
  })
})

describe('a country that an operator allows', () => {
  it('is paused again after that time, by what was counted since then', () => {
    const one = service()
    let next = 0
    const ask = (count: number) =>
      Array.from({ length: count }, () => one.ask({ recipient: number(next++) }).outcome)
    ask(50)
    expect(ask(1)).toEqual(['country_paused'])
    one.allow('TZ', HOUR_MS)
    expect(ask(60)).toEqual(Array(60).fill('planned'))
    one.clock.step(HOUR_MS)
    expect(ask(1)).toEqual(['planned'])
    one.clock.step(HOUR_MS)
    // With the one in the hour in which the allowance ended, 50.
    expect(ask(60).filter((outcome) => outcome === 'planned')).toHaveLength(49)
  })
})
