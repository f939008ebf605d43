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
    .summary('ask a provider whether it takes its settings; send a real message through it')
    .description(
      `Asks a provider something harmless with its credentials and says whether all is well; the exit code is 1 when it is
not. Nothing is sent and nothing costs.

With --to it then sends one real message through this provider alone, whether or not that is paused. The message is
outside the books: no workspace pays for it, no record of it is kept, and no receipt of it is shown. The provider charges
you for it, so it asks first.`,
    )
    .argument('<name>', 'its name, as svc providers status shows it')
    .option('--to <recipient>', 'send a real message to this phone number or e-mail address')
    .addOption(
      new Option(
        '--channel <channel>',
        'how it goes (default: what the recipient looks like)',
      ).choices(CHANNELS),
    )
    .option('--from <sender>', "the sender (default: the provider's first)")
    .option('--text <text>', `what it says (default: "${TEXT}")`)
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
    if (checked.type === 'wrong') {
      throw new Failure('check_failed', `${name} is not ready: ${checked.text}`)
    }
    if (request === null) return tellChecked(context, name, checked.type === 'well')
    if (!options.yes) {
      const { channel, to } = request
      await confirm(
        io,
        `Send ${channel} to ${printable(to)} through ${printable(name)}, at your own cost there?`,
      )
    }
    tell(context, name, await core.providers.send(name, request))
  })
}

function tellChecked({ output }: Context, name: string, isWell: boolean): void {
  if (output.isJson()) output.document({ name, ok: isWell ? true : null })
  else if (isWell) output.line(`${printable(name)} is ready: it takes its settings.`)
  else {
    output.line(
      `${printable(name)} has nothing harmless to be asked: send a message through it with --to.`,
    )
  }
}

/** Null where nothing is to be sent. */
async function requestOf({ to, channel, from, text }: TestOptions) {
  if (to === undefined) {
    if (channel !== undefined || text !== undefined || from !== undefined) {
      throw usage('--channel, --from and --text are for a real message: say to whom with --to')
    }
    return null
  }
  const { decode, sendRequest } = await import('@svc/core/contract')
  const how = channel ?? (to.includes('@') ? 'email' : 'sms')
  const said = text ?? TEXT
  const content = how === 'email' ? { subject: said.slice(0, 78), text: said } : { text: said }
  const given = { channel: how, to, content, ...(from !== undefined && { from }) }
  return decode(sendRequest({ voice: true }), given)
}

function tell({ output }: Context, name: string, outcome: Outcome): void {
  if (output.isJson()) output.document({ name, ok: outcome.type === 'accepted', outcome })
  if (outcome.type === 'accepted') {
    const id = outcome.provider_message_id ?? outcome.part_ids?.join(', ')
    const named = id === undefined ? '' : ` as ${printable(id)}`
    if (!output.isJson()) output.line(`${printable(name)} took the message${named}.`)
    return
  }
  const { type, error_code, error_message } = outcome
  throw new Failure(error_code, `${name} ${WORDS[type]} (${error_code}): ${error_message}`)
}

const WORDS: Record<Exclude<Outcome['type'], 'accepted'>, string> = {
  rejected: 'rejected the message',
  retry: 'did not take the message now',
  ambiguous: 'may or may not have taken the message',
}
