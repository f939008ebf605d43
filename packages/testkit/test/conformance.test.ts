import { afterEach, describe, expect, it } from 'vitest'
import {
  CHECKS,
  type CheckResult,
  type ConformanceReport,
  conformance,
  junitOf,
} from '../src/conformance.ts'
import { webhookHandler } from '../src/handler.ts'
import { type Fault, faultyReceiver } from './faulty-receiver.ts'
import { listening } from './listening.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const previous = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function run(faults: readonly Fault[], hasPrevious = true): Promise<ConformanceReport> {
  const receiver = faultyReceiver(faults, secret, previous)
  const { url, close } = await listening(receiver.listener)
  closing.push(close)
  return conformance(url, {
    secret,
    observe: receiver.timesHandled,
    ...(hasPrevious && { previous_secret: previous }),
  })
}

function wrongOf({ checks }: ConformanceReport): Record<string, string | null> {
  const wrong = checks.filter(({ outcome }) => outcome === 'failed' || outcome === 'warned')
  return Object.fromEntries(wrong.map(({ name, outcome, found }) => [`${outcome} ${name}`, found]))
}

describe('a receiver without faults', () => {
  it('passes every check', async () => {
    const report = await run([])
    expect(wrongOf(report)).toEqual({})
    expect(report).toMatchObject({
      ok: true,
      passed: CHECKS.length,
      failed: 0,
      warned: 0,
      skipped: 0,
    })
    expect(report.checks.every(({ mend }) => mend === null)).toBe(true)
  })

  it('passes for webhookHandler, called without a socket', async () => {
    const counts = new Map<string, number>()
    const hooks = webhookHandler({
      secrets: [secret, previous],
      on_event: (_, { event_id }) => void counts.set(event_id, (counts.get(event_id) ?? 0) + 1),
    })
    const observe = (id: string) => counts.get(id) ?? 0
    for (const target of [hooks.fetch, hooks.node]) {
      const report = await conformance(target, { secret, previous_secret: previous, observe })
      expect(wrongOf(report)).toEqual({})
      expect(report).toMatchObject({ ok: true, passed: CHECKS.length })
    }
  })

  it('fails without observe', async () => {
    const { url, close } = await listening(faultyReceiver([], secret).listener)
    closing.push(close)
    const report = await conformance(url, { secret })
    expect(report).toMatchObject({ ok: false, failed: 1, warned: 0 })
    const found = 'was not checked for repeated handling, because observe is not set'
    expect(wrongOf(report)).toEqual({ 'failed handles_once': found })
    const { mend } = report.checks.find(({ name }) => name === 'handles_once') ?? {}
    expect(mend).toMatch(/^Pass observe, .*unchecked: 'allow'/)
  })

  it("skips checks whose option is missing with unchecked: 'allow'", async () => {
    const { url, close } = await listening(faultyReceiver([], secret).listener)
    closing.push(close)
    const { ok, checks } = await conformance(url, { secret, unchecked: 'allow' })
    expect(ok).toBe(true)
    expect(checks.filter(({ outcome }) => outcome === 'skipped')).toMatchObject([
      { name: 'previous_secret', found: 'needs previous_secret', mend: null },
      { name: 'handles_once', found: 'needs observe', mend: null },
    ])
  })
})

describe('a receiver with one fault fails only the check for it', () => {
  it.each<[Fault, string, string | RegExp]>([
    ['redirects', 'failed acknowledges', 'answered 301 to /new'],
    ['verifies nothing', 'failed verifies', 'answered 200'],
    ['lets unsigned pass', 'failed refuses_missing_signature', 'answered 200'],
    ['lets empty signatures pass', 'failed refuses_empty_signature', 'answered 200'],
    ['compares prefixes', 'failed refuses_truncated_signature', 'answered 200'],
    ['reads without a limit', 'failed refuses_oversized', 'answered 200'],
    ['verifies a reserialised body', 'failed raw_body', 'answered 403'],
    ['crashes on unsigned', 'failed refusal_status', 'answered 500 to a forgery'],
    ['reveals the signature', 'failed discretion', 'answered a forgery with the right signature'],
    ['refuses 64 KB', 'failed large_body', 'answered 413'],
    [
      'accepts one content type',
      'warned content_type',
      'answered 415 to application/json; charset=utf-8',
    ],
    ['refuses unknown kinds', 'failed unknown_event', 'answered 400'],
    ['refuses unknown fields', 'failed new_fields', 'answered 422'],
    ['refuses credits.low', 'failed every_event', 'answered 404 to credits.low'],
    ['compares header case', 'failed header_case', 'answered 403'],
    ['requires every header', 'failed signature_forms', 'answered 403 to each of the three alone'],
    ['refuses repetitions', 'failed repetition', 'answered 409'],
    [
      'fails on concurrent repetitions',
      'failed repetition_at_once',
      'answered 500 to one of two concurrent deliveries',
    ],
    ['handles repetitions again', 'failed handles_once', 'handled it 3 times'],
    ['refuses disorder', 'failed disorder', 'answered 410'],
    ['has no clock', 'warned time', 'answered 200 to one from an hour ago'],
    ['ignores the id', 'warned event_id', 'answered 200'],
    ['accepts upper case', 'warned refuses_uppercase_signature', 'answered 200'],
    ['forgot the previous secret', 'failed previous_secret', 'answered 403'],
    ['refuses with 400', 'failed refusal_status', 'answered 400 to a forgery'],
    // It answers after 5.1 s; the check takes the time until the answer arrives.
    ['is slow', 'warned quick', /^took \d+\.\d s$/],
  ])('%s: %s', async (fault, name, found) => {
    const report = await run([fault])
    const expected = typeof found === 'string' ? found : expect.stringMatching(found)
    expect(wrongOf(report)).toEqual({ [name]: expected })
    expect(report.ok).toBe(name.startsWith('warned'))
    const wrong = report.checks.find(({ outcome }) => outcome === 'failed' || outcome === 'warned')
    expect(wrong?.mend).toMatch(/^[A-Z].{20,}\.$/)
  })

  it('a receiver with one secret that refuses with 400 fails rotation and refusal_status', async () => {
    const report = await run(['refuses with 400', 'verifies X-Svc-Signature alone'])
    expect(wrongOf(report)).toMatchObject({
      'failed rotation': 'answered 400 to the other secret',
      'failed refusal_status': 'answered 400 to a forgery',
    })
  })

  it('a receiver that verifies only X-Svc-Signature, as interface shows it, gets warnings only', async () => {
    const report = await run(['verifies X-Svc-Signature alone'])
    expect(report.ok).toBe(true)
    expect(Object.keys(wrongOf(report))).toEqual(['warned time', 'warned event_id'])
  })

  it('gets no further requests after a gate fails', async () => {
    const { checks, skipped } = await run(['verifies nothing'])
    expect(skipped).toBe(checks.length - 2)
    expect(checks.at(-1)).toMatchObject({
      outcome: 'skipped',
      found: 'has no meaning while verifies fails',
    })
  })
})

