import type { ProviderStatus } from '@svc/core/operate'
import type { Command } from 'commander'
import { withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import type { Cell } from '../show/output.ts'
import { addPause, addResume } from './providers-pause.ts'
import { addTest } from './providers-test.ts'

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
