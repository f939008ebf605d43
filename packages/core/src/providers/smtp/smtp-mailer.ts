import { randomUUID } from 'node:crypto'
import { emailAddress } from '../../contract/fields/email-address.ts'
import type { Mail, Mailer } from '../../contract/outside/mail.ts'
import { faultOf } from './outcome.ts'
import { ownerMessage } from './owner-message.ts'
import type { SmtpSettings } from './settings.ts'
import { openTransport } from './transport.ts'

const SEND_MAX_MS = 20_000
const CONNECTIONS = 2

/** Sends the service's own mails to owners from `no-reply@`, through the mail server that sends the messages. */
export function createSmtpMailer(
  settings: SmtpSettings,
  brand: string,
): Mailer & { close(): void } {
  const { mail_domain } = settings
  const transport = openTransport({ ...settings, connections: CONNECTIONS })

  async function send(mail: Mail): Promise<void> {
    const recipient = emailAddress(mail.to)
    if (recipient === null) throw new Error('the owner has no address to write to')
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), SEND_MAX_MS)
    const result = await transport.send(
      ownerMessage({ ...mail, to: recipient.address }, { brand, mail_domain, id: randomUUID() }),
      late.signal,
    )
    clearTimeout(timer)
    if (result.type === 'accepted') return
    const { failure } = result
    throw Object.assign(new Error(faultOf(failure)), { code: failure.code })
  }

  return { send, close: transport.close }
}
