import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { readBody } from '../input/read-input.ts'
import { usage } from '../process/failure.ts'
import { type SecretOption, secretOf, withSecret } from '../webhooks/webhook-secret.ts'

interface SignCommandOptions extends SecretOption {
  body?: string
  event?: string
  id?: string
  attempt: string
}

/** Adds `svc webhooks sign`. */
export function addSign(webhooks: Command, context: Context): void {
  const sign = withSecret(
    webhooks
      .command('sign')
      .summary('print the headers of a delivery')
      .description(
        `Signs a body as the service does, with the current time, and prints one line for each header. The body is read byte for
byte, from --body or from stdin.`,
      )
      .option('--body <body>', 'the body; @file reads a file')
      .option('--event <event>', 'the kind of event (default: the event in the body)')
      .option('--id <id>', 'the webhook-id (default: a new one)')
      .option('--attempt <n>', 'the number of the attempt', '1'),
  ).action((options: SignCommandOptions) => signBody(context, options))
  withExamples(
    sign,
    'svc webhooks sign --secret whsec_… --body @body.json > headers.txt',
    'svc webhooks sign --body @body.json | curl -H @- --data-binary @body.json http://127.0.0.1:8000/hooks/svc',
  )
}

async function signBody(
  { io, output }: Context,
  { body: option, event, id = randomUUID(), attempt, ...options }: SignCommandOptions,
): Promise<void> {
  const secret = await secretOf(options, io)
  const number = Number(attempt)
  if (!/^\d{1,6}$/.test(attempt) || number < 1) {
    throw usage(`--attempt must be a number, 1 or higher, got "${attempt}"`)
  }
  const body = await readBody(option, io)
  const kind = event ?? eventIn(body)
  if (kind === null) throw usage('the body has no event: give it with --event')
  const { sign } = await import('@svc/core/webhooks')
  const ids = { event_id: id, delivery_id: randomUUID() }
  const headers = sign({ secret, body, event: kind, attempt: number, at: new Date(), ...ids })
  if (output.isJson()) return output.document(headers)
  for (const [name, value] of Object.entries(headers)) output.line(`${name}: ${value}`)
}

function eventIn(body: Buffer): string | null {
  try {
    const { event } = JSON.parse(body.toString('utf8'))
    return typeof event === 'string' ? event : null
  } catch {
    return null
  }
}
