import { readProvider } from '@svc/core/operate'
import { expect } from 'vitest'
import { postfixReport } from '../../../core/test/providers/smtp/intake-mails.ts'
import { talkTo } from '../../../core/test/providers/smtp/intake-stage.ts'
import { headersOf, startSmtpSink } from '../../../core/test/providers/smtp/sink.ts'
import type { Peer } from './carriage.contract.ts'
import type { Service } from './service.ts'

const PASSWORD = 'canary-of-the-password'

let people = 0

/** A local mail server and an intake for bounces, as the only provider of a service. */
export async function openMail(more: object = {}) {
  const sink = await startSmtpSink({ credentials: { user: 'svc', password: PASSWORD } })
  const settings = readProvider({
    type: 'smtp',
    name: 'smtp',
    url: sink.url,
    mail_domain: 'mail.example',
    intake: { host: '127.0.0.1', port: 0 },
    ...more,
  })

  const mailsTo = (to: string) => sink.mails.filter((mail) => mail.to[0]?.address === to)

  function lastTo(to: string) {
    const mail = mailsTo(to).at(-1)
    if (!mail) throw new Error('no mail was taken for this recipient')
    return mail
  }

  return {
    sink,
    settings,
    lastTo,
    /** The link in the header of the last mail to a recipient. */
    unsubscribeLink(to: string): string {
      const [, value] =
        headersOf(lastTo(to).raw).find(([name]) => name === 'List-Unsubscribe') ?? []
      return value?.replace(/^<|>$/g, '') ?? 'no link'
    },
    secrets: [PASSWORD, Buffer.from(PASSWORD).toString('base64'), '@people.example'],
    recipient(refused?: 'refused') {
      people += 1
      const to = `person${people}@people.example`
      if (refused) sink.meet(to, { at: 'rcpt', reply: '550 5.1.1 No such user' })
      return to
    },
    taken: (to: string) => mailsTo(to).filter(({ accepted }) => accepted).length,
    async report(to, status, service) {
      const report =
        status === 'delivered'
          ? postfixReport({ action: 'delivered', status: '2.0.0', diagnostic: 'smtp; 250 ok' })
          : postfixReport()
      expect(await reported(service, lastTo(to).from.address, report)).toMatch(/^250 /)
    },
    close: sink.close,
  } satisfies Peer & Record<string, unknown>
}

/** Another mail server delivers a mail to the service's intake; returns the answer. */
export async function reported({ core }: Service, to: string, raw: string): Promise<string> {
  const [status] = await core.providers.status()
  const port = Number(status?.connections[0]?.name.split(':').at(-1))
  const talk = await talkTo(port)
  try {
    return await talk.mail([to], raw)
  } finally {
    talk.end()
    await talk.closed
  }
}
