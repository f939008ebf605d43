import * as z from 'zod'
import { chosen, notLongerThan } from '../fields/chosen.ts'
import { emailKey } from '../fields/email-address.ts'
import { email } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'

/** The statuses of a message in their order. Source: interface, Message status. */
export const MESSAGE_STATUSES = ['queued', 'sent', 'delivered', 'failed', 'read'] as const

/** The status of a message. */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number]

const RECIPIENTS_MAX = LIMITS.email_recipients
const TOO_MANY = `An e-mail can have at most ${RECIPIENTS_MAX} recipients together in to, cc and bcc`

/** One address, or a list of 1 to `max` addresses. */
export function oneOrMore(max: number, text = `At most ${max} addresses are allowed`) {
  const several = notLongerThan(z.array(email).min(1).meta({ maxItems: max }), max, text)
  return chosen([email, several], (value) => (Array.isArray(value) ? several : email))
}

/** The recipients of an e-mail that its header `To` names. */
export const mailTo = oneOrMore(RECIPIENTS_MAX, TOO_MANY)

/** The recipients of copies. */
export const copies = notLongerThan(
  z.array(email).meta({ maxItems: RECIPIENTS_MAX }),
  RECIPIENTS_MAX,
  TOO_MANY,
)

/** How an e-mail names a recipient: in `To`, in `Cc`, or not at all. */
const RECIPIENT_ROLES = ['to', 'cc', 'bcc'] as const

/** How an e-mail names a recipient. */
export type RecipientRole = (typeof RECIPIENT_ROLES)[number]

/** The state of one recipient of an e-mail with several recipients. */
export const mailRecipient = z
  .object({
    /** The address; `erased` after an erasure. */
    address: z.string(),
    role: z.enum(RECIPIENT_ROLES),
    status: z.enum(MESSAGE_STATUSES),
    /** A stable code for the failure. */
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
  })
  .meta({ id: 'MailRecipient' })

/** The state of one recipient of an e-mail with several recipients. */
export type MailRecipient = z.output<typeof mailRecipient>

/** A recipient of an e-mail. */
export interface Addressed {
  address: string
  role: RecipientRole
}

/** A recipient in a request; `path` is the place of its address. */
export interface NamedRecipient extends Addressed {
  path: string
}

interface MailAddresses {
  to: string | string[]
  content: { cc?: string[] | undefined; bcc?: string[] | undefined }
}

/** All recipients of a request, in the order to, cc, bcc. The first one is the `recipient` of the message. */
export function namedRecipients({ to, content }: MailAddresses): NamedRecipient[] {
  const first: NamedRecipient[] =
    typeof to === 'string' ? [{ address: to, role: 'to', path: 'to' }] : listed('to', to, 'to')
  return [
    ...first,
    ...listed('cc', content.cc ?? [], 'content.cc'),
    ...listed('bcc', content.bcc ?? [], 'content.bcc'),
  ]
}

function listed(role: RecipientRole, addresses: string[], path: string): NamedRecipient[] {
  return addresses.map((address, i) => ({ address, role, path: `${path}.${i}` }))
}

/** Refuses more recipients than the limit, and a repeated address. */
export function refineRecipients(request: MailAddresses, ctx: z.core.$RefinementCtx): void {
  const all = namedRecipients(request)
  if (all.length > RECIPIENTS_MAX) {
    ctx.issues.push({ code: 'custom', message: TOO_MANY, input: all.length, path: ['to'] })
    return
  }
  const seen = new Set<string>()
  for (const { address, path } of all) {
    const key = emailKey(address)
    if (seen.has(key)) {
      const message = `Recipient ${path} repeats an address: to, cc and bcc may name each address once`
      ctx.issues.push({ code: 'custom', message, input: address, path: path.split('.') })
      return
    }
    seen.add(key)
  }
}
