import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { readBody, readInputFile } from '../input/read-input.ts'
import { Failure, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { type HeaderMap, headersOf, readHeaders } from '../webhooks/header-lines.ts'
import { secretOf } from '../webhooks/webhook-secret.ts'

interface VerifyOptions {
  secret?: string
  headers?: string
  header?: string[]
  signature?: string
  body?: string
  anyAge?: boolean
}

/** Adds `verify`, as `svc verify` and as `svc webhooks verify`. */
export function addVerify(parent: Command, context: Context, invocation = 'svc verify'): void {
  const command = parent
    .command('verify')
    .summary('verify the signature of a webhook delivery')
    .description(
      `Verifies that a webhook delivery is authentic; exits with 1 and the reason if it is not. The body is read byte for byte,
from --body or from stdin.`,
    )
    .option('--secret <whsec>', 'the secret of the webhook (default: SVC_WEBHOOK_SECRET)')
    .option('--headers <file>', 'a file with the headers: "name: value" lines, or JSON')
    .option('-H, --header <line>', 'one header, "name: value"; may be repeated', append)
    .option('--signature <hex>', 'the value of X-Svc-Signature, instead of headers')
    .option('--body <body>', 'the body; @file reads a file')
    .option('--any-age', 'accept a delivery that is older than five minutes')
    .action((options: VerifyOptions) => verifyDelivery(context, options))
  withExamples(
    command,
    `${invocation} --secret whsec_… --headers headers.txt --body @body.json`,
    `cat body.json | ${invocation} --secret whsec_… --signature 9f86d081…`,
  )
}

function append(line: string, before: string[] = []): string[] {
  return [...before, line]
}

async function verifyDelivery({ io, output }: Context, options: VerifyOptions): Promise<void> {
  const secret = await secretOf(options, io)
  const headers = await readAllHeaders(options, io)
  const { signature } = options
  if (Object.keys(headers).length === 0 && signature === undefined) {
    throw usage('give the headers with --headers or -H, or the signature with --signature')
  }
  const body = await readBody(options.body, io)
  const { verify } = await import('@svc/core/webhooks')
  const result = verify({
    secret,
    body,
    headers,
    signature,
    ...(options.anyAge && { tolerance_s: false }),
  })
  if (!result.ok)
    throw new Failure(result.reason, `not verified (${result.reason}): ${result.hint}`)
  const { scheme, event, event_id, timestamp } = result
  const at = timestamp?.toISOString() ?? null
  if (output.isJson()) {
    return output.document({ verified: true, scheme, event, event_id, timestamp: at })
  }
  const how = scheme === 'standard' ? `webhook-signature of ${at}` : 'X-Svc-Signature'
  output.line(
    `${output.style('green', '✓')} verified${event === null ? '' : ` ${event}`} by ${how}`,
  )
}

async function readAllHeaders(
  { headers, header = [] }: VerifyOptions,
  io: ProcessIo,
): Promise<HeaderMap> {
  const fromFile =
    headers === undefined ? {} : readHeaders((await readInputFile(headers, io)).toString('utf8'))
  return { ...fromFile, ...headersOf(header) }
}
