import { setImmediate } from 'node:timers/promises'
import type { Reading } from '@svc/core/operate'
import { cleanup, render } from 'ink-testing-library'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { failure, idOf, provider, reading, START } from '../../../core/test/operating-readings.ts'
import { type Style, textWidth } from '../show/text.ts'
import { type TopProps, topView } from './top.tsx'

afterEach(cleanup)

const plain: Style = (_, text) => text
const coloured: Style = (name, text) => `<${name}>${text}</>`
const ESCAPE = '\u001b'

function screen(options: Partial<TopProps> & { columns?: number; rows?: number }) {
  const { columns = 80, rows = 24, ...props } = options
  const view = render(
    topView({
      read: async () => reading(),
      timeline: async () => [],
      interval_ms: 100,
      channel: null,
      style: plain,
      now: () => START,
      ...props,
    }),
  )
  Object.defineProperties(view.stdout, {
    columns: { value: columns, configurable: true },
    rows: { value: rows, configurable: true },
  })
  view.stdout.emit('resize')
  const text = () => view.lastFrame() ?? ''
  return {
    ...view,
    text,
    lines: () => text().split('\n'),
    /** Waits for a frame, and for the effects after it, which subscribe to keys. */
    async until(pattern: RegExp) {
      await vi.waitFor(() => expect(text()).toMatch(pattern), 10_000)
      await setImmediate()
    },
    press: (keys: string) => view.stdin.write(keys),
  }
}

const failures = (count: number) => Array.from({ length: count }, (_, n) => failure(n))
const failing = (count: number): (() => Promise<Reading>) => {
  const messages = [{ channel: 'sms', status: 'failed', count } as const]
  return async () => reading({ overview: { messages }, troubles: { failures: failures(count) } })
}

describe('the screen', () => {
  test('reports that an empty service is well', async () => {
    const { until, lines } = screen({})
    await until(/✓ No findings\./)
    expect(lines()).toHaveLength(23)
    expect(lines()[0]).toMatch(/^svc top {60,}09:00:00 UTC$/)
    expect(lines()).toContain('No message has failed.')
  })

  test.each([
    [80, 24],
    [200, 50],
    [40, 10],
    [20, 5],
  ])('fits into %i columns and %i rows with many problems', async (columns, rows) => {
    const wide = failure(1, {
      recipient: '你好你好你好你好你好你好',
      error_message: '😀'.repeat(300),
    })
    const read = async () =>
      reading({
        overview: {
          messages: [{ channel: 'sms', status: 'failed', count: 123_456_789_012 }],
          message_queue: {
            waiting: 5_000_000,
            due: 4_000_000,
            oldest_due_at: new Date(0),
            unknown: 3_000_000,
          },
          webhooks: { active: 9_999_999, failing: 7, disabled: 7 },
          pause: null,
          credits: { workspaces: 1e7, frozen: 9, balance: 9e20, held: 9e18 },
        },
        troubles: {
          providers: Array.from({ length: 30 }, (_, i) => provider(`provider-${i}`, {})),
          failures: [wide, ...failures(9_999)],
        },
      })
    const { until, lines } = screen({ read, columns, rows })
    await until(/✗/)
    expect(lines()).toHaveLength(rows - 1)
    for (const line of lines()) expect(textWidth(line)).toBeLessThanOrEqual(columns)
  })

  test('does not deny the providers of the queue if its own settings have none', async () => {
    const none = screen({})
    await none.until(/none configured here: the sandbox serves every channel/)
    const times = { oldest_waiting_at: START, oldest_call_at: new Date(0), oldest_unknown_at: null }
    const provider_queues = [{ provider: 'acme', waiting: 2, calls: 3, unknown: 0, ...times }]
    const { until, text } = screen({ read: async () => reading({ overview: { provider_queues } }) })
    await until(/provider acme does not answer/)
    expect(text()).not.toContain('none configured')
    expect(text()).toMatch(/not in the settings of this command; the queue has messages for acme/)
  })

  test('uses only the given style for colours', async () => {
    const read = failing(1)
    const bare = screen({ read })
    await bare.until(/undelivered/)
    expect(bare.text()).not.toContain(ESCAPE)
    const { until } = screen({ read, style: coloured })
    await until(/<bold>› 0 s/)
  })

  test('escapes control characters of foreign texts', async () => {
    const evil = `x${ESCAPE}]0;owned\u0007${ESCAPE}[2J\r\n\u009b31m\u202e`
    const fields = { recipient: evil, error_code: evil, error_message: evil, provider: evil }
    const read = async () =>
      reading({
        troubles: {
          failures: [failure(1, fields)],
          providers: [provider(evil, { reason: evil })],
          webhooks: [
            {
              id: evil,
              workspace_id: evil,
              url: evil,
              status: 'failing',
              disabled_reason: evil,
              consecutive_failures: 3,
              last_success_at: null,
              last_failure_at: START,
            },
          ],
        },
      })
    const timeline = async () => [[evil, evil, evil, evil, evil]]
    const { until, press, frames } = screen({ read, timeline, columns: 200, rows: 50 })
    await until(/› 1 s.*owned/)
    press('\r')
    await until(/esc back/)
    await until(/owned/)
    for (const frame of frames) expect(frame).not.toMatch(/(?!\n)\p{Cc}|\u202e/u)
  })

  test('shows an outage of the database with the last reading, until it ends', async () => {
    let isOut = false
    const read = async () => {
      if (isOut) throw new Error(`connect ECONNREFUSED${ESCAPE}[2J`)
      return reading()
    }
    const { until, text } = screen({ read })
    await until(/No findings/)
    isOut = true
    await until(/✗ The database does not answer for 0 s; retrying\./)
    expect(text()).toContain('ECONNREFUSED\\u001b[2J')
    expect(text()).toContain('No findings')
    isOut = false
    await vi.waitFor(() => expect(text()).not.toContain('does not answer'))
  })

  test('waits for a database that does not answer at the start', async () => {
    const { until } = screen({ read: () => Promise.reject(new Error('starting up')) })
    await until(/starting up/)
  })
})

