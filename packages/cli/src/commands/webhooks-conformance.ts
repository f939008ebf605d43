import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CheckResult, ConformanceReport } from '@svc/testkit'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import type { Output } from '../show/output.ts'
import { printable } from '../show/text.ts'
import { receiverUrl, type SecretOption, secretOf, withSecret } from '../webhooks/webhook-secret.ts'

interface ConformanceCommandOptions extends SecretOption {
  previousSecret?: string
  limit: string
  junit?: string
  observe?: string
  allowUnchecked?: boolean
}

const LIMIT_MAX_S = 3600
const OBSERVE_MAX_MS = 15_000

/** Adds `svc webhooks conformance`. */
export function addConformance(webhooks: Command, context: Context): void {
  const command = withSecret(
    webhooks
      .command('conformance')
      .summary('test a receiver and report its faults')
      .description(
        `Sends a receiver valid deliveries, forgeries, repetitions and events of future versions. Reports each fault
with its fix, and exits with 1. The valid events name messages that do not exist: use a test system, because the
receiver processes them. It contacts no server. Answers do not show whether a repeated event was handled twice: this
check fails unless --observe names a URL that returns how often an event was handled.`,
      )
      .argument('<url>', 'the receiver')
      .option('--previous-secret <whsec>', 'a second secret that the receiver accepts')
      .option(
        '--observe <url>',
        'a URL that returns how often an event was handled, as a number; {event_id} becomes the webhook-id',
      )
      .option('--allow-unchecked', 'do not fail checks that need --observe')
      .option('--limit <s>', `the time limit in seconds, 1 to ${LIMIT_MAX_S}`, '60')
      .option('--junit <file>', 'also write the result as JUnit XML'),
  ).action((url: string, options: ConformanceCommandOptions) => tryReceiver(context, url, options))
  withExamples(
    command,
    "svc webhooks conformance http://127.0.0.1:8000/hooks/svc --secret whsec_… --observe 'http://127.0.0.1:8000/handled?id={event_id}'",
    'svc webhooks conformance https://staging.example.com/hooks/svc --allow-unchecked --junit conformance.xml',
  )
}

async function tryReceiver(
  { io, output }: Context,
  receiver: string,
  { previousSecret, limit, junit, observe, allowUnchecked, ...options }: ConformanceCommandOptions,
): Promise<void> {
  const url = receiverUrl(receiver, 'the receiver')
  const secret = await secretOf(options, io)
  const limit_ms = limitOf(limit) * 1000
  const { conformance, junitOf } = await import('@svc/testkit')
  const report = await conformance(url, {
    secret,
    limit_ms,
    unchecked: allowUnchecked ? 'allow' : 'fail',
    ...(observe !== undefined && { observe: observerAt(observe) }),
    ...(previousSecret !== undefined && { previous_secret: previousSecret }),
    on_check: (result) => {
      if (!output.isJson()) output.line(checkLine(result, output))
    },
  })
  if (junit !== undefined) await write(junit, junitOf(report), io)
  if (output.isJson()) output.document({ url, ...report })
  else output.line(summaryLine(report))
  if (report.ok) return
  const { failed } = report
  const text =
    failed === 0 ? 'the time limit ended before all checks ran' : `${failed} required checks failed`
  throw new Failure('nonconforming', `${url} does not conform: ${text}`)
}

/** Returns a function that reads from a URL how often an event was handled. */
function observerAt(template: string): (event_id: string) => Promise<number> {
  if (!template.includes('{event_id}')) throw usage('--observe must contain {event_id}')
  receiverUrl(template, '--observe')
  return async (event_id) => {
    const url = template.replaceAll('{event_id}', encodeURIComponent(event_id))
    const response = await fetch(url, { signal: AbortSignal.timeout(OBSERVE_MAX_MS) }).catch(() => {
      throw misconfigured('the URL of --observe did not answer')
    })
    const text = (await response.text()).trim()
    if (response.ok && /^\d{1,9}$/.test(text)) return Number(text)
    throw misconfigured(`the URL of --observe answered ${response.status} without a number`)
  }
}

function checkLine(
  { name, outcome, description, found, mend }: CheckResult,
  { style }: Output,
): string {
  if (outcome === 'passed') return `${style('green', '✓')} ${name}: ${description}`
  if (outcome === 'skipped' || outcome === 'not_reached') {
    return `${style('dim', '-')} ${name}: not tried, ${printable(found ?? '')}`
  }
  const mark = outcome === 'failed' ? style('red', '✗') : style('yellow', '!')
  return `${mark} ${name}: ${description} It ${printable(found ?? '')}. ${mend}`
}

function summaryLine({ passed, failed, warned, skipped }: ConformanceReport): string {
  return `${passed} passed, ${failed} failed, ${warned} warned, ${skipped} not tried`
}

async function write(path: string, text: string, { cwd }: ProcessIo): Promise<void> {
  try {
    await writeFile(resolve(cwd, path), text)
  } catch (error) {
    throw misconfigured(`cannot write ${path}: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function limitOf(text: string): number {
  const limit = Number(text)
  if (/^\d{1,4}$/.test(text) && limit >= 1 && limit <= LIMIT_MAX_S) return limit
  throw usage(`--limit must be a number from 1 to ${LIMIT_MAX_S}, got "${text}"`)
}