describe('a receiver that cannot be tested', () => {
  it.each([
    ['no server listens', 'http://127.0.0.1:9/', 'refused the connection or could not be reached'],
    ['the name does not resolve', 'http://nowhere.invalid/', 'has a name that does not resolve'],
  ])('%s', async (_, url, found) => {
    expect(wrongOf(await conformance(url, { secret }))).toEqual({ 'failed acknowledges': found })
  })

  it('ends in time when the receiver never answers', async () => {
    const { url, close } = await listening(() => {})
    closing.push(close)
    const report = await conformance(url, { secret, timeout_ms: 50 })
    expect(wrongOf(report)).toEqual({ 'failed acknowledges': 'gave no answer in time' })
  })

  it('limits the run even when the timeout of a request is longer', async () => {
    const { url, close } = await listening(() => {})
    closing.push(close)
    const report = await conformance(url, { secret, limit_ms: 200, timeout_ms: 600_000 })
    expect(report).toMatchObject({ ok: false, passed: 0 })
  })

  it('reports not_reached, and is not ok, when the receiver answers too slowly', async () => {
    const { listener } = faultyReceiver([], secret)
    const { url, close } = await listening((request, response) => {
      setTimeout(() => listener(request, response), 100)
    })
    closing.push(close)
    const { ok, checks, failed } = await conformance(url, { secret, limit_ms: 450 })
    expect({ ok, failed }).toEqual({ ok: false, failed: 0 })
    expect(checks.at(-1)).toMatchObject({ outcome: 'not_reached', found: 'there was no time left' })
  })

  it('ends in time when the observer hangs', async () => {
    const { url, close } = await listening(faultyReceiver([], secret).listener)
    closing.push(close)
    const observe = () => new Promise<number>(() => {})
    const { ok } = await conformance(url, { secret, observe, limit_ms: 1_500 })
    expect(ok).toBe(false)
  })

  it('rejects at once on an invalid URL and an empty secret', async () => {
    await expect(conformance('nonsense', { secret })).rejects.toThrow(TypeError)
    await expect(conformance('http://127.0.0.1:9/', { secret: '' })).rejects.toThrow('secret')
  })
})

describe('junitOf', () => {
  it('has a test case for each check, with the fault and its fix', async () => {
    const report = await run(['refuses 64 KB'], false)
    const xml = junitOf(report)
    expect(xml).toContain(`tests="${CHECKS.length}" failures="1" errors="0" skipped="1"`)
    expect(xml.match(/<testcase /g)).toHaveLength(CHECKS.length)
    expect(xml).toMatch(
      /name="large_body: [^"]*" time="\d+\.\d{3}"><failure message="It answered 413">It answered 413\. Raise the limit/,
    )
    expect(xml).toContain('<skipped message="needs previous_secret"/>')
  })

  it('escapes text from the receiver', () => {
    const check: CheckResult = {
      name: 'acknowledges',
      level: 'must',
      description: 'x',
      outcome: 'failed',
      found: 'answered 301 to "<&\u0000\u001b[2J>"',
      mend: 'Mend.',
      duration_ms: 1,
    }
    const xml = junitOf({
      ok: false,
      passed: 0,
      failed: 1,
      warned: 0,
      skipped: 0,
      duration_ms: 1,
      checks: [check],
    })
    expect(xml).toContain('message="It answered 301 to &quot;&lt;&amp;[2J&gt;&quot;"')
  })
})

describe('the checks', () => {
  it('have unique names, and one sentence each for description and fix', () => {
    expect(new Set(CHECKS.map(({ name }) => name)).size).toBe(CHECKS.length)
    expect(CHECKS.length).toBeGreaterThanOrEqual(20)
    for (const { description, mend } of CHECKS) {
      expect(description).toMatch(/^\S.*\.$/)
      expect(mend).toMatch(/^[A-Z].*\.$/)
    }
  })
})
