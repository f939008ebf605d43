import * as z from 'zod'
import type { TagQuery } from '../contacts/contacts.ts'
import type { ImportOptions } from '../contacts/import.ts'
import type { FileOptions } from '../contacts/read-contacts.ts'
import { type ApiOptions, apiFor } from '../contract/api.ts'
import type { Body, Endpoint } from '../contract/endpoints/endpoint.ts'
import type { Slice } from '../contract/endpoints/paging.ts'
import { ASSIGNED_ROLES } from '../contract/endpoints/roles.ts'
import { SvcError } from '../contract/errors.ts'
import { httpUrl, phone, text, uuid } from '../contract/fields/fields.ts'
import { LIMITS } from '../contract/limits.ts'
import { spendingFilter, statementMonth } from '../contract/resources/billing.ts'
import {
  type BroadcastStatus,
  type RecipientsQuery,
  recipientsQuery,
} from '../contract/resources/broadcasts.ts'
import { CHANNELS, type Channel } from '../contract/resources/content.ts'
import { emailBulk } from '../contract/resources/email-bulk.ts'
import type { EventKind } from '../contract/resources/events.ts'
import { messageExport, messageSearch, newSavedFilter } from '../contract/resources/messages.ts'
import { personHistory, personSearch } from '../contract/resources/people.ts'
import { templateName } from '../contract/resources/template-use.ts'
import { type ApprovalQuery, approvalQuery } from '../contract/resources/templates.ts'
import { type ExternalCode, externalCode } from '../contract/resources/verifications.ts'
import { SUBSCRIPTIONS } from '../contract/resources/webhooks.ts'
import type { CoreEvent, EventPageOptions, EventsOptions, HandlerOptions } from '../events/feed.ts'

import type { SimulatedMessage } from '../inbound/received-messages.ts'
import type { DocumentRequest } from '../remote-files/remote-files.ts'
import { whenReady } from '../runtime/awaitable.ts'
import type { Members } from '../workspaces/members.ts'
import type { FilterOwner } from '../workspaces/saved-filters.ts'
import type { OidcPerson } from '../workspaces/sign-in.ts'
import type { TokenPurpose } from '../workspaces/token.ts'
import type { Session } from '../workspaces/workspaces.ts'
import { takes, takesAtOnce } from './at-border.ts'
import { inactivity, operatorBorders, passkeyBorders } from './operator-borders.ts'
import {
  actor,
  body,
  checked,
  fields,
  id,
  identity,
  keyed,
  name,
  query,
  type Reader,
  shortBody,
  slice,
  sliceFields,
  viewer,
  workspaceId,
} from './readers.ts'

const made = new Map<boolean, ReturnType<typeof makeBorders>>()

/** How each function of the core reads its parameters: made once in a process, because the schemas took a seventh of a start. */
export function bordersOf({ voice }: Pick<ApiOptions, 'voice'>) {
  const known = made.get(voice) ?? makeBorders(apiFor({ voice }))
  made.set(voice, known)
  return known
}

