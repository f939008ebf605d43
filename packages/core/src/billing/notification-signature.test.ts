import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isSignedBy, signNotification } from './sandbox.ts'

const NOW = new Date('2026-05-04T09:00:00Z')
const T = NOW.getTime() / 1000
const body = Buffer.from('{"é":1}')
const digest = (secret: string, t: number | string) =>
  createHmac('sha256', secret).update(`${t}.{"é":1}`).digest('hex')
const isGood = (signature: string | undefined, now = NOW) =>
  isSignedBy('whsec_1', { body, signature }, now)

describe('signNotification', () => {
  it('signs time and body as Stripe does', () => {
    expect(signNotification('whsec_1', body, NOW)).toBe(`t=${T},v1=${digest('whsec_1', T)}`)
  })
})

describe('isSignedBy', () => {
  it('accepts a valid signature, alone, among several, and beside other schemes', () => {
    const good = digest('whsec_1', T)
    expect(isGood(signNotification('whsec_1', body, NOW))).toBe(true)
    expect(isGood(`t=${T},v1=${digest('whsec_2', T)},v1=${good}`)).toBe(true)
    expect(isGood(`v0=x, t=${T}, v1=${good}`)).toBe(true)
  })

  it.each([
    ['none', undefined],
    ['an empty one', ''],
    ['another secret’s', signNotification('whsec_2', body, NOW)],
    ['another body’s', signNotification('whsec_1', '{}', NOW)],
    ['another time’s', `t=${T + 1},v1=${digest('whsec_1', T)}`],
    ['one without a time', `v1=${digest('whsec_1', T)}`],
    ['one with two times', `t=${T},t=${T + 1},v1=${digest('whsec_1', T)}`],
    ['one of an older scheme', `t=${T},v0=${digest('whsec_1', T)}`],
    ['one that is cut off', `t=${T},v1=${digest('whsec_1', T).slice(1)}`],
    ['one in capitals', `t=${T},v1=${digest('whsec_1', T).toUpperCase()}`],
    ['one whose time is not a number', `t=now,v1=${digest('whsec_1', 'now')}`],
  ])('refuses %s', (_, signature) => {
    expect(isGood(signature)).toBe(false)
  })

  it('accepts at most five minutes of difference, early or late', () => {
    const signature = signNotification('whsec_1', body, NOW)
    const after = (seconds: number) => isGood(signature, new Date(NOW.getTime() + seconds * 1000))
    expect([300, -300, 301, -301].map(after)).toEqual([true, true, false, false])
  })
})
