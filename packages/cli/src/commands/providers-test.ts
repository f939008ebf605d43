import type { Core } from '@svc/core'
import { type Command, Option } from 'commander'
import { withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { Failure, usage } from '../process/failure.ts'
import { printable } from '../show/text.ts'

const CHANNELS = ['sms', 'whatsapp', 'email', 'voice'] as const
const TEXT = 'A test of your messaging service.'

interface TestOptions {
  to?: string
  channel?: (typeof CHANNELS)[number]
  from?: string
  text?: string
  yes?: boolean
}

type Outcome = Awaited<ReturnType<Core['providers']['send']>>

/** Adds `svc providers test`. */
export function addTest(providers: Command, context: Context): void {
  const test = providers
    .command('test')
    .summary('check the settings of a provider; send a real message through it')
    .description(
      `Sends a harmless request to a provider with its credentials, and shows the result; exits with 1 when the provider refuses.
It sends no message and costs nothing.

With --to it also sends one real message through this provider, even if the provider is paused. No workspace pays for the
message, the service stores no record of it, and shows no receipt of it. The provider charges you for it, so the command
asks first.`,
    )
    .argument('<name>', 'the name, as svc providers status shows it')
    .option('--to <recipient>', 'send a real message to this phone number or e-mail address')
    .addOption(
      new Option(
        '--channel <channel>',
        'the channel (default: sms for a phone number, email for an address)',
      ).choices(CHANNELS),
    )
    .option('--from <sender>', "the sender (default: the provider's first)")
    .option('--text <text>', `the text (default: "${TEXT}")`)
    .option('--yes', 'do not ask')
    .action((name: string, options: TestOptions) => testProvider(context, name, options))
  withExamples(
    test,
    'svc providers test twilio',
    'svc providers test twilio --to +15005550006 --text "Can you read this?"',
    'svc providers test smtp --to ops@example.com --yes',
  )
}

async function testProvider(context: Context, name: string, options: TestOptions): Promise<void> {
  const { io } = context
  const request = await requestOf(options)
  await withCore(io, async (core) => {
    const checked = await core.providers.check(name)
    if (checked.type === 'failed') {
      throw new Failure('check_failed', `${name} is not ready: ${checked.text}`)
    }
    if (request === null) return showCheck(context, name, checked.type === 'ok')
    if (!options.yes) {
      const { channel, to } = request
      await confirm(
        io,
        `Send ${channel} to ${printable([to].flat().join(', '))} through ${printable(name)}, at your own cost?`,
      )
    }
    showOutcome(context, name, await core.providers.send(name, request))
  })
}

function showCheck({ output }: Context, name: string, isWell: boolean): void {
  if (output.isJson()) output.document({ name, ok: isWell ? true : null })
  else if (isWell) output.line(`${printable(name)} is ready: it accepts its settings.`)
  else {
    output.line(`${printable(name)} has no harmless request: send a message through it with --to.`)
  }
}

/** The request of the options; null without --to. */
async function requestOf({ to, channel, from, text }: TestOptions) {
  if (to === undefined) {
    if (channel !== undefined || text !== undefined || from !== undefined) {
      throw usage(
        '--channel, --from and --text are for a real message: give its recipient with --to',
      )
    }
    return null
  }
  const { decode, sendRequest } = await import('@svc/core/contract')
  const chosen = channel ?? (to.includes('@') ? 'email' : 'sms')
  const body = text ?? TEXT
  const content = chosen === 'email' ? { subject: body.slice(0, 78), text: body } : { text: body }
  const request = { channel: chosen, to, content, ...(from !== undefined && { from }) }
  return decode(sendRequest({ voice: true }), request)
}

function showOutcome({ output }: Context, name: string, outcome: Outcome): void {
  if (output.isJson()) output.document({ name, ok: outcome.type === 'accepted', outcome })
  if (outcome.type === 'accepted') {
    const id = outcome.provider_message_id ?? outcome.part_ids?.join(', ')
    const idText = id === undefined ? '' : ` as ${printable(id)}`
    if (!output.isJson()) output.line(`${printable(name)} accepted the message${idText}.`)
    return
  }
  const { type, error_code, error_message } = outcome
  throw new Failure(error_code, `${name} ${WORDS[type]} (${error_code}): ${error_message}`)
}

const WORDS: Record<Exclude<Outcome['type'], 'accepted'>, string> = {
  rejected: 'rejected the message',
  retry: 'did not accept the message now',
  ambiguous: 'may or may not have accepted the message',
}