function makeBorders(api: Api) {
  const operator = operatorBorders()
  return {
    ...operator,
    workspaces: { ...operator.workspaces, ...workspaceBorders(api.workspaces) },
    members: memberBorders(api),
    savedFilters: savedFilterBorders(),
    apiKeys: apiKeyBorders(api.api_keys),
    billing: { ...operator.billing, ...billingBorders(api.billing) },
    audit: {
      ...operator.audit,
      list: takes(workspaceId, query(api.audit.list.query)),
    },
    messages: messageBorders(api),
    received: {
      list: takes(viewer(api.received.list), query(api.received.list.query)),
      get: takes(viewer(api.received.list), id({ not_found: 'Message not found' } as Endpoint)),
      conversations: takes(
        viewer(api.received.list),
        checked<Pick<Slice, 'limit' | 'after'>>(
          '',
          z.object({ limit: sliceFields.limit, after: sliceFields.after }),
        ),
      ),
      simulate: takes(viewer(api.received.list), checked<SimulatedMessage>('', simulated)),
    },
    verifications: verificationBorders(api.verifications),
    templates: templateBorders(api.templates),
    broadcasts: broadcastBorders(api.broadcasts),
    webhooks: webhookBorders(api.webhooks),
    domains: domainBorders(api.domains),
    contacts: contactBorders(api.contacts),
    people: {
      find: takes(workspaceId, query(personSearch)),
      get: takes(workspaceId, id(api.contacts.get)),
      history: takes(viewer(api.messages.list), id(api.contacts.get), query(personHistory)),
    },
    files: {
      fetch: takes(checked<string>('url', httpUrl)),
      ask: takes(checked<DocumentRequest>('request', documentRequest)),
    },
    suppressions: suppressionBorders(api.suppressions),
    ...eventBorders(api.events),
  }
}

function savedFilterBorders() {
  const owner = checked<FilterOwner>(
    'owner',
    z.strictObject({ workspace_id: z.guid(), user_id: fields.note }),
  )
  const filter = body({ body: newSavedFilter })
  const one = id({ not_found: 'Saved filter not found' } as Endpoint)
  return {
    list: takes(owner),
    add: takes(owner, filter),
    change: takes(owner, one, filter),
    remove: takes(owner, one),
  }
}

const documentRequest = z.strictObject({
  url: httpUrl,
  form: z.string().max(LIMITS.body_bytes).nullable(),
  headers: z.record(z.string(), z.string()),
})

const simulated = z.strictObject({
  channel: z.enum(['sms', 'whatsapp']),
  sender: phone,
  recipient: text(LIMITS.sender_name_length),
  text: text(LIMITS.whatsapp_text_length),
})

/** The longest time for work in flight: an hour. A timer would take 25 days as the maximum, and 1 ms for more. */
const GRACE_MAX_MS = 60 * 60_000

/** The options of `close`. */
export const closeOptions = checked<{ grace_ms?: number } | undefined>(
  'options',
  z.strictObject({ grace_ms: z.int().min(0).max(GRACE_MAX_MS).optional() }).optional(),
)

type Api = ReturnType<typeof apiFor>

function workspaceBorders(api: Api['workspaces']) {
  return {
    signup: takes(body(api.signup), actor),
    create: takes(body(api.signup), actor),
    login: takes(body(api.login), actor),
    knownNetwork: takes(name('email'), checked<string | null>('address', fields.note.nullable())),
    logout: takes(
      checked<Session>('', z.object({ ...sessionName, workspace_id: z.guid(), ends_at: z.date() })),
      actor,
    ),
    account: takes(workspaceId),
    update: takes(workspaceId, body(api.update_account), actor),
    verifyEmail: takes(body(api.verify_email), actor),
    linkOf: takes(
      checked<TokenPurpose>('purpose', z.enum(['verify_email', 'reset_password'])),
      name('token'),
    ),
    resendVerification: takesAtOnce(shortBody(api.resend_verification)),
    forgotPassword: takesAtOnce(shortBody(api.forgot_password)),
    resetPassword: takes(body(api.reset_password), actor),
    changePassword: takes(workspaceId, body(api.change_password), actor),
  }
}

const sessionName = { user_id: z.guid(), session_hash: fields.text }

