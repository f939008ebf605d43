import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { showProgress } from '../show/dispatch-report.ts'
import { printable } from '../show/text.ts'

const NAME = 'the name, as svc providers status shows it'

/** Adds `svc providers pause`. */
export function addPause(providers: Command, context: Context): void {
  const pause = providers
    .command('pause')
    .summary('pause a provider or one of its senders')
    .description(
      `Pauses a provider, or one of its senders, on every server of the database, and ends when no server begins a call to the
provider any more and the calls that had begun are over; with --no-wait it ends at once. A message whose call had not begun
stays in the queue, unsent. The pause does not affect messages that the provider has accepted.
Other messages go through the next provider of the channel; without one they wait until svc providers resume, or until they
expire.`,
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
export function addResume(providers: Command, context: Context): void {
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
