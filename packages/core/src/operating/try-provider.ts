import { invalid } from '../contract/errors.ts'
import type { Listening, Outcome, Provider, SendJob, Traits } from '../contract/outside/provider.ts'
import { namedRecipients } from '../contract/resources/mail-recipients.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import { heldMinutes } from '../rules/voice-minutes.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** After this time the message is sent even without a connection. */
const CONNECT_MAX_MS = 12_000
const LOOK_EVERY_MS = 50
const CLOSE_MS = 2_000

/**
 * Sends one real message through a provider. Nothing is charged or stored.
 * @throws SvcError `validation_error` when the provider does not serve the channel or the sender.
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
    /** Whether this process holds the provider's connections already. */
    isListening: boolean
    trial: SendRequest
    runtime: Pick<Runtime, 'id' | 'now'>
  },
): Promise<Outcome> {
  const job = jobOf(trial, traits, runtime)
  const connections = traits.connected && !isListening ? await connected(provider) : null
  try {
    const [outcome] = await provider.send([job])
    if (!outcome) throw new Error('the provider returned no outcome')
    return outcome
  } finally {
    await connections?.close(CLOSE_MS)
  }
}

function jobOf(trial: SendRequest, traits: Traits, runtime: Pick<Runtime, 'id' | 'now'>): SendJob {
  const { channel, content, from } = trial
  const [to, ...others] =
    trial.channel === 'email' ? namedRecipients(trial) : [{ address: trial.to }]
  if (!to || others.length > 0) throw invalid('to', 'A trial is sent to one recipient')
  if (!traits.channels.includes(channel)) {
    throw invalid('channel', `It does not serve ${channel}, only: ${traits.channels.join(', ')}`)
  }
  const senders = traits.senders[channel] ?? []
  if (from !== undefined && channel !== 'email' && senders.length > 0 && !senders.includes(from)) {
    throw invalid('from', `It sends only from: ${senders.join(', ')}`)
  }
  return {
    // These ids belong to no workspace and no message, so later reports change nothing.
    workspace_id: runtime.id(),
    message_id: runtime.id(),
    channel,
    content,
    recipient: to.address,
    sender: from ?? senders[0] ?? null,
    attempt: 1,
    created_at_ms: runtime.now().getTime(),
    max_duration_s: trial.channel === 'voice' ? heldMinutes(trial.content) * 60 : null,
  }
}

/** Connects for this one message. Reports that arrive meanwhile are refused; the provider sends them again to the server. */
async function connected(provider: Provider): Promise<Listening | null> {
  const listening = await provider.listen?.({
    async receive() {
      throw new Error('nothing is received during a trial')
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