function memberBorders({
  members: api,
  invitations,
  sessions,
}: Pick<Api, 'members' | 'invitations' | 'sessions'>) {
  const member = id(api.update)
  const login = checked<{ user_id: string; workspace_id: string }>(
    '',
    z.object({ user_id: z.guid(), workspace_id: z.guid() }),
  )
  const inWorkspace = { ...sessionName, workspace_id: z.guid() }
  return {
    list: takes(workspaceId),
    workspacesOf: takes(member),
    update: takes(workspaceId, member, body(api.update), actor),
    rename: takes(
      workspaceId,
      member,
      checked<string | null>('name', text(LIMITS.user_name_length).nullable()),
      actor,
    ),
    remove: takes(workspaceId, member, actor),
    makeOwner: takes(workspaceId, member, body(api.make_owner), actor),
    invitations: takes(workspaceId),
    invite: takes(workspaceId, body(invitations.create), actor),
    withdraw: takes(workspaceId, id(invitations.delete), actor),
    invitationOf: takes(name('token')),
    accept: takes(body(invitations.accept), actor),
    roleOf: takes(
      checked<Parameters<Members['roleOf']>[0]>(
        '',
        z.object({ ...inWorkspace, token_version: z.int() }),
      ),
      inactivity,
    ),
    listSession: takes(
      checked<Parameters<Members['listSession']>[0]>(
        '',
        z.object({ ...inWorkspace, ends_at: z.date(), agent: z.string().nullable() }),
      ),
      actor,
    ),
    sessions: takes(checked<Parameters<Members['sessions']>[0]>('', z.object(sessionName))),
    endSession: takes(login, id(sessions.end), actor),
    endSessions: takes(login, actor),
    checkPassword: takes(member, checked<string | undefined>('password', fields.text.optional())),
    endSessionsOf: takes(workspaceId, member, actor),
    links: takes(member),
    unlink: takes(member, name('linkId'), actor),
    secondFactor: takes(member),
    beginTotp: takes(
      member,
      checked<Parameters<Members['beginTotp']>[1]>('', z.object({ current_password: fields.text })),
    ),
    confirmTotp: takes(login, checked<string>('code', fields.text), actor),
    endTotp: takes(
      member,
      checked<Parameters<Members['endTotp']>[1]>(
        '',
        z.object({ current_password: fields.text, otp: fields.text.optional() }),
      ),
      actor,
    ),
    ...passkeyBorders(member, login),
    preparePasskeys: takes(),
    emailOfPasskey: takes(name('credentialId')),
    beginPasskeySignIn: takes(
      checked<string>('origin', httpUrl),
      checked<{ email: string; password: string } | undefined>(
        '',
        z.object({ email: fields.text, password: fields.text }).optional(),
      ),
      actor,
    ),
    resetSecondFactor: takes(name('email'), actor),
    signIn: takes(checked<OidcPerson>('', oidcPerson), actor),
  }
}

const claim = z.string().min(1).max(LIMITS.oidc_claim_length)
const oidcPerson = z.object({
  issuer: claim,
  subject: claim,
  verified_email: z.string().max(LIMITS.oidc_claim_length).nullable(),
  name: z.string().max(LIMITS.oidc_claim_length).nullable(),
  assigned: z
    .object({ workspace_id: z.guid(), role: z.enum(ASSIGNED_ROLES).nullable() })
    .nullable(),
})

function apiKeyBorders(api: Api['api_keys']) {
  // A wrong type must be refused like a wrong key, not like a wrong request.
  const credential = [asText, asText] as const
  return {
    create: takes(workspaceId, body(api.create), actor),
    list: takes(workspaceId, slice),
    deactivate: takes(workspaceId, id(api.deactivate), actor),
    authenticate: takes(...credential),
    authenticateBasic: takes(asText, ...credential),
    identify: takes(asText, asText, asText),
    authenticateKnown: takesAtOnce(...credential),
    expectedOf: takesAtOnce(...credential),
    flush: takes(),
    close: takes(),
  }
}

function asText(given: unknown): string {
  return typeof given === 'string' ? given : ''
}

function billingBorders(api: Api['billing']) {
  return {
    packages: takesAtOnce(),
    checkout: takes(workspaceId, body(api.checkout), keyed),
    transactions: takes(
      workspaceId,
      checked<Slice & { is_funding?: boolean | undefined }>(
        '',
        z.object({ ...sliceFields, is_funding: z.boolean().optional() }),
      ),
    ),
    exportTransactions: takesAtOnce(workspaceId, query(api.export.query.omit({ format: true }))),
    spending: takes(workspaceId, query(spendingFilter)),
    statement: takes(workspaceId, checked<string>('month', statementMonth)),
  }
}

