import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { printable } from '../show/text.ts'

const NAME = 'its name, as svc providers status shows it'

/** Adds `svc providers pause`. */
export function addPause(providers: Command, context: Context): void {
  const pause = providers
    .command('pause')
    .summary('let a provider carry nothing')
    .description(
      `Lets a provider, or one of its senders, carry nothing more, within a second or two. What it was handed before goes
its way. Messages go through the next provider that can carry them; where there is none they wait, until they are
resumed or expire. Only svc providers resume ends it.`,
    )
    .argument('<name>', NAME)
    .option('--sender <sender>', 'only what is sent from this sender')
    .requiredOption(
      '--reason <text>',
      'why; status shows it, and so does a message that expires meanwhile',
    )
    .action((name: string, options: { sender?: string; reason: string }) =>
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
    .summary('let a paused provider carry messages again')
    .description(
      `Ends a pause, whoever began it: of the whole provider, or with --sender of that sender alone. The server knows
within a second or two; what waits goes within half a minute.`,
    )
    .argument('<name>', NAME)
    .option('--sender <sender>', 'the pause of this sender')
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
  { sender, reason }: { sender?: string; reason: string },
): Promise<void> {
  await withCore(io, (core) => core.providers.pause(name, { sender, reason }, operatorOf(io)))
  if (output.isJson()) return output.document({ name, sender: sender ?? null, paused: true })
  const again = `svc providers resume ${name}${sender === undefined ? '' : ` --sender ${sender}`}`
  output.line(
    `${printable(titleOf(name, sender))} carries nothing from within a second or two: ${printable(again)} undoes it.`,
  )
}

async function resumeProvider(
  { io, output }: Context,
  name: string,
  { sender }: { sender?: string },
): Promise<void> {
  const { wasPaused, left } = await withCore(io, async (core) => {
    const wasPaused = await core.providers.resume(name, { sender }, operatorOf(io))
    const status = await core.providers.status()
    return { wasPaused, left: status.find((one) => one.name === name)?.pauses ?? [] }
  })
  if (output.isJson()) {
    return output.document({ name, sender: sender ?? null, paused: false, was_paused: wasPaused })
  }
  const title = printable(titleOf(name, sender))
  output.line(
    wasPaused
      ? `${title} carries messages again, from within a second or two.`
      : `${title} was not paused; nothing was changed.`,
  )
  const others = left.map((pause) => (pause.sender === '' ? 'the whole provider' : pause.sender))
  if (others.length > 0) output.note(`Still paused: ${printable(others.join(', '))}`)
}

function titleOf(name: string, sender: string | undefined): string {
  return sender === undefined ? name : `${name} from ${sender}`
}
