import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Carriers } from '../carriers/carriers.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { NewBroadcast } from '../contract/resources/broadcasts.ts'
import type { BulkRequest } from '../contract/resources/bulk-request.ts'
import type { EmailContent } from '../contract/resources/content.ts'
import { CHANNELS_BUT_VOICE, channelText } from '../contract/resources/send-request.ts'
import type { TemplateUse } from '../contract/resources/template-use.ts'
import { takesOneClick, UNSUBSCRIBE_URL } from '../contract/signing/unsubscribe-url.ts'
import type { BulkParts } from '../messages/bulk-accept.ts'
import { type Recipients, recipientsOf } from '../messages/bulk-recipients.ts'
import type { BroadcastRow, ContactRow } from '../rows/rows.ts'
import { contentTemplate } from '../rules/template.ts'
import {
  hasOwnUnsubscribe,
  lacksOneClick,
  NEEDS_ONE_CLICK,
  sourceOf,
  type TemplateSource,
} from '../templates/use-template.ts'
import { type AudienceOf, type AudiencePart, nextPart } from './audience.ts'

/** What the messages of a broadcast have in common. */
export interface Mailing extends AudienceOf {
  from: string | undefined
  source: TemplateSource
  /** The contacts whose messages are made at a time. */
  size: number
}

/** The contacts of a part and their messages. */
export interface DraftedPart extends AudiencePart {
  found: Recipients
}

/** The length of the contents of one step, in UTF-16 code units, if no placeholder makes them longer. */
const STEP_LENGTH = 8 * 2 ** 20

type SentChannel = NewBroadcast['channel']

/**
 * The channel of a stored broadcast. A call has a hold of its own, which is no part of a bulk.
 * @throws SvcError `validation_error` for `voice`, which an earlier version stored.
 */
export function sentChannelOf({ channel }: Pick<BroadcastRow, 'channel'>): SentChannel {
  if (channel === 'voice') throw invalid('channel', channelText(CHANNELS_BUT_VOICE))
  return channel
}

/** What opens a broadcast. */
export type MailingParts = Pick<BulkParts, 'storage' | 'senders'> & {
  /** Why the service adds no header for one-click unsubscribe to marketing e-mails; null if it does. */
  oneClickFault: () => string | null
}

/** The rule for `MailingParts`. */
export function createOneClickRule({
  carriers,
  public_url,
}: {
  carriers: Pick<Carriers, 'of' | 'serves' | 'traits'>
  public_url: () => string
}): MailingParts['oneClickFault'] {
  return () => {
    // The sandbox sends no mail.
    if (!carriers.serves('email')) return null
    if (!takesOneClick(public_url())) return 'the public URL of the service is not https'
    const all = carriers.of({ channel: 'email', livemode: true, sender: null })
    const isOff = all.some(({ provider }) => carriers.traits.get(provider)?.one_click === false)
    return isOff ? 'a provider of e-mail has it turned off' : null
  }
}

/**
 * @throws SvcError `validation_error` like a send from the template, also for a sender that is not allowed, and for a template whose
 *   unsubscribe link no message could have.
 */
export async function openMailing(
  { storage, senders, oneClickFault }: MailingParts,
  identity: KeyIdentity,
  of: AudienceOf & { channel: SentChannel; template: TemplateUse; from: string | undefined },
): Promise<Mailing> {
  const source = await sourceOf(storage.read, identity.workspace_id, of)
  if (of.channel === 'email' && source.category === 'marketing') {
    checkUnsubscribe(source, oneClickFault)
  }
  const { placeholders, needed } = contentTemplate(source.content, { has_blocks: true })
  // On other channels it is a placeholder like any other, which an attribute of the contact may fill.
  const lacking =
    of.channel === 'email' &&
    needed.find(
      ({ name, field }) => name === UNSUBSCRIBE_URL && source.lookUp(name, field) === null,
    )
  if (lacking) throw refused(source, `${LINK_PLACES}: remove it from ${lacking.field}`)
  const { length } = JSON.stringify(source.content)
  const size = Math.min(
    LIMITS.broadcast_step,
    Math.floor(LIMITS.bulk_fillings / Math.max(1, placeholders)),
    Math.floor(STEP_LENGTH / length),
  )
  const mailing = { ...of, source, size: Math.max(1, size) }
  const fault = await senders.fault(identity, requestOf(mailing, []), true)
  if (fault) throw new SvcError('validation_error', fault.message, { details: [fault] })
  return mailing
}

/** @throws SvcError `validation_error` for a marketing e-mail that its recipient cannot unsubscribe from with one click. */
function checkUnsubscribe(
  source: TemplateSource,
  oneClickFault: MailingParts['oneClickFault'],
): void {
  const content = source.content as EmailContent
  if (lacksOneClick(content)) throw refused(source, NEEDS_ONE_CLICK)
  const fault = hasOwnUnsubscribe(content) ? null : oneClickFault()
  if (fault === null) return
  throw refused(
    source,
    `its marketing e-mails would lack one-click unsubscribe (RFC 8058), because ${fault}. Ask the operator, or give the template List-Unsubscribe and List-Unsubscribe-Post of its own`,
  )
}

const LINK_PLACES = `only the HTML and the text of an e-mail have {{${UNSUBSCRIBE_URL}}}`

function refused({ used }: TemplateSource, why: string): SvcError {
  return invalid('template.name', `Template ${used.name}: ${why}`)
}

/** The request of a bulk to these contacts. */
export function requestOf(
  { channel, from, source }: Mailing,
  contacts: readonly Pick<ContactRow, 'id'>[],
): BulkRequest {
  return {
    channel,
    content: source.content,
    ...(from !== undefined && { from }),
    recipients: contacts.map(({ id }) => ({ contact_id: id })),
    validation: 'permissive',
  } as BulkRequest
}

/**
 * The next contacts and their messages, at most `size`: fewer if the messages would be too large together.
 * @throws SvcError `validation_error` if the message to one contact alone is too large.
 */
export async function nextDrafts(
  parts: BulkParts,
  identity: KeyIdentity,
  mailing: Mailing,
  { after, size: wanted }: { after: string; size: number },
): Promise<DraftedPart> {
  for (let size = Math.min(mailing.size, wanted); ; size = Math.ceil(size / 2)) {
    const part = await nextPart(parts.storage.read, mailing, { after, size })
    const known = new Map(part.contacts.map((row) => [row.id, row]))
    const contacts = { forSending: async () => known }
    const request = requestOf(mailing, part.contacts)
    if (part.contacts.length === 0) {
      return { ...part, found: { drafts: [], rejected: [], duplicates: [] } }
    }
    try {
      const options = { ...parts, contacts, recipients_max: LIMITS.broadcast_step }
      const found = await recipientsOf(options, identity, request, mailing.source)
      return { ...part, found }
    } catch (error) {
      if (size === 1 || !isTooLarge(error)) throw error
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof SvcError && error.details?.[0]?.path === 'recipients'
}