function verificationBorders(api: Api['verifications']) {
  return {
    start: takes(identity(api.start), body(api.start), keyed),
    resend: takes(identity(api.resend), id(api.resend), body(api.resend), keyed),
    check: takes(identity(api.check), id(api.check), body(api.check)),
    checkAddress: takes(identity(api.check_address), body(api.check_address)),
    cancel: takes(viewer(api.cancel), id(api.cancel)),
    approve: takes(viewer(api.cancel), id(api.cancel)),
    get: takes(viewer(api.get), id(api.get)),
    list: takes(viewer(api.list), query(api.list.query)),
    stats: takes(viewer(api.stats), query(api.stats.query)),
    deliver: takes(identity(api.start), checked<ExternalCode>('', externalCode)),
    hookSecret: takes(identity(api.start)),
    pauses: takes(workspaceId),
    allow: takes(
      workspaceId,
      checked<string>('country', z.string().regex(/^[A-Z]{2}$/)),
      checked<number>(
        'hours',
        z
          .int()
          .min(1)
          .max(24 * 30),
      ),
      actor,
      checked<string | undefined>('reason', fields.note.optional()),
    ),
  }
}

function messageBorders({ messages: api, bulks }: Pick<Api, 'messages' | 'bulks'>) {
  return {
    send: takes(identity(api.send), body(api.send), keyed),
    sendForRecord: takes(identity(api.send), body(api.send), keyed),
    get: takes(viewer(api.get), id(api.get)),
    whole: takes(viewer(api.get), id(api.get)),
    list: takes(viewer(api.list), query(api.list.query)),
    listShort: takes(viewer(api.list), query(api.list.query)),
    search: takes(viewer(api.list), query(messageSearch)),
    export: takesAtOnce(viewer(api.list), query(messageExport)),
    recentFailures: takes(viewer(api.list)),
    history: takes(viewer(api.list), checked<'day' | 'hour'>('unit', z.enum(['day', 'hour']))),
    breakdown: takes(viewer(api.list), checked<'day' | 'hour'>('unit', z.enum(['day', 'hour']))),
    timeline: takes(viewer(api.timeline), id(api.timeline)),
    cancel: takes(viewer(api.cancel), id(api.cancel)),
    reschedule: takes(viewer(api.reschedule), id(api.reschedule), body(api.reschedule)),
    erase: takes(viewer(api.erase), id(api.erase), actor),
    redact: takes(viewer(api.redact), id(api.redact), actor),
    estimate: takes(identity(api.estimate), body(api.estimate)),
    bulks: {
      send: takes(identity(bulks.send), body(bulks.send), keyed),
      sendEmails: takes(identity(bulks.send), body(emailBulk), keyed),
      preview: takes(identity(bulks.send), body(bulks.send)),
      get: takes(viewer(bulks.get), id(bulks.get)),
      list: takes(
        viewer(bulks.get),
        checked<Slice & { id?: string; channel?: Channel }>(
          '',
          z.object({
            ...sliceFields,
            id: uuid.optional(),
            channel: z.enum(CHANNELS).optional(),
          }),
        ),
      ),
      rejected: takes(viewer(bulks.rejected), id(bulks.rejected), slice),
      paused: takes(viewer(bulks.get)),
      pause: takes(viewer(bulks.pause), id(bulks.pause)),
      resume: takes(viewer(bulks.resume), id(bulks.resume)),
      cancel: takes(viewer(bulks.cancel), id(bulks.cancel)),
      retry: takes(identity(bulks.retry), id(bulks.retry)),
    },
  }
}

