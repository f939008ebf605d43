import type { Core } from '@svc/core'
import type { ProviderStatus } from '@svc/core/operate'
import { type Command, Option } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { Failure, usage } from '../process/failure.ts'
import { showProgress } from '../show/dispatch-report.ts'
import type { Cell } from '../show/output.ts'
import { printable } from '../show/text.ts'

/** Adds `svc providers`: the providers of messages. */
export function addProviders(program: Command, context: Context): void {
  const providers = program
    .command('providers')
    .summary('show, pause, resume and test providers (operator)')
    .description(
      `Shows the providers in the order in which messages use them, pauses and resumes them, and tests them. It reads the settings
of providers from its own environment, which must be that of the server. It works on the database; the server may run
meanwhile, and applies pauses within two seconds.`,
    )
  withExamples(
    providers,
    'svc providers status',
    'svc providers pause twilio --reason "Maintenance until ten"',
    'svc providers test twilio',
  )
  const status = providers
    .command('status')
    .summary('show the providers and their pauses')
    .description(
      `Shows every provider with its channels, senders and rate, and whether it is active; a pause of one sender has its own
line. The service pauses a provider that refuses its settings, retries it with single messages, and ends the pause when the
provider accepts one.`,
    )
    .action(() => showStatus(context))
  withExamples(status, 'svc providers status', 'svc providers status --json')
  addPause(providers, context)
  addResume(providers, context)
  addTest(providers, context)
}

async function showStatus({ io, output }: Context): Promise<void> {
  const providers = await withCore(io, (core) => core.providers.status())
  if (output.isJson()) return output.document({ providers: providers.map(documentOf) })
  output.table(['NAME', 'TYPE', 'CHANNELS', 'SENDERS', 'PACE', 'STATE'], providers.flatMap(rowsOf))
  if (providers.length === 0) {
    output.note('No provider is configured: the sandbox serves every channel, and sends nothing.')
    output.note('If the server has providers, set its variables in this shell too.')
  }
}

/** Leaves out the connections and the counts of calls, because only the server has them. */
function documentOf({ connections: _, recent: __, ...status }: ProviderStatus) {
  const pauses = status.pauses.map(({ sender, ...pause }) => ({
    sender: sender === '' ? null : sender,
    ...pause,
    retry_at: pause.retry_at?.toISOString() ?? null,
    created_at: pause.created_at.toISOString(),
  }))
  return { ...status, pauses }
}

function rowsOf(status: ProviderStatus): Cell[][] {
  const { name, type, channels, messages_per_second, pauses } = status
  const whole = pauses.find(({ sender }) => sender === '')
  const senders = Object.entries(status.senders).flatMap(([channel, list]) =>
    list.map((sender) => (channels.length > 1 ? `${channel} ${sender}` : sender)),
  )
  const pace = messages_per_second === null ? 'any' : `${messages_per_second}/s`
  const own = [name, type, channels.join(','), senders.join(', ') || 'any', pace, stateOf(whole)]
  const others = pauses.filter(({ sender }) => sender !== '')
  return [own, ...others.map((pause) => [name, type, '', pause.sender, '', stateOf(pause)])]
}

function stateOf(pause: ProviderStatus['pauses'][number] | undefined): Cell {
  if (!pause) return { text: 'active', style: 'green' }
  const { cause, code, reason, retry_at, created_at } = pause
  const text =
    cause === 'operator'
      ? `paused by operator since ${created_at.toISOString()}: ${reason}`
      : `paused: refuses its settings (${code ?? 'unknown'}), retried ${
          retry_at ? `at ${retry_at.toISOString()}` : 'never'
        }: ${reason}`
  return { text, style: 'red' }
}

const NAME = 'the name, as svc providers status shows it'

/** Adds `svc providers pause`. */
function addPause(providers: Command, context: Context): void {
  const pause = providers
    .command('pause')
    .summary('pause a provider or one of its senders')
    .description(
      `Pauses a provider, or one of its senders, on every server of the database, and ends when no server begins a call to the
provider any more and the calls that had begun are over; with --no-wait it ends at once, and a server may begin calls for
at most five seconds more. A message whose call had not begun stays in the queue, unsent. The pause does not affect messages
that the provider has accepted. Other messages go through the next provider of the channel; without one they wait until svc
providers resume, or until they expire.`,
    )
    .argument('<name>', NAME)
    .option('--sender <sender>', 'only messages from this sender')
    .requiredOption(
      '--reason <text>',
      'the reason; svc providers status and messages that expire show it',
    )
    .option('--no-wait', 'do not wait until the calls that have begun are over')
    .action((name: string, options: { sender?: string; reason: string; wait: boolean }) =>
      pauseProvider(context, name, options),
    )
  withExamples(
    pause,
    'svc providers pause twilio --reason "Maintenance until ten"',
    'svc providers pause twilio --sender +15005550006 --reason "Number is being moved"',
  )
}

/** Adds `svc providers resume`. */
function addResume(providers: Command, context: Context): void {
  const resume = providers
    .command('resume')
    .summary('end the pause of a provider')
    .description(
      `Ends a pause by an operator or by the service: of the whole provider, or with --sender of that sender only. The server
resumes within two seconds, and sends the waiting messages within half a minute.`,
    )
    .argument('<name>', NAME)
    .option('--sender <sender>', 'end the pause of this sender')
    .action((name: string, options: { sender?: string }) => resumeProvider(context, name, options))
  withExamples(
    resume,
    'svc providers resume twilio',
    'svc providers resume twilio --sender +15005550006',
  )
}

async function pauseProvider(
  { io, output }: Context,
  name: string,
  { sender, reason, wait }: { sender?: string; reason: string; wait: boolean },
): Promise<void> {
  await withCore(io, async (core) => {
    await core.providers.pause(name, { sender, reason }, operatorOf(io))
    const onProgress = showProgress(output)
    if (wait) await core.dispatch.standstill({ provider: name, sender, onProgress })
  })
  if (output.isJson()) return output.document({ name, sender: sender ?? null, paused: true })
  const command = `svc providers resume ${name}${sender === undefined ? '' : ` --sender ${sender}`}`
  output.line(
    `${printable(titleOf(name, sender))} is paused${wait ? '' : ' within seconds'}: ${printable(command)} ends the pause.`,
  )
}

async function resumeProvider(
  { io, output }: Context,
  name: string,
  { sender }: { sender?: string },
): Promise<void> {
  const { wasPaused, pauses } = await withCore(io, async (core) => {
    const wasPaused = await core.providers.resume(name, { sender }, operatorOf(io))
    const status = await core.providers.status()
    return { wasPaused, pauses: status.find((one) => one.name === name)?.pauses ?? [] }
  })
  if (output.isJson()) {
    return output.document({ name, sender: sender ?? null, paused: false, was_paused: wasPaused })
  }
  const title = printable(titleOf(name, sender))
  output.line(
    wasPaused
      ? `${title} is active again within two seconds.`
      : `${title} was not paused; nothing was changed.`,
  )
  const others = pauses.map((pause) => (pause.sender === '' ? 'the whole provider' : pause.sender))
  if (others.length > 0) output.note(`Still paused: ${printable(others.join(', '))}`)
}

function titleOf(name: string, sender: string | undefined): string {
  return sender === undefined ? name : `${name} from ${sender}`
}

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
function addTest(providers: Command, context: Context): void {
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
