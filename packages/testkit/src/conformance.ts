import { ACCEPTING, type Check, REFUSING, REPEATING } from './conformance-cases.ts'
import { createProbe, type Probe } from './conformance-probe.ts'
import { openTransport, type Target } from './transport.ts'

/** Options of `conformance`. */
export interface ConformanceOptions {
  /** The secret that the receiver verifies with. */
  secret: string
  /** A second secret, if the receiver is configured with two, as in a rotation. */
  previous_secret?: string
  /**
   * Returns how often the receiver handled the event with this `webhook-id`. Answers alone cannot
   * show whether an event that was delivered three times took effect three times. Without
   * `observe`, the check for this fails.
   */
  observe?: (event_id: string) => number | Promise<number>
  /** `'allow'` skips the checks that need `observe`; default: `'fail'`, which fails them. */
  unchecked?: 'fail' | 'allow'
  /** The path of a receiver in this process, an app or a handler; a URL has its own. Default: `/`. */
  path?: string
  /** The timeout of one request; default: 15 s, as in the service. */
  timeout_ms?: number
  /** The limit of the run; default: 60 s. A check that did not run by then is `not_reached`. */
  limit_ms?: number
  /** Called after each check. */
  on_check?: (result: CheckResult) => void
}

/** The result of one check. */
export interface CheckResult {
  name: string
  level: Check['level']
  description: string
  /** `warned`: a `should` failed; `skipped`: not applicable; `not_reached`: no time was left. */
  outcome: 'passed' | 'failed' | 'warned' | 'skipped' | 'not_reached'
  /** What the receiver did, without a subject, such as "answered 500"; or why the check did not run. */
  found: string | null
  /** How to fix the fault, in one sentence. */
  mend: string | null
  duration_ms: number
}

/** The result of a run. */
export interface ConformanceReport {
  /** Whether no `must` failed and every check was reached. */
  ok: boolean
  passed: number
  failed: number
  warned: number
  skipped: number
  duration_ms: number
  checks: CheckResult[]
}

const ALL = [...ACCEPTING, ...REPEATING, ...REFUSING]

/** Every check in the order of the run. The gates come first, because the others depend on them. */
export const CHECKS: readonly Check[] = [
  ...ALL.filter(({ is_gate }) => is_gate),
  ...ALL.filter(({ is_gate }) => !is_gate),
]

const TIMEOUT_MS = 15_000
const LIMIT_MS = 60_000

const UNCHECKED = 'was not checked for repeated handling, because observe is not set'
const OBSERVE =
  "Pass observe, a function from a webhook-id to the number of times it was handled (svc webhooks conformance: --observe <url>), or skip this check with unchecked: 'allow' (--allow-unchecked)."

/**
 * Tests a receiver with genuine deliveries and forgeries, and reports each fault with a sentence
 * on how to fix it. The events are signed with the real secret and describe messages that do not
 * exist: use a receiver that may get them. Takes at most `limit_ms`, and never rejects because of
 * the receiver. Only `observe` can show that a repeated event has no second effect: without it the
 * receiver does not conform, unless `unchecked` is `'allow'`.
 *
 * @throws Error when the secret is empty, TypeError when the URL is invalid.
 * @example
 * const observe = (event_id) => database.countHandled(event_id)
 * const report = await conformance('http://127.0.0.1:8080/hooks/svc', { secret, observe })
 * report.checks.filter(({ outcome }) => outcome === 'failed') // [{ name: 'raw_body', found, mend, … }]
 */
