import type { api } from './api.ts'
import type { WireBody, WireData } from './endpoints/endpoint.ts'
import { EVENTS } from './resources/events.ts'
import type { QuietHours } from './resources/workspaces.ts'

/** A request body and an answer of one endpoint, in JSON. */
type ExampleOf<E> = { readonly data: WireData<E> } & (WireBody<E> extends undefined
  ? { readonly body?: never }
  : { readonly body: WireBody<E> })

type Examples<A> = { readonly [G in keyof A]: { readonly [N in keyof A[G]]: ExampleOf<A[G][N]> } }

const WORKSPACE_ID = '019a9c5e-1d00-7c3a-9a51-3f0c6d1b2e01'
const EVENT_ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d31'
const KEY_ID = '019a9c5e-2e10-7d41-8b62-4a1d7e2c3f02'
const MESSAGE_ID = '019a9c60-4f20-7e52-9c73-5b2e8f3d4a03'
const BULK_ID = '019a9c61-5a30-7f63-8d84-6c3f9a4e5b04'
const CONTACT_ID = '019a9c62-6b40-7a74-9e95-7d4a0b5f6c05'
const WEBHOOK_ID = '019a9c63-7c50-7b85-8fa6-8e5b1c6a7d06'
const DELIVERY_ID = '019a9c60-50a1-7c96-90b7-9f6c2d7b8e07'
const VERIFICATION_ID = '019a9c63-8d50-7c85-8fa6-8e5b1c6a7d08'
const DOMAIN_ID = '019a9c63-9c60-7c85-8fa6-8e5b1c6a7d09'
const PURCHASE_ID = '019a9c64-8d60-7da7-81c8-0a7d3e8c9f08'
const MEMBER_ID = '019a9c65-9e70-7eb8-92d9-1b8e4f9d0a0a'
const INVITATION_ID = '019a9c65-af80-7fc9-83ea-2c9f5a0e1b0b'
const BROADCAST_ID = '019a9c65-c0a0-7beb-85fc-4ebf7c2a3d0d'
const SESSION_ID = '019a9c65-b090-70da-94fb-3daf6b1f2c0c'
const EVENT_TIME = '2026-11-22T10:00:01.250Z'
const NOW = '2026-11-22T10:00:00.000Z'
const LATER = '2026-12-01T09:00:00.000Z'
const EARLIER = '2026-11-01T08:30:00.000Z'

const onePage = { total: 1, page: 1, pages: 1, limit: 20 }

const summary = {
  id: WORKSPACE_ID,
  name: 'Example Ltd',
  email: 'owner@example.com',
  email_verified: true,
  credits_balance: 249,
}

/** Marketing messages wait at night, and on Sundays. */
const QUIET_HOURS = [
  { category: 'marketing', start: '21:00', end: '08:00' },
  { category: 'marketing', start: '00:00', end: '24:00', days: ['sun'] },
] satisfies QuietHours[]

const workspace = {
  ...summary,
  phone: '+255712345678',
  country: 'TZ',
  sender_name: 'Example Ltd',
  credits_held: 0,
  low_balance: 50,
  verification_daily_credits: null,
  verification_countries: null,
  quiet_hours: null,
  time_zone: null,
  postal_address: null,
  sms_opt_out_text: null,
  webhook_mails: true,
  created_at: EARLIER,
  updated_at: NOW,
}

const verification = {
  id: VERIFICATION_ID,
  status: 'pending' as const,
  to: '+14155552671',
  channel: 'sms' as const,
  locale: 'en',
  livemode: true,
  attempts: 0,
  attempts_left: 5,
  messages_sent: 1,
  message_id: MESSAGE_ID,
  messages: [{ message_id: MESSAGE_ID, channel: 'sms' as const, to: '+14155552671', sent_at: NOW }],
  fallback: [{ channel: 'voice' as const, to: '+14155552671' }],
  next_fallback_at: '2026-11-22T10:00:30.000Z',
  credits_used: 1,
  metadata: {},
  created_at: NOW,
  expires_at: '2026-11-22T10:10:00.000Z',
  next_send_at: '2026-11-22T10:00:30.000Z',
  ended_at: null,
}