function webhookBorders(api: Api['webhooks']) {
  const own = viewer(api.get)
  const webhook = id(api.get)
  const delivery = id(api.delivery)
  const { status, event } = api.deliveries.query.shape
  const page = z.object({ status, event, ...sliceFields })
  return {
    create: takes(viewer(api.create), body(api.create), actor),
    list: takes(viewer(api.list), slice),
    get: takes(own, webhook),
    health: takes(own, webhook, query(api.health.query)),
    update: takes(viewer(api.update), webhook, body(api.update), actor),
    rotateSecret: takes(viewer(api.rotate_secret), webhook, actor),
    enable: takes(viewer(api.enable), webhook, actor),
    delete: takes(viewer(api.delete), webhook, actor),
    test: takes(viewer(api.test), webhook),
    deliveries: takes(own, webhook, checked<z.output<typeof page>>('', page)),
    nextAttemptAt: takes(own, webhook),
    failsSinceEnabled: takes(own, webhook),
    delivery: takes(own, webhook, delivery),
    requests: takes(own, webhook, delivery),
    retry: takes(viewer(api.retry), webhook, delivery),
    recover: takes(viewer(api.recover), webhook, body(api.recover), actor),
    ofMessage: takes(workspaceId, id({ not_found: 'Message not found' } as Endpoint)),
    events: takesAtOnce(),
  }
}

function domainBorders(api: Api['domains']) {
  const one = id(api.get)
  return {
    create: takes(workspaceId, body(api.create), actor),
    list: takes(workspaceId, slice),
    get: takes(workspaceId, one),
    verify: takes(workspaceId, one, actor),
    rotate: takes(workspaceId, one, actor),
    delete: takes(workspaceId, one, actor),
    broken: takes(checked<number>('limit', z.int().min(1).max(1_000))),
  }
}

function templateBorders(api: Api['templates']) {
  const one: Reader<string> = (given) => {
    const { success, data } = templateName.safeParse(given)
    if (!success) throw new SvcError('not_found', api.get.not_found)
    return data
  }
  return {
    create: takes(workspaceId, body(api.create), actor),
    list: takes(workspaceId, slice),
    get: takes(workspaceId, one),
    update: takes(workspaceId, one, body(api.update), actor),
    publish: takes(workspaceId, one, body(api.publish), actor),
    push: takes(workspaceId, body(api.push), actor),
    preview: takes(workspaceId, body(api.preview)),
    approval: takes(workspaceId, checked<ApprovalQuery>('', approvalQuery)),
    versions: takes(workspaceId, one, slice),
    version: takes(workspaceId, one, checked<number>('version', z.int().min(1))),
    delete: takes(workspaceId, one, actor),
  }
}

function broadcastBorders(api: Api['broadcasts']) {
  const { status } = api.list.query.shape
  const one = id(api.get)
  return {
    create: takes(identity(api.create), body(api.create), keyed, actor),
    preview: takes(identity(api.preview), body(api.preview)),
    list: takes(
      viewer(api.list),
      checked<Slice & { status?: BroadcastStatus }>('', z.object({ status, ...sliceFields })),
    ),
    get: takes(viewer(api.get), one),
    endedTemplates: takes(workspaceId),
    recipients: takes(viewer(api.get), one, checked<RecipientsQuery>('', recipientsQuery)),
    update: takes(identity(api.update), one, body(api.update), actor),
    pause: takes(viewer(api.pause), one, actor),
    resume: takes(identity(api.resume), one, actor),
    cancel: takes(viewer(api.cancel), one, actor),
  }
}

const fileBytes = (max: number) =>
  z
    .custom<Uint8Array>((value) => value instanceof Uint8Array, 'bytes must be a Uint8Array')
    .refine(({ length }) => length <= max, `bytes must be at most ${max}`)

