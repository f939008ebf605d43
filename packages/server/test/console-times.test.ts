import { afterEach, describe, expect, it, vi } from 'vitest'
import { duration, exactTime } from '../console/shell/format.ts'
import { inputTime, instantOf, timeZone, workspaceZone } from '../console/shell/time-zone.ts'

afterEach(() => vi.unstubAllGlobals())

/** As if the person had chosen a zone in this browser. */
function choose(choice: string): void {
  vi.stubGlobal('localStorage', { getItem: (name: string) => name === 'svc.time-zone' && choice })
}

describe('a distance', () => {
  it.each([
    [48, '48 ms'],
    [1_200, '1.2 s'],
    [59 * 60_000, '59 min'],
    [59.6 * 60_000, '1 h'],
    [532 * 60_000, '8 h 52 min'],
    [51 * 3_600_000, '2 d 3 h'],
    [48 * 3_600_000, '2 d'],
  ])('of %s ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })
})

describe('the times of the console', () => {
  it('are those of the browser without a choice, also if it has no storage', () => {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone
    expect(timeZone()).toBe(own)
    choose('')
    expect(timeZone()).toBe(own)
  })

  it('are shown and read in UTC', () => {
    choose('UTC')
    expect(exactTime('2026-05-01T23:30:05Z')).toBe('May 1, 2026, 11:30:05 PM')
    expect(inputTime('2026-05-01T23:30:05Z')).toBe('2026-05-01T23:30')
    expect(instantOf('2026-05-01T23:59:59.999').toISOString()).toBe('2026-05-01T23:59:59.999Z')
  })

  it('are shown and read in the zone of the workspace, whichever is shown', () => {
    choose('workspace')
    workspaceZone.value = 'Asia/Kolkata'
    expect(inputTime('2026-05-01T00:00:00Z')).toBe('2026-05-01T05:30')
    workspaceZone.value = 'Europe/Berlin'
    expect(exactTime('2026-05-01T22:00:00Z')).toBe('May 2, 2026, 12:00:00 AM')
    expect(instantOf('2026-01-15T09:00').toISOString()).toBe('2026-01-15T08:00:00.000Z')
    expect(instantOf('2026-07-15T09:00').toISOString()).toBe('2026-07-15T07:00:00.000Z')
  })

  it.each([
    ['Europe/Berlin', '2026-03-29'],
    ['Europe/Berlin', '2026-10-25'],
    ['America/New_York', '2026-03-08'],
    ['America/New_York', '2026-11-01'],
    ['Australia/Lord_Howe', '2026-04-05'],
    ['Pacific/Auckland', '2026-09-27'],
    ['America/Santiago', '2026-04-05'],
  ])('of %s are read as they are shown around the change of the clocks on %s', (zone, day) => {
    choose('workspace')
    workspaceZone.value = zone
    const begin = Date.parse(`${day}T00:00Z`) - 86_400_000
    for (let at = begin; at < begin + 3 * 86_400_000; at += 900_000) {
      const shown = inputTime(at)
      expect(inputTime(instantOf(shown))).toBe(shown)
    }
  })

  it('are invalid for another text', () => {
    expect(instantOf('tomorrow').getTime()).toBeNaN()
  })
})
