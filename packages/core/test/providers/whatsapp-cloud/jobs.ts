import type { Outcome, Provider, SendJob } from '../../../src/contract/outside/provider.ts'
import type { WhatsappContent } from '../../../src/contract/resources/content.ts'

export const WORKSPACE = '0197a0f0-0000-7000-8000-000000000001'
export const MESSAGE = '0197a0f0-0000-7000-8000-0000000000aa'

/** A job of the dispatcher for one message. */
export function jobOf(content: WhatsappContent, fields: Partial<SendJob> = {}): SendJob {
  return {
    workspace_id: WORKSPACE,
    message_id: MESSAGE,
    channel: 'whatsapp',
    sender: null,
    recipient: '+14155550100',
    content,
    attempt: 1,
    created_at_ms: 1_750_000_000_000,
    max_duration_s: null,
    ...fields,
  }
}

/** The outcome of one job. */
export async function sendOne(provider: Provider, job: SendJob): Promise<Outcome> {
  const [outcome] = await provider.send([job])
  if (!outcome) throw new Error('no outcome')
  return outcome
}
