import type { SendMailOptions } from 'nodemailer'
import type { Mail } from '../../contract/outside/mail.ts'
import { withLineEnds } from './mail-message.ts'

/** A mail of the service for the mail library, from `no-reply@`. `id`: the part of the `Message-ID` before the @. */
export function ownerMessage(
  { to, subject, text, html }: Mail,
  { brand, mail_domain, id }: { brand: string; mail_domain: string; id: string },
): SendMailOptions {
  const address = `no-reply@${mail_domain}`
  return {
    from: { name: brand, address },
    to: { name: '', address: to },
    envelope: { from: address, to: [to] },
    messageId: `<${id}@${mail_domain}>`,
    subject,
    text: withLineEnds(text),
    html: withLineEnds(html),
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}