const startedVerification = {
  verification_id: VERIFICATION_ID,
  status: 'pending' as const,
  to: '+14155552671',
  channel: 'sms' as const,
  expires_at: '2026-11-22T10:10:00.000Z',
  next_send_at: '2026-11-22T10:00:30.000Z',
  attempts_left: 5,
  credits_used: 1,
  message_id: MESSAGE_ID,
}

const key = {
  id: KEY_ID,
  name: 'Production',
  key_prefix: 'svc_9fQ2xLmK...',
  scopes: ['send_messages', 'read_messages'] as const,
  mode: 'live' as const,
  expires_at: null,
  allowed_ips: ['192.0.2.0/24'],
  daily_credit_limit: 100,
  signs: false,
  created_at: EARLIER,
}

const message = {
  id: MESSAGE_ID,
  workspace_id: WORKSPACE_ID,
  channel: 'sms' as const,
  recipient: '+14155552671',
  sender: null,
  content: { text: 'Your order A1 is ready' },
  status: 'delivered' as const,
  credits_used: 1,
  credits_refunded: 0,
  provider: 'sandbox',
  provider_message_id: 'sandbox-1',
  error_code: null,
  error_message: null,
  metadata: { order_id: 'A1' },
  segments: 1,
  encoding: 'GSM-7' as const,
  bulk_id: null,
  livemode: true,
  created_at: NOW,
  updated_at: EVENT_TIME,
  scheduled_at: null,
  expires_at: null,
  sent_at: NOW,
  delivered_at: EVENT_TIME,
  read_at: null,
  failed_at: null,
  erased_at: null,
}

const received = {
  id: MESSAGE_ID,
  channel: 'sms' as const,
  sender: '+14155552671',
  recipient: '+15005550006',
  content: { text: 'Thank you!', media: [] },
  keyword: null,
  provider: 'sandbox',
  livemode: true,
  created_at: NOW,
}

const canceled = {
  ...message,
  status: 'failed' as const,
  credits_refunded: 1,
  provider: null,
  provider_message_id: null,
  error_code: 'canceled',
  error_message: 'Canceled by request',
  sent_at: null,
  delivered_at: null,
  failed_at: EVENT_TIME,
}

const waiting = {
  ...message,
  status: 'queued' as const,
  provider: null,
  provider_message_id: null,
  sent_at: null,
  delivered_at: null,
}

const bulk = {
  id: BULK_ID,
  channel: 'sms' as const,
  status: 'processing' as const,
  total: 3,
  accepted: 2,
  rejected: 0,
  duplicates: 1,
  counts: { queued: 1, sent: 0, delivered: 1, failed: 0, read: 0 },
  canceled: 0,
  failures: [],
  retryable: 0,
  name: null,
  sender: null,
  content: { text: 'Hello {{name|there}}, your order {{order_id}} is ready' },
  credits_used: 2,
  credits_refunded: 0,
  livemode: true,
  created_at: NOW,
  paused_at: null,
  broadcast_id: null,
}

const transaction = {
  id: '019a9c60-4f20-7e52-9c73-5b2e8f3d4a09',
  type: 'send' as const,
  credits: -1,
  balance_after: 249,
  description: null,
  channel: 'sms' as const,
  reference: { type: 'message', id: MESSAGE_ID },
  created_at: NOW,
}

const sentBulk = {
  bulk_id: BULK_ID,
  status: 'queued' as const,
  total: 3,
  accepted: 2,
  rejected: 0,
  duplicates: 1,
  credits_used: 2,
  created_at: NOW,
  messages: [
    {
      index: 0,
      message_id: MESSAGE_ID,
      to: '+14155552671',
      status: 'queued' as const,
      credits_used: 1,
      segments: 1,
    },
  ],
  errors: [],
}

const contactFields = {
  name: 'Asha',
  phone: '+255712345678',
  email: 'asha@example.com',
  external_id: 'customer-17',
  tags: ['vip'],
  attributes: { city: 'Dar es Salaam' },
  subscriptions: { sms: 'subscribed' as const },
}

const contact = { id: CONTACT_ID, ...contactFields, created_at: EARLIER, updated_at: NOW }

const suppression = {
  channel: 'sms' as const,
  address: '+14155552671',
  reason: 'manual' as const,
  created_at: NOW,
}

