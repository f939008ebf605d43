import type { Check } from './conformance-check.ts'
import { CHECKS } from './conformance-checks.ts'
import { createProbe, type Probe } from './conformance-probe.ts'
import { openTransport, type Target } from './transport.ts'

/** How a receiver is looked at. */
export interface ConformanceOptions {
  /** The secret that the receiver verifies with. */
  secret: string
  /** A second one, if the receiver is configured with two, as in a rotation. */
  previous_secret?: string
  /**
   * Tells how often the receiver handled an event, by its `webhook-id`: its answers alone cannot show whether an event that
   * came three times took effect three times. Without it that check fails.
   */
  observe?: (event_id: string) => number | Promise<number>
  /** `'allow'` skips what cannot be checked without `observe`, instead of failing it; `'fail'` unless given. */
  unchecked?: 'fail' | 'allow'
  /** Over one request; the 15 s of the service unless told. */
  timeout_ms?: number
  /** Over the whole run, 60 s unless told: what did not run by then is reported as such. */
  limit_ms?: number
  /** Called after each check. */
  on_check?: (result: CheckResult) => void
}

/** What came of one check. */
export interface CheckResult {
  name: string
  level: Check['level']
  description: string
  /** `warned` is a `should` that failed; `skipped` was not to be run, `not_reached` ran out of time. */
  outcome: 'passed' | 'failed' | 'warned' | 'skipped' | 'not_reached'
  /** What the receiver did, in words that follow "it"; or why the check did not run. */
  found: string | null
  /** How to mend it, in one sentence. */
  mend: string | null
  duration_ms: number
}

/** What a receiver gets right and wrong. */
export interface ConformanceReport {
  /** Nothing that must be is missing, and every check was reached. */
  ok: boolean
  passed: number
  failed: number
  warned: number
  skipped: number
  duration_ms: number
  checks: CheckResult[]
}

const TIMEOUT_MS = 15_000
const LIMIT_MS = 60_000

const UNCHECKED = 'was not checked for this, as nothing tells how often it handled an event'
const OBSERVE =
  "Pass observe, a function from the webhook-id to how often it was handled (svc webhooks conformance: --observe <url>), or accept that this is not known with unchecked: 'allow' (--allow-unchecked)."

/**
 * Tries a receiver with what the service sends and with what others might, and reports what it gets wrong with a sentence
 * on how to mend it. The events are signed rightly and tell of messages that do not exist: take a receiver that may get
 * them. Never takes longer than `limit_ms`; never rejects for what the receiver does. That an event which comes again has
 * no second effect can be seen with `observe` alone: without it the receiver does not conform, unless `unchecked` is
 * `'allow'`.
 *
 * @throws Error when the secret is empty, TypeError when the URL is none.
 * @example
 * const observe = (event_id) => database.countHandled(event_id)
 * const report = await conformance('http://127.0.0.1:8080/hooks/svc', { secret, observe })
 * report.checks.filter(({ outcome }) => outcome === 'failed') // [{ name: 'raw_body', found, mend, … }]
 */
export async function conformance(
  target: Target,
  { secret, previous_secret, observe, unchecked = 'fail', on_check, ...limits }: ConformanceOptions,
): Promise<ConformanceReport> {
  const began = performance.now()
  const { timeout_ms = TIMEOUT_MS, limit_ms = LIMIT_MS } = limits
  const ends_at = began + limit_ms
  const transport = await openTransport(target)
  const given = { secret, previous_secret: previous_secret ?? null, observe: observe ?? null }
  const probe = createProbe(transport, given, { timeout_ms, ends_at })
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
  if (closed_by !== null) return result('skipped', `means nothing while ${closed_by} fails`)
  if (began >= ends_at) return result('not_reached', 'there was no time left')
  if (needs && probe[needs] === null) {
    const isFault = needs === 'observe' && unchecked === 'fail'
    return isFault
      ? { ...result('failed', UNCHECKED), mend: OBSERVE }
      : result('skipped', `needs ${needs}`)
  }
  const finding = await check.run(probe)
  if (finding === null) return result('passed')
  // Cut short by our own limit, the answer says nothing of the receiver.
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