const tagName = text(LIMITS.contact_tag_length)
const tagText = z.string().max(LIMITS.contact_tag_length).optional()
const tagPage = z
  .object({ limit: sliceFields.limit, after: tagText, before: tagText })
  .refine(({ after, before }) => after === undefined || before === undefined, {
    error: 'Give one of after and before',
  })

function contactBorders(api: Api['contacts']) {
  const { search, tag } = api.list.query.shape
  const filter = query(z.object({ search, tag, newer_than: api.get.params.shape.id.optional() }))
  const contact = id(api.get)
  const readImport = body(api.import)
  const imported: Reader<Body<typeof api.import>['contacts']> = (contacts) =>
    whenReady(readImport({ contacts }), (read) => read.contacts)
  const options = { dry_run: z.boolean().optional() }
  const columns = z.record(z.string(), z.string()).optional()
  const { default_country } = api.import.takes_csv.shape
  const charset = z.string().max(LIMITS.email_content_type_length).optional()
  const ofFile = { charset, default_country, columns }
  return {
    create: takes(workspaceId, body(api.create)),
    list: takes(workspaceId, filter, slice),
    tags: takes(workspaceId, checked<TagQuery>('', tagPage)),
    replaceTag: takes(
      workspaceId,
      checked<string>('tag', tagName),
      checked<string | null>('by', tagName.nullable()),
    ),
    byEmail: takes(workspaceId, checked<string>('email', z.string().max(LIMITS.email_length))),
    get: takes(workspaceId, contact),
    update: takes(workspaceId, contact, body(api.update)),
    delete: takes(workspaceId, contact),
    import: takes(
      workspaceId,
      imported,
      checked<ImportOptions | undefined>('options', z.strictObject(options).optional()),
    ),
    importFile: takes(
      workspaceId,
      checked<Uint8Array>('bytes', fileBytes(LIMITS.contact_import_body_bytes)),
      checked<(FileOptions & ImportOptions) | undefined>(
        'options',
        z.strictObject({ ...options, ...ofFile }).optional(),
      ),
    ),
    previewFile: takes(
      workspaceId,
      checked<Uint8Array>('bytes', fileBytes(LIMITS.contact_preview_bytes)),
      checked<FileOptions | undefined>('options', z.strictObject(ofFile).optional()),
    ),
    export: takesAtOnce(workspaceId, filter),
    forSending: takes(
      workspaceId,
      checked<readonly string[]>(
        'contactIds',
        z.array(fields.note).max(LIMITS.bulk_recipients_max),
      ),
    ),
  }
}

function eventBorders(api: Api['events']) {
  const options = { workspace_id: z.guid().optional() }
  const kinds = z.enum(SUBSCRIPTIONS)
  return {
    on: takesAtOnce(
      checked<EventKind | '*'>('event', kinds),
      checked<(event: CoreEvent) => unknown>('handler', fields.callback),
      checked<HandlerOptions | undefined>('options', z.strictObject(options).optional()),
    ),
    events: takesAtOnce(
      checked<EventsOptions | undefined>(
        'options',
        z
          .strictObject({
            ...options,
            after: z.string().max(LIMITS.cursor_length).nullable().optional(),
            signal: fields.signal.optional(),
          })
          .optional(),
      ),
    ),
    eventPage: takes(
      viewer(api.list),
      checked<EventPageOptions | undefined>(
        'options',
        z
          .strictObject({
            after: api.list.query.shape.after,
            signal: fields.signal.optional(),
          })
          .optional(),
      ),
    ),
  }
}

function suppressionBorders(api: Api['suppressions']) {
  const { channel, reason, search } = api.list.query.shape
  return {
    list: takes(workspaceId, query(z.object({ channel, reason, search })), slice),
    add: takes(workspaceId, body(api.add)),
    remove: takes(workspaceId, (given: unknown) => {
      const result = api.remove.params.safeParse(given)
      if (result.success) return result.data
      throw new SvcError('not_found', api.remove.not_found)
    }),
  }
}
