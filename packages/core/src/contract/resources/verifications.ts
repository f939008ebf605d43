import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination, wholeNumber } from '../endpoints/paging.ts'
import { chosen } from '../fields/chosen.ts'
import { CLIENT_BITS, networkOf } from '../fields/client-network.ts'
import { EMAIL_TEXT, emailAddress } from '../fields/email-address.ts'
import {
  credits,
  metadata,
  PHONE_TEXT,
  phone,
  phoneOrText,
  text,
  timestamp,
  uuid,
} from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS, type Channel } from './content.ts'
import { channelText } from './send-request.ts'
import { templateName, templateValues } from './template-use.ts'

/**
 * The statuses of a verification. `pending`: a code was sent and can be checked; `approved`: the right code was given, once;
 * `expired`; `canceled`; `max_attempts`: too many wrong codes were given; `external`: another
 * service made the code and checks it. Only `pending` changes.
 */
export const VERIFICATION_STATUSES = [
  'pending',
  'approved',
  'expired',
  'canceled',
  'max_attempts',
  'external',
] as const

/** The status of a verification. */
export type VerificationStatus = (typeof VERIFICATION_STATUSES)[number]

const attemptsLeft = z.int().min(0).meta({
  description: 'How many more wrong codes are allowed.',
})
const nextSend = timestamp.meta({
  description:
    'The earliest time for another message with the code. A start before it sends nothing and costs nothing.',
})
const testCode = z.string().exactOptional().meta({
  description: 'Only for a test key, which sends nothing: the code.',
})

/** The record of a verification. The code is in no record. */
export const verification = z
  .object({
    id: uuid,
    status: z.enum(VERIFICATION_STATUSES),
    to: z.string().meta({ description: 'The first address; `erased` after its erasure.' }),
    channel: z.enum(CHANNELS).meta({ description: 'The channel of the last message.' }),
    locale: z.string().meta({ description: 'The language of the last text.' }),
    livemode: z.boolean(),
    attempts: z.int().min(0).meta({ description: 'How many wrong codes were given.' }),
    attempts_left: attemptsLeft,
    messages_sent: z.int().min(1).meta({ description: 'Messages with the code.' }),
    message_id: uuid.meta({ description: 'The last message with the code.' }),
    messages: z
      .array(
        z.object({
          message_id: uuid,
          channel: z.enum(CHANNELS),
          to: z.string(),
          sent_at: timestamp,
        }),
      )
      .meta({ description: 'The messages with the code, oldest first.' }),
    fallback: z.array(z.object({ channel: z.enum(CHANNELS), to: z.string() })).meta({
      description: 'The channels that were not tried yet, in their order.',
    }),
    next_fallback_at: timestamp.nullable().meta({
      description:
        'When the first channel of `fallback` is tried, unless the last message is delivered before. Null: never.',
    }),
    credits_used: credits.meta({ description: 'The price of all its messages.' }),
    metadata: z.record(z.string(), z.unknown()),
    created_at: timestamp,
    expires_at: timestamp,
    next_send_at: nextSend,
    ended_at: timestamp.nullable().meta({
      description: 'When it was approved, or ended otherwise. Null while it is pending.',
    }),
  })
  .meta({ id: 'CodeVerification' })

/** The record of a verification. */
export type CodeVerification = z.output<typeof verification>

const started = z.object({
  verification_id: uuid,
  status: z.enum(VERIFICATION_STATUSES),
  to: z.string(),
  channel: z.enum(CHANNELS),
  expires_at: timestamp,
  next_send_at: nextSend,
  attempts_left: attemptsLeft,
  credits_used: credits.meta({
    description: 'The price of the message of this request; 0 if none was sent.',
  }),
  message_id: uuid,
  test_code: testCode,
})

const checked = z.object({
  verification_id: uuid,
  status: z.enum(VERIFICATION_STATUSES),
  attempts_left: attemptsLeft,
})

const channel = z.enum(CHANNELS, {
  // An absent channel is a missing field: `issueText` reports it.
  error: ({ input }) => (input === undefined ? undefined : channelText(CHANNELS)),
})

const CODE_TEXT = 'A code has 4 to 10 digits'

const code = z
  .string()
  .max(LIMITS.otp_length)
  .regex(/^[\d\s-]+$/, CODE_TEXT)
  .overwrite((given) => given.replace(/[\s-]/g, ''))
  .refine((given) => /^\d{4,10}$/.test(given), CODE_TEXT)
  .meta({ example: '482913', description: 'Blanks and hyphens between the digits are ignored.' })