describe('keys', () => {
  test('select a failure, also when several keys arrive at once', async () => {
    const { until, press } = screen({ read: failing(10_000) })
    await until(/› 0 s/)
    press('jjj')
    await until(/› 3 s/)
    press('k')
    await until(/› 2 s/)
    press(`${ESCAPE}[B${ESCAPE}[B`)
    await until(/› 4 s/)
    press(`${ESCAPE}[6~`)
    await until(/› 14 s/)
    press('k'.repeat(200))
    await until(/› 0 s/)
  })

  test('enter opens the timeline of the selected message, esc returns', async () => {
    const requested: string[] = []
    const timeline: TopProps['timeline'] = async ({ id }) => {
      requested.push(id)
      return [
        [
          '2026-05-04T09:00:00.000Z',
          'provider',
          'sandbox attempt 1',
          'rejected',
          'why '.repeat(40),
        ],
      ]
    }
    const { until, press, lines } = screen({ read: failing(9), timeline })
    await until(/› 0 s/)
    press('j\r')
    await until(/09:00:00\.000 {2}provider/)
    expect(requested).toEqual([idOf(1)])
    expect(lines().join(' ').match(/why/g)).toHaveLength(40)
    press(ESCAPE)
    await until(/› 1 s/)
  })

  test('shows the error of a timeline that cannot be read', async () => {
    const timeline = () => Promise.reject(new Error('gone'))
    const { until, press } = screen({ read: failing(1), timeline })
    await until(/› 0 s/)
    press('\r')
    await until(/^gone/m)
  })

  test('a filter applies while it is typed; esc removes it', async () => {
    const { until, press } = screen({ read: failing(30) })
    await until(/newest 30/)
    press('/handset 2q')
    await until(/filter: handset 2q▏/)
    press('\u007f')
    await until(/11 of the newest 30/)
    press('\r')
    await until(/filter "handset 2"/)
    await until(/q quit/)
    press(ESCAPE)
    await until(/the newest 30/)
  })

  test('c changes the channel', async () => {
    const requested: (string | null)[] = []
    const read: TopProps['read'] = async (channel) => {
      requested.push(channel)
      const count = { status: 'failed', count: 1 } as const
      return reading({
        overview: {
          messages: [
            { channel: 'email', ...count },
            { channel: 'sms', ...count },
          ],
        },
        troubles: { failures: [failure(1), failure(2, { channel: 'email', recipient: 'a@b.c' })] },
      })
    }
    const { until, press, text } = screen({ read })
    await until(/newest 2/)
    press('c')
    await until(/only email/)
    expect(text()).not.toContain('+15005550001')
    expect(text()).toContain('a@b.c')
    await vi.waitFor(() => expect(requested).toContain('email'))
    press('c')
    await until(/only sms/)
    press('c')
    await vi.waitFor(() => expect(text()).not.toContain('only'))
  })

  test('p pauses and resumes the screen', async () => {
    let after_s = 0
    const { until, press, text } = screen({ read: async () => reading({ after_s: after_s++ }) })
    await until(/No findings/)
    press('p')
    await until(/paused/)
    const held = text()
    const before = after_s
    await vi.waitFor(() => expect(after_s).toBeGreaterThan(before + 3), 10_000)
    expect(text()).toBe(held)
    press('p')
    await vi.waitFor(() => expect(text()).not.toContain('paused'))
  })

  test('? shows help, and any key returns', async () => {
    const { until, press } = screen({})
    await until(/No findings/)
    press('?')
    await until(/Press any key to return/)
    press('x')
    await until(/No findings/)
  })
})