const webhook = {
  id: WEBHOOK_ID,
  url: 'https://example.com/webhooks/svc',
  description: 'Order status',
  events: ['message.delivered' as const, 'message.failed' as const],
  mode: 'live' as const,
  format: 'svc' as const,
  api_key_id: null,
  is_active: true,
  status: 'active' as const,
  disabled_reason: null,
  secret_prefix: 'whsec_C2FtcGxl...',
  headers: ['X-Tenant'],
  consecutive_failures: 0,
  last_success_at: EVENT_TIME,
  last_failure_at: null,
  created_at: EARLIER,
  updated_at: EVENT_TIME,
}

const domain = {
  id: DOMAIN_ID,
  domain: 'example.com',
  status: 'verified' as const,
  records: [
    {
      purpose: 'dkim' as const,
      type: 'TXT' as const,
      name: 'svc3f9a1c2b._domainkey.example.com',
      value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA',
      is_required: true,
      state: 'verified' as const,
      found: null,
    },
    {
      purpose: 'dmarc' as const,
      type: 'TXT' as const,
      name: '_dmarc.example.com',
      value: 'v=DMARC1; p=none',
      is_required: false,
      state: 'missing' as const,
      found: null,
    },
  ],
  previous_selector: null,
  check_error: null,
  checked_at: NOW,
  verified_at: EARLIER,
  failing_since: null,
  accepted_until: null,
  created_at: EARLIER,
  updated_at: EARLIER,
}

const newTemplate = {
  name: 'order-ready',
  category: 'transactional' as const,
  default_locale: 'en',
  variables: [
    { name: 'name', type: 'text' as const, fallback: 'there' },
    { name: 'order_id', type: 'text' as const },
  ],
  variants: [
    {
      channel: 'sms' as const,
      locale: 'en',
      content: { text: 'Hi {{name}}, order {{order_id}} is ready' },
    },
    {
      channel: 'sms' as const,
      locale: 'de',
      content: { text: 'Hallo {{name}}, Bestellung {{order_id}} ist bereit' },
    },
  ],
}

const newBroadcast = {
  name: 'May news',
  channel: 'sms' as const,
  template: { name: 'may-news' },
  audience: { tags: ['vip'], exclude_tags: ['staff'] },
  scheduled_at: LATER,
  rate: 600,
}

const scheduledBroadcast = {
  id: BROADCAST_ID,
  name: 'May news',
  channel: 'sms' as const,
  status: 'scheduled' as const,
  pause: null,
  template: { name: 'may-news', version: null, locale: null, variables: {} },
  from: null,
  audience: newBroadcast.audience,
  rate: 600,
  scheduled_at: LATER,
  time_zone: null,
  departures: null,
  counts: { audience: null, contacts: 0, accepted: 0, suppressed: 0, no_address: 0, rejected: 0 },
  credits_used: 0,
  created_at: NOW,
  updated_at: NOW,
  started_at: null,
  finished_at: null,
}

const broadcast = {
  ...scheduledBroadcast,
  status: 'finished' as const,
  template: { ...scheduledBroadcast.template, version: 2 },
  counts: {
    ...{ audience: 1260, contacts: 1260, accepted: 1200 },
    ...{ suppressed: 40, no_address: 20, rejected: 0 },
  },
  credits_used: 1200,
  started_at: LATER,
  finished_at: LATER,
}

const draftTemplate = {
  id: '019a9c63-9c60-7c85-8fa6-8e5b1c6a7d10',
  ...newTemplate,
  description: null,
  version: null,
  is_changed: true,
  published_at: null,
  created_at: '2026-11-22T10:00:00.000Z',
  updated_at: '2026-11-22T10:00:00.000Z',
}

const publishedTemplate = {
  ...draftTemplate,
  version: 1,
  is_changed: false,
  published_at: '2026-11-22T10:00:00.000Z',
}

const { variables: _, ...withoutVariables } = publishedTemplate
const listedTemplate = {
  ...withoutVariables,
  variants: newTemplate.variants.map(({ channel, locale }) => ({ channel, locale })),
}

const listedVersion = {
  name: 'order-ready',
  description: null,
  category: 'transactional' as const,
  default_locale: 'en',
  version: 1,
  published_at: '2026-11-22T10:00:00.000Z',
}