const address = text(LIMITS.email_length).meta({ example: '+14155552671' })

/** A number in E.164 or an e-mail address, for a channel. Refuses an address of the other kind. */
function refineAddress(
  to: string,
  of: Channel,
  issues: {
    push(issue: { code: 'custom'; path: string[]; message: string; input: unknown }): unknown
  },
): void {
  const isMail = of === 'email'
  if (isMail ? emailAddress(to) !== null : phone.safeParse(to).success) return
  const message = isMail ? EMAIL_TEXT : PHONE_TEXT
  issues.push({ code: 'custom', path: ['to'], message, input: to })
}

/** Refuses the channels after the first one if they have not exactly the addresses that they need: one of each kind. */
function refineSteps(
  {
    channel,
    fallback = [],
  }: { channel: Channel; fallback?: { channel: Channel; to?: string | undefined }[] | undefined },
  issues: {
    push(issue: {
      code: 'custom'
      path: (string | number)[]
      message: string
      input: unknown
    }): unknown
  },
): void {
  const others = new Set<string>()
  for (const [i, step] of fallback.entries()) {
    const refuse = (message: string) =>
      issues.push({ code: 'custom', path: ['fallback', i, 'to'], message, input: step })
    const isMail = step.channel === 'email'
    if (isMail === (channel === 'email')) {
      if (step.to !== undefined) refuse(`${step.channel} uses the address of the request`)
    } else if (isMail ? emailAddress(step.to ?? '') === null : !phone.safeParse(step.to).success) {
      refuse(isMail ? EMAIL_TEXT : PHONE_TEXT)
    } else {
      others.add(step.to as string)
      if (others.size > 1) refuse('All channels of this kind need the same address')
    }
  }
}

const approvedTemplate = text(LIMITS.whatsapp_template_name_length)
const storedTemplate = z.strictObject({
  name: templateName,
  version: z.int().min(1).optional().meta({ description: 'Default: the latest version.' }),
  variables: templateValues.optional(),
})

/** A stored template for the text of a code. */
export type CodeTemplate = z.output<typeof storedTemplate>

/** The names that a stored template gets with a code. */
const CODE_VARIABLES = ['code', 'brand', 'minutes'] as const

const codeTemplate = chosen([approvedTemplate, storedTemplate], (value) =>
  typeof value === 'string' ? approvedTemplate : storedTemplate,
).meta({
  description:
    'A stored template in place of the built-in text: it has `{{code}}`, and may have `{{brand}}` and `{{minutes}}`. As text, only for `whatsapp`: the authentication template that the provider approved; the code is its first variable.',
  example: { name: 'login-code' },
})

