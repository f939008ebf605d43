import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Mail } from '../contract/outside/mail.ts'
import { createOutbox } from './outbox.ts'

const mail: Mail = {
  to: 'asha@example.com',
  subject: 'S',
  text: 'T',
  html: 'H',
  kind: 'verify_email',
  link: 'https://svc.example/verify-email?token=secret',
}

const ABOUT = { kind: 'verify_email' } as const

/** The error of a mail server: its message contains the address. */
const refusal = () => Object.assign(new Error(`550 no ${mail.to}`), { code: 'EENVELOPE' })

let lines: [level: string, fields: object, text: string][]
const line = (level: string) => (fields: object, text: string) =>
  void lines.push([level, fields, text])
const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }

beforeEach(() => {
  lines = []
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
})
afterEach(() => void vi.useRealTimers())

/** The outbox starts on mails after the caller's turn of the event loop. */
const begun = () => new Promise<void>((resolve) => setImmediate(resolve))

/** An outbox whose mailer fails `times` times before it accepts a mail. */
function outboxFailing(times: number) {
  const tries: number[] = []
  const outbox = createOutbox({
    log,
    mailer: {
      async send() {
        tries.push(Date.now())
        if (tries.length <= times) throw refusal()
      },
    },
  })
  return { outbox, tries }
}

describe('a mail', () => {
  it('is noted after the mail server took it, and not if it never did', async () => {
    const noted: string[] = []
    const note = (name: string) => async () => void noted.push(name)
    const taken = outboxFailing(1)
    taken.outbox.add(async () => mail, ABOUT, note('taken'))
    await begun()
    expect(noted).toEqual([])
    await vi.advanceTimersByTimeAsync(60_000)
    await taken.outbox.idle()
    expect(noted).toEqual(['taken'])
    const refused = outboxFailing(3)
    refused.outbox.add(async () => mail, ABOUT, note('refused'))
    await begun()
    await vi.advanceTimersByTimeAsync(60_000)
    refused.outbox.add(async () => null, ABOUT, note('none'))
    await refused.outbox.idle()
    expect(noted).toEqual(['taken'])
  })

  it('is composed and sent after add has returned', async () => {
    const { outbox, tries } = outboxFailing(0)
    expect(outbox.add(async () => mail, ABOUT)).toBe(true)
    expect(tries).toHaveLength(0)
    await outbox.idle()
    expect(tries).toHaveLength(1)
    expect(lines).toEqual([['info', { kind: 'verify_email', attempt: 1 }, 'mail.sent']])
  })

  it('is retried after 1 s and after 10 s more, then discarded', async () => {
    const { outbox, tries } = outboxFailing(3)
    const began = Date.now()
    outbox.add(async () => mail, ABOUT)
    await begun()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(tries.map((at) => at - began)).toEqual([0, 1_000, 11_000])
    expect(lines.map(([level, , text]) => [level, text])).toEqual([
      ['warn', 'mail.attempt_failed'],
      ['warn', 'mail.attempt_failed'],
      ['error', 'mail.failed'],
    ])
    await outbox.idle()
  })

  it('that fails is logged with the reason, without recipient and content', async () => {
    const { outbox } = outboxFailing(3)
    outbox.add(async () => mail, ABOUT)
    outbox.add(() => Promise.reject(new Error(`params: ${mail.to}, ${mail.link}`)), ABOUT)
    await begun()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lines).toContainEqual([
      'error',
      { kind: 'verify_email', attempt: 3, type: 'Error', code: 'EENVELOPE' },
      'mail.failed',
    ])
    expect(lines.map(([, , text]) => text)).toContain('a mail could not be composed')
    expect(JSON.stringify(lines)).not.toMatch(/asha|secret/)
  })

  it('composed as null is not sent', async () => {
    const { outbox, tries } = outboxFailing(0)
    outbox.add(async () => null, ABOUT)
    await outbox.idle()
    expect(tries).toHaveLength(0)
  })

  it('fails when a try takes longer than 30 s', async () => {
    const outbox = createOutbox({
      log,
      mailer: { send: () => new Promise(() => {}) },
      retry_ms: [],
    })
    outbox.add(async () => mail, ABOUT)
    await begun()
    await vi.advanceTimersByTimeAsync(30_000)
    await outbox.idle()
    expect(lines.map(([, , text]) => text)).toEqual(['mail.failed'])
  })
})