const templateVersion = {
  ...listedVersion,
  variables: newTemplate.variables,
  variants: newTemplate.variants,
}

const pendingDomain = {
  ...domain,
  status: 'pending' as const,
  records: domain.records.map((record) => ({ ...record, state: 'pending' as const })),
  checked_at: null,
  verified_at: null,
}

const secret = 'whsec_c2FtcGxlLXNlY3JldC1mb3ItdGhlLWRvY3M='

const delivery = {
  id: DELIVERY_ID,
  webhook_id: WEBHOOK_ID,
  event: 'message.delivered' as const,
  message_id: MESSAGE_ID,
  status: 'delivered' as const,
  trigger: 'event' as const,
  livemode: true,
  attempt_count: 1,
  max_attempts: 11,
  next_attempt_at: null,
  next_attempt_reason: null,
  response_status: 200,
  response_time_ms: 41,
  error: null,
  created_at: EVENT_TIME,
  delivered_at: EVENT_TIME,
}

const sms = {
  to: '+14155552671',
  channel: 'sms' as const,
  content: { text: 'Your order A1 is ready' },
  metadata: { order_id: 'A1' },
}

const owner = {
  id: WORKSPACE_ID,
  email: 'owner@example.com',
  name: null,
  role: 'owner' as const,
  created_at: EARLIER,
}

const member = {
  id: MEMBER_ID,
  email: 'asha@example.com',
  name: 'Asha',
  role: 'developer' as const,
  created_at: NOW,
}

const invitation = {
  id: INVITATION_ID,
  email: 'asha@example.com',
  role: 'developer' as const,
  expires_at: '2026-11-29T10:00:00.000Z',
  created_at: NOW,
}

const loginSession = {
  id: SESSION_ID,
  is_current: true,
  workspace_id: WORKSPACE_ID,
  network: '192.0.2.0/24',
  agent: 'Mozilla/5.0',
  created_at: EARLIER,
  last_seen_at: NOW,
  expires_at: '2026-12-01T08:30:00.000Z',
}

const signInLink = {
  id: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  issuer: 'https://id.example.com',
  subject: '248289761001',
  created_at: EARLIER,
}

const done = (text: string) => ({ data: { message: text } })