export async function conformance(
  target: Target,
  {
    secret,
    previous_secret,
    observe,
    unchecked = 'fail',
    on_check,
    path,
    ...limits
  }: ConformanceOptions,
): Promise<ConformanceReport> {
  const began = performance.now()
  const { timeout_ms = TIMEOUT_MS, limit_ms = LIMIT_MS } = limits
  const ends_at = began + limit_ms
  const transport = await openTransport(target, path)
  const options = { secret, previous_secret: previous_secret ?? null, observe: observe ?? null }
  const probe = createProbe(transport, options, { timeout_ms, ends_at })
  const checks: CheckResult[] = []
  let closed_by: string | null = null
  try {
    for (const check of CHECKS) {
      const result = await runCheck(check, probe, { ends_at, closed_by, unchecked })
      if (check.is_gate && result.outcome === 'failed') closed_by ??= check.name
      checks.push(result)
      on_check?.(result)
    }
  } finally {
    await transport.close()
  }
  return summaryOf(checks, performance.now() - began)
}

async function runCheck(
  check: Check,
  probe: Probe,
  {
    ends_at,
    closed_by,
    unchecked,
  }: { ends_at: number; closed_by: string | null; unchecked: 'fail' | 'allow' },
): Promise<CheckResult> {
  const { name, level, description, mend, needs } = check
  const began = performance.now()
  const result = (outcome: CheckResult['outcome'], found: string | null = null): CheckResult => {
    const isWrong = outcome === 'failed' || outcome === 'warned'
    const duration_ms = Math.round(performance.now() - began)
    return { name, level, description, outcome, found, mend: isWrong ? mend : null, duration_ms }
  }
  if (closed_by !== null) return result('skipped', `has no meaning while ${closed_by} fails`)
  if (began >= ends_at) return result('not_reached', 'there was no time left')
  if (needs && probe[needs] === null) {
    const isFault = needs === 'observe' && unchecked === 'fail'
    return isFault
      ? { ...result('failed', UNCHECKED), mend: OBSERVE }
      : result('skipped', `needs ${needs}`)
  }
  const finding = await check.run(probe)
  if (finding === null) return result('passed')
  // After the limit of the run, the answer proves nothing about the receiver.
  if (performance.now() >= ends_at) return result('not_reached', 'there was no time left')
  return result(level === 'must' ? 'failed' : 'warned', finding)
}

function summaryOf(checks: CheckResult[], duration_ms: number): ConformanceReport {
  const count = (...outcomes: CheckResult['outcome'][]) =>
    checks.filter(({ outcome }) => outcomes.includes(outcome)).length
  return {
    ok: count('failed', 'not_reached') === 0,
    passed: count('passed'),
    failed: count('failed'),
    warned: count('warned'),
    skipped: count('skipped', 'not_reached'),
    duration_ms: Math.round(duration_ms),
    checks,
  }
}

/**
 * Formats a report as JUnit XML for build servers. A failed `should` is not a failure in JUnit,
 * but appears in the output.
 */
export function junitOf({ checks, failed, duration_ms }: ConformanceReport): string {
  const missed = checks.filter(isUnrun).length
  const counts = `tests="${checks.length}" failures="${failed}" errors="0" skipped="${missed}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts} time="${seconds(duration_ms)}">`,
    `  <testsuite name="webhook receiver" ${counts} time="${seconds(duration_ms)}">`,
    ...checks.map((check) => `    ${testcaseOf(check)}`),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function testcaseOf(check: CheckResult): string {
  const { name, description, duration_ms } = check
  const open = `<testcase classname="webhook receiver" name="${escaped(`${name}: ${description}`)}" time="${seconds(duration_ms)}"`
  const inside = insideOf(check)
  return inside === '' ? `${open}/>` : `${open}>${inside}</testcase>`
}

function insideOf(check: CheckResult): string {
  const text = escaped(`It ${check.found}. ${check.mend}`)
  if (check.outcome === 'failed') {
    return `<failure message="${escaped(`It ${check.found}`)}">${text}</failure>`
  }
  if (check.outcome === 'warned') return `<system-out>${text}</system-out>`
  return isUnrun(check) ? `<skipped message="${escaped(check.found ?? '')}"/>` : ''
}

function isUnrun({ outcome }: CheckResult): boolean {
  return outcome === 'skipped' || outcome === 'not_reached'
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Removes characters that XML does not allow. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/gu, '')
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}
