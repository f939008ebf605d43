import { afterEach, describe, expect, it, vi } from 'vitest'
import { utcDay } from '../console/shell/format.ts'
import { workspaceZone } from '../console/shell/time-zone.ts'
import { actorName } from '../console/shell/words.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

describe('the name of an actor', () => {
  it.each([
    ['a member', 'session', 'B', 'asha@example.com', 'asha@example.com'],
    ['the owner', 'session', null, 'ops@example.com', 'ops@example.com'],
    ['a login that was removed', 'session', 'B', null, 'former member'],
    ['a removed login that accepted an invitation', 'client', 'B', null, 'former member'],
    ['a client without a login', 'client', null, null, 'client'],
    ['a key', 'api_key', 'K', 'shop', 'API key shop'],
    ['an operator', 'operator', 'neema', null, 'neema'],
    ['the command line', 'operator', null, null, 'operator'],
  ])('is shown for %s', (_, kind, id, name, expected) => {
    expect(actorName({ kind, id, name })).toBe(expected)
  })
})

describe('an arrow key', () => {
  it.each([
    ['en', 1],
    ['ar', -1],
  ])('goes along the line in %s', async (language, right) => {
    const getItem = (name: string) => (name === 'svc.language' ? language : null)
    vi.stubGlobal('localStorage', { getItem })
    vi.resetModules()
    const { sideStep } = await import('../console/shell/text.ts')
    expect(['ArrowRight', 'ArrowLeft'].map(sideStep)).toEqual([right, -right])
    expect(sideStep('Enter')).toBeFalsy()
  })
})

describe('a day of UTC', () => {
  it('is the same in each zone', () => {
    vi.stubGlobal('localStorage', { getItem: () => 'workspace' })
    workspaceZone.value = 'America/Los_Angeles'
    expect(utcDay('2026-05-01')).toBe('May 1, 2026')
    expect(utcDay(Date.parse('2026-05-01T00:00:00Z'))).toBe('May 1, 2026')
  })
})