const startRequest = z
  .strictObject({
    to: address,
    channel,
    from: text(LIMITS.sender_name_length).optional().meta({
      description:
        'The sender, as in a send. The settings of the provider decide which are allowed.',
    }),
    locale: text(LIMITS.language_length).optional().meta({
      example: 'de-AT',
      description:
        'The language of the text. A language without a text gets English. Default: English, or the default of a stored template.',
    }),
    code_length: z.int().min(4).max(10).default(6),
    expires_in: z.int().min(60).max(LIMITS.verification_lifetime_s).default(600).meta({
      description: 'Seconds for which the code is valid.',
    }),
    template: codeTemplate.optional(),
    domain: text(LIMITS.domain_length)
      .regex(/^[^\s@#]+$/, 'domain must be the name of a site, such as shop.example')
      .optional()
      .meta({
        example: 'shop.example',
        description: 'Only for `sms`: the site whose form browsers fill in (WebOTP).',
      }),
    app_hash: z
      .string()
      .regex(/^[A-Za-z0-9+/]{11}$/, 'app_hash must be the 11 characters of the SMS Retriever')
      .optional()
      .meta({ description: 'Only for `sms`: the hash of the Android app that reads the code.' }),
    fallback: z
      .array(
        z.strictObject({
          channel,
          to: address.optional().meta({
            description:
              'The address, if the channel needs one of the other kind than `to` of the request: an e-mail address, or a number.',
          }),
        }),
      )
      .min(1)
      .max(LIMITS.verification_fallbacks)
      .optional()
      .meta({
        example: [{ channel: 'voice' }, { channel: 'email', to: 'asha@example.com' }],
        description:
          'The channels that are tried next, in this order, with the same code: each when the message before failed, or when no receipt of its delivery arrived within `fallback_after`. Each message is paid. A channel that is refused is skipped.',
      }),
    fallback_after: z
      .int()
      .min(LIMITS.verification_fallback_min_s)
      .max(LIMITS.verification_fallback_max_s)
      .default(LIMITS.verification_fallback_s)
      .meta({ description: 'Seconds after a message until the next channel of `fallback`.' }),
    client_ip: z
      .string()
      .refine((ip) => networkOf(ip, CLIENT_BITS) !== null, 'client_ip must be an IP address')
      .optional()
      .meta({
        description: `The address of the person's device, stored for the limit, IPv6 as its /64. One network (IPv6: /64) may start ${LIMITS.verifications_per_network} verifications in an hour.`,
      }),
    metadata: metadata.optional(),
  })
  .check(({ value, issues }) => {
    refineAddress(value.to, value.channel, issues)
    const refuse = (path: string, message: string) =>
      issues.push({ code: 'custom', path: [path], message, input: value })
    const { fallback = [], fallback_after } = value
    const channels = [value.channel, ...fallback.map((step) => step.channel)]
    if (fallback_after * fallback.length >= value.expires_in) {
      refuse('fallback_after', 'The code must be valid until the last channel is tried')
    }
    refineSteps(value, issues)
    const { template } = value
    if (typeof template === 'string' && !channels.includes('whatsapp')) {
      refuse(
        'template',
        'The name of an approved template is only for the channel whatsapp. Give { "name": … } for a stored template',
      )
    }
    if (typeof template === 'object') {
      const taken = CODE_VARIABLES.find((name) => Object.hasOwn(template.variables ?? {}, name))
      if (taken) refuse('template', `Variable ${taken} is set by the service`)
    }
    if (value.domain !== undefined && value.app_hash !== undefined) {
      refuse('app_hash', 'Give one of domain and app_hash: each must be the end of the text')
    }
    for (const name of ['domain', 'app_hash'] as const) {
      if (value[name] !== undefined && !channels.includes('sms')) {
        refuse(name, `${name} is only for the channel sms`)
      }
    }
  })

/** A request to send a code. */
export type VerificationRequest = z.output<typeof startRequest>

/** A code that another service made and checks. */
export const externalCode = z.strictObject({
  to: phone,
  code: z.string().regex(/^\d{4,10}$/, CODE_TEXT),
})

/** A code that another service made and checks, with its address. */
export type ExternalCode = z.output<typeof externalCode>

const counts = {
  sent: z.int().min(0).meta({ description: 'Messages with codes.' }),
  approved: z.int().min(0).meta({ description: 'Codes that were approved.' }),
}
const totals = {
  ...counts,
  credits_used: credits,
  conversion: z.number().min(0).max(1).nullable().meta({
    description: '`approved` ÷ `sent`; null if nothing was sent.',
  }),
}
/** Counts are kept as long as verifications. */
const STATS_DAYS_MAX = LIMITS.verification_kept_s / 86_400
const STATS_DAYS = 7

const country = z.string().meta({
  example: 'TZ',
  description: 'ISO 3166-1, or `ZZ` for numbers of no country.',
})

const steps = {
  requested: z.int().min(0).meta({ description: 'Verifications that began.' }),
  sent: z.int().min(0).meta({
    description: 'Those whose last message was sent, or whose code was approved.',
  }),
  delivered: z.int().min(0).meta({
    description: 'Those whose last message was delivered, or whose code was approved.',
  }),
  approved: z.int().min(0).meta({ description: 'Those whose code was approved.' }),
}

const funnel = z.object({
  since: timestamp.meta({
    description: `The begin of the period, or the time of the oldest of the newest ${LIMITS.verifications_counted} verifications: older ones are not counted.`,
  }),
  total: z.object(steps),
  countries: z
    .array(
      z.object({
        country: country.nullable().meta({ description: 'Null: e-mail addresses.' }),
        ...steps,
      }),
    )
    .meta({ description: 'The most requested first.' }),
  hours: z.array(z.object({ since: timestamp, ...steps })).meta({
    description: 'The hours in which verifications began, oldest first.',
  }),
})

const stats = z.object({
  since: timestamp,
  total: z.object(totals),
  countries: z.array(z.object({ country, ...totals })).meta({
    description: 'The most messages first.',
  }),
  paused: z
    .array(
      z.object({
        country,
        paused_at: timestamp,
        is_active: z.boolean().meta({
          description: 'Whether codes are still refused. False: the pause has ended.',
        }),
        ends_at: timestamp.meta({
          description:
            'When the pause ends by itself: approvals, or the operator, end it earlier. If it has ended: the latest end that it could have.',
        }),
        ...counts,
      }),
    )
    .meta({ description: 'The countries with a pause in the last day, with its counts.' }),
  funnel: funnel.meta({
    description:
      'How far the verifications of the period came, by country and by hour (UTC): e-mail addresses too, and for a test key its tests. Codes of other services are left out.',
  }),
})

/** Messages with codes, approvals and credits of a period, by country and in total, the paused countries, and the funnel. */
export type VerificationStats = z.output<typeof stats>

const access = { auth: 'api_key', scope: 'send_messages', rate: 'general', status: 200 } as const
const reading = {
  auth: 'jwt_or_api_key',
  scope: 'read_messages',
  rate: 'general',
  status: 200,
  method: 'GET',
} as const
const one = { params: z.object({ id: uuid }), not_found: 'Verification not found' } as const
const refusals = [
  'validation_error',
  'insufficient_credits',
  'forbidden',
  'rate_limit_exceeded',
] as const

const limits = `An address gets at most ${LIMITS.verification_sends_per_hour} codes in an hour and ${LIMITS.verification_sends_per_day} in a day.`

/** One-time codes: send a code to an address, and check the code that a person gives. */
export const verifications = {
  start: endpoint({
    ...access,
    status: 201,
    method: 'POST',
    path: '/api/v1/verifications',
    idempotent: true,
    body: startRequest,
    data: started,
    failures: refusals,
    summary: 'Send a one-time code',
    description: `While a code for the address is pending, the same code is sent again, at the earliest at \`next_send_at\`; before, the answer is the pending verification, and nothing is sent. ${limits}`,
  }),
  check_address: endpoint({
    ...access,
    method: 'POST',
    path: '/api/v1/verifications/check',
    body: z.strictObject({ to: address, code }),
    data: checked,
    failures: ['validation_error', 'not_found'],
    summary: 'Check a code by the address that got it',
    description: 'The same as the check by id, for the newest verification of the address.',
  }),
  check: endpoint({
    ...access,
    ...one,
    method: 'POST',
    path: '/api/v1/verifications/:id/check',
    body: z.strictObject({ code }),
    data: checked,
    failures: ['validation_error'],
    summary: 'Check a code',
    description: `\`approved\`: the code is right, and the verification ends: a further check gets 404, so that a code works once. \`pending\`: the code is wrong. After ${LIMITS.verification_attempts} wrong codes the status is \`max_attempts\`.`,
  }),
  resend: endpoint({
    ...access,
    ...one,
    status: 201,
    method: 'POST',
    path: '/api/v1/verifications/:id/resend',
    idempotent: true,
    body: z.strictObject({ channel: channel.optional() }),
    data: started,
    failures: refusals,
    summary: 'Send the code of a pending verification again',
    description:
      'By the same channel, or by another channel for numbers: `sms`, `whatsapp` or `voice`. Before `next_send_at` nothing is sent.',
  }),
  cancel: endpoint({
    ...access,
    ...one,
    method: 'POST',
    path: '/api/v1/verifications/:id/cancel',
    data: z.object({ verification }),
    failures: ['validation_error'],
    summary: 'Cancel a pending verification',
    description: 'Its code is not valid any more. A message that was sent stays paid.',
  }),
  stats: endpoint({
    ...reading,
    path: '/api/v1/verifications/stats',
    query: z.object({
      days: wholeNumber({
        max: STATS_DAYS_MAX,
        byDefault: STATS_DAYS,
        otherwise: `days must be a whole number, 1 to ${STATS_DAYS_MAX}`,
      }).default(STATS_DAYS),
    }),
    data: stats,
    summary: 'Count codes and approvals by country',
    description:
      'Counts live messages with codes to numbers, by hour: e-mail addresses have no country, and tests are not counted. `funnel` counts verifications in place of messages. A low conversion in one country is the sign of pumping: bots that request codes to numbers that earn from them.',
  }),
  get: endpoint({
    ...reading,
    ...one,
    path: '/api/v1/verifications/:id',
    data: z.object({ verification }),
    summary: 'Get one verification',
  }),
  list: endpoint({
    ...reading,
    path: '/api/v1/verifications',
    query: listQuery({
      status: z.enum(VERIFICATION_STATUSES).optional(),
      channel: channel.optional(),
      to: phoneOrText(text(LIMITS.email_length)).optional(),
    }),
    data: z.object({ verifications: z.array(verification), pagination, next_after: nextAfter }),
    summary: 'List verifications, newest first',
  }),
} as const
