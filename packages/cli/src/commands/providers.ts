import type { ProviderStatus } from '@svc/core/operate'
import type { Command } from 'commander'
import { withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import type { Cell } from '../show/output.ts'
import { addPause, addResume } from './providers-pause.ts'
import { addTest } from './providers-test.ts'

/** Adds `svc providers`: who carries messages. */
export function addProviders(program: Command, context: Context): void {
  const providers = program
    .command('providers')
    .summary('show, pause, resume and test who carries messages (operator)')
    .description(
      `Shows who carries messages, in the order in which they are tried, pauses and resumes them, and tests them. It reads
the settings of providers from its own environment, which must be the server's, and works on the database itself: the
server may run meanwhile, and knows of what was paused or resumed within a second or two.`,
    )
  withExamples(
    providers,
    'svc providers status',
    'svc providers pause twilio --reason "Maintenance until ten"',
    'svc providers test twilio',
  )
  const status = providers
    .command('status')
    .summary('show which there are and what is paused')
    .description(
      `Shows every provider with its channels, senders and pace, and whether it is active; a pause of one sender has a line
of its own. A provider that refuses its settings is paused by itself, tried again with single messages, and goes on when
one is taken.`,
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
    output.note('No provider is configured: the sandbox serves every channel, and reaches nobody.')
    output.note("If the server has providers, set the same variables as the server's here.")
  }
}

/** Connections are the server's; this process has none. */
function documentOf({ connections: _, ...status }: ProviderStatus) {
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
      : `paused: refuses its settings (${code ?? 'unknown'}), tried again ${
          retry_at ? `at ${retry_at.toISOString()}` : 'by nobody'
        }: ${reason}`
  return { text, style: 'red' }
}
