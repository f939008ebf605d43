import { describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import type { RecordFinding } from '../rows/domains.ts'
import type { SendingDomainRow } from '../rows/rows.ts'
import type { Sealed } from '../rows/sealed.ts'
import { acceptedUntil, isUsable, planCheck } from './sending-domain.ts'

const HOUR_MS = 3_600_000
const GRACE_MS = 72 * HOUR_MS
const runtime = testRuntime('domains')
const make = builders(runtime)
const NOW = runtime.now()
const ago = (ms: number) => new Date(NOW.getTime() - ms)
const ahead = (ms: number) => new Date(NOW.getTime() + ms)
const FOUND: RecordFinding = { state: 'verified', found: 'v=DKIM1' }
const MISSING: RecordFinding = { state: 'missing', found: null }
const domain = (fields: Partial<SendingDomainRow> = {}) => make.domain('workspace', fields)

describe('isUsable', () => {
  it('holds for a verified domain, and for a failing one within its grace', () => {
    const of = (fields: Partial<SendingDomainRow>) => isUsable(domain(fields), NOW)
    expect(of({ status: 'verified' })).toBe(true)
    expect(of({ status: 'failing', failing_since: ago(GRACE_MS - 1) })).toBe(true)
    expect(of({ status: 'failing', failing_since: ago(GRACE_MS) })).toBe(false)
    expect(of({ status: 'pending' })).toBe(false)
    expect(of({ status: 'failed', failing_since: ago(1) })).toBe(false)
  })
})

describe('acceptedUntil', () => {
  it('is the end of the grace of a failing domain alone', () => {
    const failing_since = ago(HOUR_MS)
    const end = acceptedUntil({ status: 'failing', failing_since })
    expect(end).toEqual(ahead(GRACE_MS - HOUR_MS))
    expect(acceptedUntil({ status: 'failed', failing_since })).toBeNull()
    expect(acceptedUntil({ status: 'failing', failing_since: null })).toBeNull()
  })
})

describe('planCheck', () => {
  it('verifies a domain whose key is found, and looks again after six hours', () => {
    expect(planCheck(domain(), { dkim: FOUND }, NOW)).toEqual({
      claim: 'take',
      actions: ['domain.verified'],
      change: {
        findings: { dkim: FOUND },
        status: 'verified',
        check_error: null,
        checked_at: NOW,
        check_due_at: ahead(6 * HOUR_MS),
        verified_at: NOW,
        failing_since: null,
        updated_at: NOW,
      },
    })
  })

  it('keeps a domain pending without a key, and asks no more by itself', () => {
    const { change, claim, actions } = planCheck(domain(), { dkim: MISSING }, NOW)
    expect(change).toMatchObject({ status: 'pending', check_due_at: null, verified_at: null })
    expect(change).not.toHaveProperty('updated_at')
    expect([claim, actions]).toEqual([null, []])
  })

  it('keeps the time at which a verified domain was verified', () => {
    const verified_at = ago(5 * HOUR_MS)
    const before = domain({ status: 'verified', verified_at, findings: { dkim: FOUND } })
    const { change, actions } = planCheck(before, { dkim: FOUND, dmarc: MISSING }, NOW)
    expect(change).toMatchObject({ status: 'verified', verified_at })
    expect(change.findings).toEqual({ dkim: FOUND, dmarc: MISSING })
    expect(actions).toEqual([])
    expect(change).not.toHaveProperty('updated_at')
  })

  it('lets a verified domain whose key is gone fail after its grace', () => {
    const verified = domain({ status: 'verified', verified_at: ago(HOUR_MS) })
    const first = planCheck(verified, { dkim: MISSING }, NOW)
    expect(first).toMatchObject({ claim: null, actions: ['domain.failing'] })
    expect(first.change).toMatchObject({ failing_since: NOW, check_due_at: ahead(HOUR_MS) })

    const failing_since = ago(GRACE_MS - 1)
    const within = planCheck(domain({ status: 'failing', failing_since }), { dkim: MISSING }, NOW)
    expect(within.change).toMatchObject({ status: 'failing', failing_since })

    const over = domain({ status: 'failing', failing_since: ago(GRACE_MS) })
    const last = planCheck(over, { dkim: MISSING }, NOW)
    expect(last).toMatchObject({ claim: 'release', actions: ['domain.failed'] })
    expect(last.change).toMatchObject({
      status: 'failed',
      check_due_at: null,
      failing_since: ago(GRACE_MS),
    })
  })

  it('verifies a failing domain whose key is back', () => {
    const before = domain({ status: 'failing', failing_since: ago(HOUR_MS) })
    const { change, claim } = planCheck(before, { dkim: FOUND }, NOW)
    expect(claim).toBe('take')
    expect(change).toMatchObject({ status: 'verified', verified_at: NOW, failing_since: null })
  })

  it('changes no state without an answer, unless the last answer is older than the grace', () => {
    const of = (checked_at: Date | null) => {
      const before = domain({ status: 'verified', checked_at, findings: { dkim: FOUND } })
      return planCheck(before, { dkim: null }, NOW).change
    }
    const checked_at = ago(GRACE_MS - 1)
    expect(of(checked_at)).toMatchObject({ status: 'verified', checked_at })
    expect(of(checked_at).check_error).toContain('No name server')
    expect(of(checked_at).findings).toEqual({ dkim: FOUND })
    expect(of(null)).toMatchObject({ status: 'verified' })
    expect(of(ago(GRACE_MS))).toMatchObject({ status: 'failing', failing_since: NOW })
  })

  describe('with a second key', () => {
    const next = {
      next_selector: 'svc0001',
      next_private_key: 'other' as Sealed,
      next_public_key: 'BBBB',
    }

    it('puts it in place of the first once it is found', () => {
      const before = domain({ status: 'verified', verified_at: ago(1), ...next })
      const seen = { dkim: MISSING, dkim_next: FOUND }
      const { change, claim, actions } = planCheck(before, seen, NOW)
      expect(actions).toEqual(['domain.rotated'])
      expect(claim).toBe('take')
      expect(change).toMatchObject({
        selector: 'svc0001',
        private_key: 'other',
        public_key: 'BBBB',
        previous_selector: 'svc0000',
        next_selector: null,
        next_private_key: null,
        next_public_key: null,
        status: 'verified',
        check_due_at: ahead(6 * HOUR_MS),
      })
      expect(change.findings).toEqual({ dkim: FOUND })
    })

    it('counts as an answer, though none came about the first key', () => {
      const before = domain({ status: 'verified', checked_at: ago(GRACE_MS), ...next })
      const { change } = planCheck(before, { dkim: null, dkim_next: FOUND }, NOW)
      expect(change).toMatchObject({ status: 'verified', checked_at: NOW, check_error: null })
    })

    it('keeps the first, and looks again after an hour, until it is found', () => {
      const before = domain({ status: 'verified', ...next })
      const { change, actions } = planCheck(before, { dkim: FOUND, dkim_next: MISSING }, NOW)
      expect(actions).toEqual([])
      expect(change).toMatchObject({ status: 'verified', check_due_at: ahead(HOUR_MS) })
      expect(change).not.toHaveProperty('selector')
    })

    it.each(['next_selector', 'next_private_key', 'next_public_key'] as const)(
      'takes none without its %s',
      (name) => {
        const before = domain({ ...next, [name]: null })
        const { change, actions } = planCheck(before, { dkim: MISSING, dkim_next: FOUND }, NOW)
        expect(actions).toEqual([])
        expect(change).not.toHaveProperty('selector')
      },
    )
  })
})