describe('an outbox', () => {
  it('sends four mails at once, and refuses more than 1,000 waiting ones', async () => {
    const open: (() => void)[] = []
    const outbox = createOutbox({
      log,
      mailer: { send: () => new Promise((resolve) => open.push(resolve)) },
    })
    for (let i = 0; i < 5; i++) outbox.add(async () => mail, ABOUT)
    await begun()
    expect(open).toHaveLength(4)
    for (let i = 0; i < 999; i++) expect(outbox.add(async () => mail, ABOUT)).toBe(true)
    expect(outbox.add(async () => mail, ABOUT)).toBe(false)
    open[0]?.()
    await vi.advanceTimersByTimeAsync(0)
    expect(open).toHaveLength(5)
    expect(outbox.add(async () => mail, ABOUT)).toBe(true)
  })

  it('holds at most five mails of a workspace and five for an address', async () => {
    const open: (() => void)[] = []
    const outbox = createOutbox({
      log,
      mailer: { send: () => new Promise((resolve) => open.push(resolve)) },
    })
    /** Whether the mail was kept; add returns true in both cases. */
    const add = (about: object) => {
      const before = lines.length
      expect(outbox.add(async () => mail, { kind: 'low_balance', ...about })).toBe(true)
      return lines.length === before
    }
    const mine = { workspace_id: 'w1' }
    const theirs = { address: 'Asha@example.com' }
    for (const about of [mine, theirs]) {
      for (let i = 0; i < 5; i++) expect(add(about)).toBe(true)
      for (let i = 0; i < 3; i++) expect(add(about)).toBe(false)
    }
    expect(add({ workspace_id: 'w2', address: 'asha@EXAMPLE.com' })).toBe(false)
    expect(add({ workspace_id: 'w2', address: 'other@example.com' })).toBe(true)
    expect(lines.slice(0, 1)).toEqual([
      ['warn', { kind: 'low_balance', workspace_id: 'w1', waiting: 'one' }, 'mail.dropped'],
    ])
    expect(lines.every(([, , text]) => text === 'mail.dropped')).toBe(true)
    expect(JSON.stringify(lines)).not.toMatch(/asha/i)
    await begun()
    open[0]?.()
    await vi.advanceTimersByTimeAsync(0)
    expect([add(mine), add(mine)]).toEqual([true, false])
  })

  it('holds one repeated mail of a workspace at a time, and leaves half of its places to others', async () => {
    const open: (() => void)[] = []
    const outbox = createOutbox({
      log,
      mailer: { send: () => new Promise((resolve) => open.push(resolve)) },
    })
    let composed = 0
    const add = (workspace_id: string) =>
      outbox.add(
        async () => {
          composed += 1
          return mail
        },
        { kind: 'webhook_failure', workspace_id, is_repeated: true },
      )
    expect([add('w0'), add('w0')]).toEqual([true, true])
    await begun()
    // The first one is being sent.
    expect([add('w0'), composed]).toEqual([true, 1])
    for (let i = 1; i <= 3; i++) expect(add(`w${i}`)).toBe(true)
    await begun()
    for (let i = 4; i <= 503; i++) expect(add(`w${i}`)).toBe(true)
    expect(add('w504')).toBe(false)
    expect(outbox.add(async () => mail, ABOUT)).toBe(true)
    expect(open).toHaveLength(4)
    expect(lines).toEqual([])
    open[0]?.()
    open[1]?.()
    await vi.advanceTimersByTimeAsync(0)
    expect([add('w0'), composed]).toEqual([true, 6])
  })

  it('tries waiting mails once more when closed, and refuses new ones', async () => {
    const { outbox, tries } = outboxFailing(1)
    outbox.add(async () => mail, ABOUT)
    await begun()
    await vi.advanceTimersByTimeAsync(500)
    await outbox.close(5_000)
    expect(tries).toHaveLength(2)
    expect(lines.at(-1)?.[2]).toBe('mail.sent')
    expect(outbox.add(async () => mail, ABOUT)).toBe(false)
  })

  it('closes after the grace period with mails unsent', async () => {
    const outbox = createOutbox({ log, mailer: { send: () => new Promise(() => {}) } })
    outbox.add(async () => mail, ABOUT)
    await begun()
    const closing = outbox.close(5_000)
    await vi.advanceTimersByTimeAsync(5_000)
    await closing
    expect(lines.at(-1)).toEqual(['warn', {}, 'not all mails were sent'])
  })
})
