import { invalid } from '../contract/errors.ts'
import type { Listening, Outcome, Provider, SendJob, Traits } from '../contract/outside/provider.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import { heldMinutes } from '../rules/voice-minutes.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** How long a connection may take to come up, before the message is sent all the same. */
const CONNECT_MAX_MS = 12_000
const LOOK_EVERY_MS = 50
const CLOSE_MS = 2_000

/**
 * Sends one real message through a provider, outside the books: no workspace pays, and no record is kept.
 * @throws SvcError `validation_error` where the provider does not serve the channel, or not this sender.
 */
export async function tryProvider(
  provider: Provider,
  {
    traits,
    isListening,
    trial,
    runtime,
  }: {
    traits: Traits
    /** Whether this process has its connections already. */
    isListening: boolean
    trial: SendRequest
    runtime: Pick<Runtime, 'id' | 'now'>
  },
): Promise<Outcome> {
  const job = jobOf(trial, traits, runtime)
  const connections = traits.connected && !isListening ? await connected(provider) : null
  try {
    const [outcome] = await provider.send([job])
    if (!outcome) throw new Error('a provider answers every job')
    return outcome
  } finally {
    await connections?.close(CLOSE_MS)
  }
}

function jobOf(trial: SendRequest, traits: Traits, runtime: Pick<Runtime, 'id' | 'now'>): SendJob {
  const { channel, content, to, from } = trial
  if (!traits.channels.includes(channel)) {
    throw invalid('channel', `It does not serve ${channel}, but: ${traits.channels.join(', ')}`)
  }
  const senders = traits.senders[channel] ?? []
  if (from !== undefined && channel !== 'email' && senders.length > 0 && !senders.includes(from)) {
    throw invalid('from', `It does not send from there, but from: ${senders.join(', ')}`)
  }
  return {
    // Whatever comes back about it is of no workspace, and changes nothing.
    workspace_id: runtime.id(),
    message_id: runtime.id(),
    channel,
    content,
    recipient: to,
    sender: from ?? senders[0] ?? null,
    attempt: 1,
    created_at_ms: runtime.now().getTime(),
    max_duration_s: trial.channel === 'voice' ? heldMinutes(trial.content) * 60 : null,
  }
}

/** Connects for this one message. Whatever comes in meanwhile is the server's to take, and comes again. */
async function connected(provider: Provider): Promise<Listening | null> {
  const listening = await provider.listen?.({
    async receive() {
      throw new Error('nothing is taken in while a provider is tried')
    },
    note() {},
  })
  if (!listening) return null
  const until = performance.now() + CONNECT_MAX_MS
  const isUp = () => listening.states().some(({ state }) => state === 'up')
  while (!isUp() && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  return listening
}