/** A request and an answer of every endpoint, for the OpenAPI document. A test decodes each of them. */
export const EXAMPLES: Examples<typeof api> = {
  workspaces: {
    signup: {
      body: {
        email: 'owner@example.com',
        password: 'correct horse battery staple',
        company_name: 'Example Ltd',
        country: 'TZ',
      },
      data: {
        workspace: { ...summary, email_verified: false, credits_balance: 0 },
        message: 'Verification e-mail sent. You can log in before the address is verified.',
      },
    },
    login: {
      body: { email: 'owner@example.com', password: 'correct horse battery staple' },
      data: { workspace: summary, token: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl' },
    },
    logout: done('Logged out. This token is no longer valid.'),
    verify_email: {
      body: { token: 'dG9rZW4tb2YtdGhlLWUtbWFpbA' },
      data: { workspace: summary, message: 'E-mail address verified' },
    },
    resend_verification: {
      body: { email: 'owner@example.com' },
      ...done('If the address belongs to a workspace and is not verified yet, an e-mail is sent.'),
    },
    forgot_password: {
      body: { email: 'owner@example.com' },
      ...done('If the address belongs to a workspace, an e-mail to reset its password is sent.'),
    },
    reset_password: {
      body: { token: 'dG9rZW4tb2YtdGhlLWUtbWFpbA', password: 'a new and long password' },
      ...done('Password changed. Every session has ended: log in with the new password.'),
    },
    change_password: {
      body: {
        current_password: 'correct horse battery staple',
        new_password: 'a new and long password',
      },
      ...done(
        'Password changed. Every session has ended, this one too: log in with the new password.',
      ),
    },
    account: { data: workspace },
    balance: { data: { credits_balance: 99.5, credits_held: 0 } },
    update_account: {
      body: {
        name: 'Example Ltd',
        low_balance: 50,
        verification_daily_credits: 100,
        verification_countries: ['TZ', 'KE'],
        quiet_hours: QUIET_HOURS,
        time_zone: 'Africa/Dar_es_Salaam',
        postal_address: 'Example Ltd\nMain Street 1\nDar es Salaam',
        sms_opt_out_text: 'STOP to end',
      },
      data: {
        ...workspace,
        verification_daily_credits: 100,
        verification_countries: ['TZ', 'KE'],
        quiet_hours: QUIET_HOURS,
        time_zone: 'Africa/Dar_es_Salaam',
        postal_address: 'Example Ltd\nMain Street 1\nDar es Salaam',
        sms_opt_out_text: 'STOP to end',
      },
    },
  },
  members: {
    list: { data: { members: [owner, member] } },
    update: { body: { role: 'admin' }, data: { member: { ...member, role: 'admin' } } },
    remove: done('Member removed'),
    end_sessions: {
      body: { current_password: 'correct horse battery staple' },
      ...done('All sessions of the member have ended'),
    },
    make_owner: {
      body: { current_password: 'correct horse battery staple' },
      ...done('The member is the owner now. All sessions of both have ended: log in again.'),
    },
  },
  invitations: {
    list: { data: { invitations: [invitation] } },
    create: {
      body: { email: 'asha@example.com', role: 'developer' },
      data: { invitation },
    },
    delete: done('Invitation withdrawn'),
    accept: {
      body: { token: 'dG9rZW4tb2YtdGhlLWUtbWFpbA', password: 'another long pass phrase' },
      data: { workspace: summary, token: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl' },
    },
  },
  sessions: {
    list: { data: { sessions: [loginSession] } },
    end: done('Session ended'),
    end_all: done('All sessions have ended, this one too: log in again.'),
    end_with_password: {
      body: { current_password: 'correct horse battery staple', id: SESSION_ID },
      ...done('Session ended'),
    },
    links: { data: { links: [signInLink] } },
    unlink: done('The link has ended'),
  },
  api_keys: {
    create: {
      body: { name: 'Production', scopes: ['send_messages', 'read_messages'] },
      data: {
        ...key,
        scopes: [...key.scopes],
        key: 'svc_9fQ2xLmKexampleexampleexampleexample',
        warning: 'Store this key now. It is not shown again.',
      },
    },
    list: {
      data: {
        api_keys: [{ ...key, scopes: [...key.scopes], is_active: true, last_used_at: NOW }],
        pagination: onePage,
        next_after: null,
      },
    },
    deactivate: done('API key deactivated'),
  },
  messages: {
    send: {
      body: sms,
      data: { message_id: MESSAGE_ID, status: 'queued', credits_used: 1, created_at: NOW },
    },
    get: { data: { message } },
    export: { data: { messages: [message], next_after: null } },
    timeline: {
      data: {
        timeline: [
          {
            at: NOW,
            kind: 'ledger',
            type: 'send',
            credits: -1,
            balance_after: 249,
            reference: { type: 'message', id: MESSAGE_ID },
          },
          {
            at: NOW,
            kind: 'status',
            status: 'queued',
            applied: true,
            error_code: null,
            error_message: null,
          },
          {
            at: NOW,
            kind: 'provider',
            provider: 'sandbox',
            attempt: 1,
            outcome: 'accepted',
            error_code: null,
            error_message: null,
            finished_at: NOW,
          },
          {
            at: EVENT_TIME,
            kind: 'webhook',
            delivery_id: DELIVERY_ID,
            webhook_id: WEBHOOK_ID,
            event: 'message.delivered',
            status: 'delivered',
            attempt_count: 1,
            response_status: 200,
            error: null,
            next_attempt_at: null,
            next_attempt_reason: null,
          },
        ],
      },
    },
    cancel: { data: { message: canceled } },
    reschedule: {
      body: { scheduled_at: EVENT_TIME },
      data: { message: { ...waiting, scheduled_at: EVENT_TIME } },
    },
    erase: { data: { message: 'Message erased' } },
    redact: { data: { message: 'Content removed' } },
    estimate: {
      body: sms,
      data: {
        can_send: true,
        block_reason: null,
        recipients: 1,
        sendable: 1,
        blocked: 0,
        credits_needed: 1,
        credits_balance: 249,
        messages: [
          {
            index: 0,
            to: '+14155552671',
            encoding: 'GSM-7',
            characters: 22,
            units: 22,
            segments: 1,
            credits: 1,
            non_gsm_characters: [],
            gsm7_suggestion: null,
            block_reason: null,
          },
        ],
      },
    },
    list: {
      data: { messages: [message], pagination: onePage, next_cursor: null, next_after: null },
    },
  },
  bulks: {
    send: {
      body: {
        channel: 'sms',
        content: { text: 'Hello {{name|there}}, your order {{order_id}} is ready' },
        recipients: [
          '+14155552671',
          { to: '+14155552672', name: 'Asha', variables: { order_id: 'A1' } },
          '+14155552671',
        ],
        defaults: { order_id: 'A0' },
      },
      data: sentBulk,
    },
    get: { data: { bulk } },
    rejected: {
      data: {
        rejected: [
          {
            index: 3,
            to: '0712 345 678',
            error: 'invalid_recipient' as const,
            message: 'Phone number must be in E.164 format',
          },
        ],
        is_stored: true,
        pagination: onePage,
        next_after: null,
      },
    },
    pause: { data: { bulk: { ...bulk, paused_at: NOW } } },
    resume: { data: { bulk } },
    cancel: { data: { bulk, canceled: 1 } },
    retry: { data: { ...sentBulk, total: 1, accepted: 1, duplicates: 0, credits_used: 1 } },
  },
  received: {
    list: {
      data: {
        received: [received],
        pagination: onePage,
        next_after: null,
      },
    },
  },
  contacts: {
    create: { body: contactFields, data: { contact } },
    list: { data: { contacts: [contact], pagination: onePage, next_after: null } },
    import: {
      body: { contacts: [contactFields, { name: 'Without an address' }] },
      data: {
        created: 1,
        updated: 0,
        unchanged: 0,
        rejected: 1,
        errors: [{ index: 1, path: '', message: 'Missing required field: phone or email' }],
      },
    },
    export: { data: { contacts: [contact], next_after: null } },
    get: { data: { contact } },
    update: { body: { tags: ['vip'] }, data: { contact } },
    delete: done('Contact deleted'),
  },
  verifications: {
    start: {
      body: { to: '+14155552671', channel: 'sms', locale: 'en' },
      data: startedVerification,
    },
    check_address: {
      body: { to: '+14155552671', code: '482913' },
      data: { verification_id: VERIFICATION_ID, status: 'approved', attempts_left: 0 },
    },
    check: {
      body: { code: '482913' },
      data: { verification_id: VERIFICATION_ID, status: 'approved', attempts_left: 0 },
    },
    resend: {
      body: { channel: 'voice' },
      data: { ...startedVerification, channel: 'voice', credits_used: 2 },
    },
    cancel: {
      data: {
        verification: { ...verification, status: 'canceled', attempts_left: 0, ended_at: NOW },
      },
    },
    stats: {
      data: {
        since: EARLIER,
        total: { sent: 240, approved: 132, credits_used: 240, conversion: 0.55 },
        countries: [
          { country: 'US', sent: 180, approved: 131, credits_used: 180, conversion: 131 / 180 },
          { country: 'TZ', sent: 60, approved: 1, credits_used: 60, conversion: 1 / 60 },
        ],
        paused: [
          {
            country: 'TZ',
            paused_at: NOW,
            is_active: true,
            ends_at: '2026-11-23T11:00:00.000Z',
            sent: 60,
            approved: 1,
          },
        ],
        funnel: {
          since: EARLIER,
          total: { requested: 200, sent: 198, delivered: 190, approved: 132 },
          countries: [
            { country: 'US', requested: 145, sent: 145, delivered: 140, approved: 131 },
            { country: 'TZ', requested: 55, sent: 53, delivered: 50, approved: 1 },
          ],
          hours: [{ since: NOW, requested: 200, sent: 198, delivered: 190, approved: 132 }],
        },
      },
    },
    get: { data: { verification } },
    list: { data: { verifications: [verification], pagination: onePage, next_after: null } },
  },
  suppressions: {
    list: { data: { suppressions: [suppression], pagination: onePage, next_after: null } },
    add: { body: { channel: 'sms', address: '+14155552671' }, data: { suppression } },
    remove: done('Suppression lifted'),
  },
  broadcasts: {
    create: { body: newBroadcast, data: { broadcast: scheduledBroadcast } },
    preview: {
      body: newBroadcast,
      data: {
        preview: {
          contacts: 1260,
          sendable: 1200,
          suppressed: 40,
          no_address: 20,
          rejected: 0,
          credits_needed: 1200,
          is_estimate: false,
          credits_balance: 5000,
          departures: null,
          template: { name: 'may-news', version: 2, locale: 'en' },
          samples: [
            {
              contact_id: CONTACT_ID,
              to: '+14155552671',
              content: { text: 'Hi Asha, our May offers are here' },
              credits: 1,
              segments: 1,
            },
          ],
          faults: [],
        },
      },
    },
    list: { data: { broadcasts: [broadcast], pagination: onePage, next_after: null } },
    get: {
      data: {
        broadcast,
        results: {
          queued: 0,
          sent: 30,
          delivered: 1160,
          read: 0,
          failed: 10,
          canceled: 0,
          failures: [{ error_code: 'undelivered', count: 10 }],
          unsubscribed: 4,
          credits_refunded: 0,
        },
      },
    },
    update: { body: { rate: 600 }, data: { broadcast: scheduledBroadcast } },
    pause: {
      data: {
        broadcast: {
          ...scheduledBroadcast,
          status: 'paused',
          pause: { reason: 'requested', message: 'A request paused it.' },
        },
      },
    },
    resume: { data: { broadcast: scheduledBroadcast } },
    cancel: {
      data: { broadcast: { ...scheduledBroadcast, status: 'canceled', finished_at: NOW } },
    },
  },
  templates: {
    create: { body: newTemplate, data: { template: draftTemplate } },
    list: {
      data: { templates: [listedTemplate], pagination: onePage, next_after: null },
    },
    get: { data: { template: publishedTemplate } },
    update: {
      body: { description: 'Sent when an order can be collected' },
      data: { template: { ...publishedTemplate, is_changed: true } },
    },
    publish: { body: {}, data: { version: templateVersion } },
    push: {
      body: { templates: [newTemplate] },
      data: {
        templates: [
          { name: 'order-ready', change: 'created', changed: [], is_published: true, version: 1 },
        ],
      },
    },
    preview: {
      body: {
        name: 'order-ready',
        channel: 'sms',
        locale: 'de-AT',
        variables: { name: 'Asha', order_id: 'A1' },
      },
      data: {
        preview: {
          channel: 'sms',
          locale: 'de',
          content: { text: 'Hallo Asha, Bestellung A1 ist bereit' },
          missing: [],
          encoding: 'GSM-7',
          segments: 1,
          credits: 1,
        },
      },
    },
    versions: { data: { versions: [listedVersion], pagination: onePage, next_after: null } },
    version: { data: { version: templateVersion } },
    delete: done('Template deleted'),
  },
  domains: {
    create: { body: { domain: 'example.com' }, data: { domain: pendingDomain } },
    list: { data: { domains: [domain], pagination: onePage, next_after: null } },
    get: { data: { domain } },
    verify: { data: { domain } },
    rotate: {
      data: {
        domain: {
          ...domain,
          records: [
            ...domain.records,
            {
              purpose: 'dkim_next' as const,
              type: 'TXT' as const,
              name: 'svc8d20e47c._domainkey.example.com',
              value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEB',
              is_required: true,
              state: 'pending' as const,
              found: null,
            },
          ],
        },
      },
    },
    delete: done('Domain removed'),
  },
  webhooks: {
    create: {
      body: {
        url: 'https://example.com/webhooks/svc',
        events: ['message.delivered', 'message.failed'],
        mode: 'live',
      },
      data: { webhook: { ...webhook, last_success_at: null, secret } },
    },
    list: { data: { webhooks: [webhook], pagination: onePage, next_after: null } },
    events: {
      data: {
        events: [
          {
            name: 'message.delivered',
            description: EVENTS['message.delivered'].description,
            example: {
              event: 'message.delivered',
              data: { ...EVENTS['message.delivered'].example },
            },
          },
        ],
      },
    },
    get: { data: { webhook } },
    update: { body: { events: ['*'] }, data: { webhook: { ...webhook, events: ['*'] } } },
    delete: done('Webhook deleted'),
    rotate_secret: {
      data: {
        webhook: { ...webhook, secret, previous_secret_ends_at: '2026-11-23T10:00:00.000Z' },
      },
    },
    enable: { data: { webhook } },
    test: {
      data: {
        delivery: {
          ...delivery,
          event: 'webhook.test',
          message_id: null,
          status: 'pending',
          trigger: 'test',
          attempt_count: 0,
          max_attempts: 1,
          next_attempt_at: NOW,
          next_attempt_reason: 'due',
          response_status: null,
          response_time_ms: null,
          delivered_at: null,
        },
      },
    },
    deliveries: { data: { deliveries: [delivery], pagination: onePage, next_after: null } },
    delivery: {
      data: {
        delivery: {
          ...delivery,
          payload: {
            event: 'message.delivered',
            data: { ...EVENTS['message.delivered'].example },
          },
          attempts: [
            {
              number: 1,
              started_at: EVENT_TIME,
              duration_ms: 41,
              response_status: 200,
              response_body: 'ok',
              error: null,
            },
          ],
        },
      },
    },
    retry: {
      data: {
        delivery: {
          ...delivery,
          status: 'pending',
          next_attempt_at: NOW,
          next_attempt_reason: 'due',
        },
      },
    },
    recover: { body: { since: EARLIER }, data: { recovered: 12, has_more: false } },
    health: {
      data: {
        health: {
          period: '24h',
          unit: 'hour',
          attempts: 200,
          succeeded: 199,
          success_rate: 0.995,
          p50_ms: 91,
          p99_ms: 861,
          points: [{ since: NOW, attempts: 200, succeeded: 199, p50_ms: 91, p99_ms: 861 }],
          failures: [
            {
              delivery_id: DELIVERY_ID,
              event: 'message.delivered',
              attempt: 1,
              at: NOW,
              duration_ms: 120,
              response_status: 500,
              response_body: 'Internal Server Error',
              error: 'status_500',
            },
          ],
          failing_since: NOW,
          disabled_at: null,
          disabled_reason: null,
        },
      },
    },
  },
  events: {
    list: {
      data: {
        events: [
          {
            id: EVENT_ID,
            event: 'message.delivered',
            data: { ...EVENTS['message.delivered'].example },
            created_at: EVENT_TIME,
          },
        ],
        next_after: '1207',
      },
    },
  },
  billing: {
    packages: {
      data: {
        packages: [
          {
            id: 'starter',
            name: 'Starter',
            description: '1,000 credits',
            credits: 1000,
            bonus_credits: 50,
            price: { amount: 1000, currency: 'USD' },
          },
        ],
      },
    },
    checkout: {
      body: { package_id: 'starter', success_url: 'https://example.com/thanks' },
      data: {
        purchase_id: PURCHASE_ID,
        session_id: 'cs_test_a1b2c3',
        checkout_url: 'https://checkout.example.com/c/cs_test_a1b2c3',
        expires_at: '2026-11-23T10:00:00.000Z',
      },
    },
    export: { data: { transactions: [transaction], next_after: null } },
    transactions: {
      data: {
        transactions: [transaction],
        pagination: onePage,
        next_after: null,
      },
    },
    notify: { data: { received: true } },
  },
  audit: {
    list: {
      data: {
        audit_entries: [
          {
            id: '019a9c5e-2e10-7d41-8b62-4a1d7e2c3f0a',
            action: 'api_key.created',
            actor: { kind: 'session', id: null, name: 'ops@example.com' },
            address: '192.0.2.7',
            target: { type: 'api_key', id: KEY_ID },
            details: { name: 'Production' },
            request_id: '0c7a3f5e-5d1f-4d7e-9d0b-2c1a4b7e8f90',
            created_at: EARLIER,
          },
        ],
        pagination: onePage,
        next_after: null,
      },
    },
  },
  health: {
    check: {
      data: {
        status: 'ok',
        timestamp: NOW,
        services: { database: 'ok', cache: 'ok', queue: 'ok' },
      },
    },
    live: { data: { status: 'ok' } },
    ready: { data: { status: 'ok' } },
  },
}
