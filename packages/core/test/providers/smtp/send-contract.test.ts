import {
  type Fate,
  type PeerMessage,
  type ProviderBench,
  providerContract,
} from '@svc/testkit/provider'
import { describe, it } from 'vitest'
import { openSmtp } from '../../../src/providers/smtp/smtp.ts'
import { smtpType } from '../../../src/providers/smtp/type.ts'
import { context, smtpSettings } from './send-fixtures.ts'
import { headersOf, type Play, type SunkMail, startSmtpSink } from './sink.ts'

const CREDENTIALS = { user: 'svc@mail.example', password: 'canary/password@4713' }

const PLAYS: Record<Exclude<Fate, 'accept'>, Play> = {
  reject: { at: 'data', reply: '550 5.1.1 No such user' },
  throttle: { at: 'data', reply: '450 4.2.1 Too many mails for this user' },
  unavailable: { at: 'data', reply: '451 4.3.0 Try again later' },
  hang_after_read: { at: 'data', reply: 'hang' },
  drop_after_read: { at: 'data', reply: 'drop' },
}

const withUrl = (url: string) => smtpSettings({ url, bounce_domain: 'bounce.mail.example' })

providerContract(
  'smtp',
  { describe, it },
  {
    channel: 'email',
    traits: smtpType.traits(withUrl('smtp://127.0.0.1')),
    fates: ['accept', 'reject', 'throttle', 'unavailable', 'hang_after_read', 'drop_after_read'],
    refusals: ['refuse_connection', 'bad_credentials'],
    identifies: true,
    callbacks: null,
    open: openBench,
  },
)

async function openBench(deadline_ms: number): Promise<ProviderBench> {
  const sink = await startSmtpSink({ credentials: CREDENTIALS })
  const { user, password } = CREDENTIALS
  const url = `smtp://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${sink.port}`
  const provider = openSmtp(withUrl(url), context, { send_max_ms: deadline_ms })
  let count = 0
  return {
    provider,
    secrets: [password, context.secret],
    recipient(fate) {
      count += 1
      const address = `user${count}@rcpt.example`
      if (fate !== 'accept') sink.meet(address, PLAYS[fate])
      return address
    },
    peer: {
      seen: () => sink.mails.map(seenOf),
      connections: sink.connections,
      async turn(refusal) {
        if (refusal === 'bad_credentials') sink.revoke()
        else await sink.close()
      },
    },
    callbacks: null,
    async close() {
      await provider.close?.()
      await sink.close()
    },
  }
}

function seenOf({ to, raw, accepted }: SunkMail): PeerMessage {
  const id = headersOf(raw).find(([name]) => name === 'Message-ID')?.[1] ?? null
  return { recipient: to[0]?.address ?? '', accepted, identity: id, provider_message_id: id }
}
