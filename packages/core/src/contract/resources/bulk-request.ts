import * as z from 'zod'
import { chosen, notLongerThan, unread } from '../fields/chosen.ts'
import { isRecord, metadata, text } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { contentTemplates } from './content.ts'
import { channelRefusal, from, isFromTemplate, sendOptions } from './send-request.ts'
import { templateUse } from './template-use.ts'

/** The value of a placeholder; null is the same as no value. */
export type BulkVariable = string | number | boolean | null

/** Values of placeholders, indexed by name. */
export type BulkVariables = Readonly<Record<string, BulkVariable>>

const variables = z
  .custom<BulkVariables>(isRecord, {
    error: (issue) => `${(issue.path ?? []).join('.')} must be an object`,
  })
  .superRefine((values, ctx) => {
    const entries = Object.entries(values)
    const fault = (message: string, path: string[] = []) =>
      ctx.addIssue({ code: 'custom', message, path })
    if (entries.length > LIMITS.bulk_variables) {
      fault(`At most ${LIMITS.bulk_variables} variables are allowed`)
      return
    }
    for (const [name, value] of entries) {
      const message = variableFault(name, value)
      if (message === null) continue
      // Only the first fault is reported, because a bulk can have half a million faults.
      fault(message, [name])
      return
    }
  })
  .meta({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    maxProperties: LIMITS.bulk_variables,
    example: { order_id: 'A1' },
  })

function variableFault(name: string, value: unknown): string | null {
  if (name.length > LIMITS.bulk_variable_name_length) {
    return `Names of variables must be at most ${LIMITS.bulk_variable_name_length} characters`
  }
  if (!isVariable(value)) return `Variable ${name} must be a string, a number or a boolean`
  return typeof value === 'string' && value.length > LIMITS.bulk_variable_length
    ? `Variable ${name} must be at most ${LIMITS.bulk_variable_length} characters`
    : null
}

function isVariable(value: unknown): value is BulkVariable {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

// An address is validated with its recipient, because a `permissive` bulk is sent to the other recipients.
const address = z.string()

const recipientObject = z
  .strictObject({
    to: address.optional(),
    // Upper and lower case are allowed. A malformed id gets the same answer as an unknown id.
    contact_id: z.string().toLowerCase().optional().meta({ description: 'In place of `to`.' }),
    name: text(LIMITS.contact_name_length).optional().meta({ example: 'Asha' }),
    variables: variables.optional(),
    metadata: metadata.optional().meta({ description: 'Its keys override those of the request.' }),
  })
  .refine(({ to, contact_id }) => (to === undefined) !== (contact_id === undefined), {
    error: ({ path = [] }) =>
      `${path.map(String).join('.')} must have exactly one of: to, contact_id`,
  })
  .meta({ id: 'BulkRecipient' })

/** One recipient of a bulk. `bulkRequest` does not check recipients: decode each one with this schema. */
export const bulkRecipient = chosen([address, recipientObject], (value) =>
  typeof value === 'string' ? address : recipientObject,
)

/** The description of `bulkRecipient` without its checks, so that one fault does not refuse a `permissive` bulk. */
const recipient: z.ZodType<unknown, z.input<typeof bulkRecipient>> = unread(
  z.union([address, recipientObject]),
)

const recipients = notLongerThan(
  z
    .array(recipient)
    .min(1)
    .meta({
      maxItems: LIMITS.bulk_recipients,
      example: [
        '+14155552671',
        { to: '+14155552672', name: 'Asha', variables: { order_id: 'A1' } },
      ],
    }),
  LIMITS.bulk_recipients_max,
  'Too many recipients: send to some of them at a time',
)

/** What one faulty item of a bulk causes. */
export const bulkValidation = z.enum(['strict', 'permissive']).default('strict').meta({
  description:
    '`strict`: nothing is sent if one recipient is faulty. `permissive`: only faulty recipients are left out.',
})

const bulkOptions = {
  recipients,
  defaults: variables.optional().meta({
    description: 'Values of placeholders that neither the recipient nor its contact has.',
  }),
  validation: bulkValidation,
  ...sendOptions,
}

function bulkTo<const C extends keyof typeof contentTemplates>(channel: C, id: string) {
  return z
    .strictObject({
      channel: z.literal(channel),
      content: contentTemplates[channel],
      from: from[channel],
      ...bulkOptions,
    })
    .meta({ id })
}

const sms = bulkTo('sms', 'SmsBulk')
const whatsapp = bulkTo('whatsapp', 'WhatsappBulk')
const mail = bulkTo('email', 'EmailBulk')
const voice = bulkTo('voice', 'VoiceBulk')

const withVoice = z.discriminatedUnion('channel', [sms, whatsapp, mail, voice], {
  error: channelRefusal({ voice: true }),
})

const withoutVoice = z.discriminatedUnion('channel', [sms, whatsapp, mail], {
  error: channelRefusal({ voice: false }),
})

function bulkFromTemplate<const C extends keyof typeof contentTemplates>(channel: C, id: string) {
  return z
    .strictObject({
      channel: z.literal(channel),
      template: templateUse,
      from: from[channel],
      ...bulkOptions,
    })
    .meta({ id })
}

const smsTemplate = bulkFromTemplate('sms', 'SmsBulkFromTemplate')
const whatsappTemplate = bulkFromTemplate('whatsapp', 'WhatsappBulkFromTemplate')
const mailTemplate = bulkFromTemplate('email', 'EmailBulkFromTemplate')
const voiceTemplate = bulkFromTemplate('voice', 'VoiceBulkFromTemplate')

const templateWithVoice = z.discriminatedUnion(
  'channel',
  [smsTemplate, whatsappTemplate, mailTemplate, voiceTemplate],
  { error: channelRefusal({ voice: true }) },
)

const templateWithoutVoice = z.discriminatedUnion(
  'channel',
  [smsTemplate, whatsappTemplate, mailTemplate],
  { error: channelRefusal({ voice: false }) },
)

/** A request to send a bulk, whose content is a stored template. Its recipients are not decoded yet. */
export type TemplateBulkRequest = z.output<typeof templateWithVoice>

/** One recipient of a bulk: an address, or an object. */
export type BulkRecipient = z.output<typeof bulkRecipient>

/** A request to send a bulk. Its recipients are not decoded yet. Source: interface, Messages; contract section 6, Bulk. */
export type BulkRequest = z.output<typeof withVoice>

/** A request to send a bulk, in JSON. */
export type WireBulkRequest = z.input<typeof withVoice>

/** The body of a bulk, in JSON. */
export type WireBulk = WireBulkRequest | z.input<typeof templateWithVoice>

const bodies = [
  chosen([withoutVoice, templateWithoutVoice], (value) =>
    isFromTemplate(value) ? templateWithoutVoice : withoutVoice,
  ),
  chosen([withVoice, templateWithVoice], (value) =>
    isFromTemplate(value) ? templateWithVoice : withVoice,
  ),
] as const

/**
 * The body of a bulk. If `voice` is false (no voice provider is configured), the channel `voice` is refused. Recipients are
 * not checked: decode each recipient with `bulkRecipient`.
 */
export function bulkRequest({
  voice,
}: {
  voice: boolean
}): z.ZodType<BulkRequest | TemplateBulkRequest, WireBulk> {
  return bodies[voice ? 1 : 0]
}
