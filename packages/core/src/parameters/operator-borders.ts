import * as z from 'zod'
import type { Actor } from '../audit/entry.ts'
import type { Notification } from '../billing/payment.ts'
import type { SyncOptions } from '../billing/sync-all.ts'
import { httpUrl } from '../contract/fields/fields.ts'
import { LIMITS } from '../contract/limits.ts'
import type { CallbackRequest } from '../contract/outside/provider.ts'
import { AUDIT_ACTIONS } from '../contract/resources/audit.ts'
import { CHANNELS, type Channel } from '../contract/resources/content.ts'
import {
  type PasskeyAssertion,
  type PasskeyRegistration,
  passkeyAssertion,
  passkeyRegistration,
} from '../contract/resources/members.ts'
import { messagesFor } from '../contract/resources/messages.ts'
import type { DoubtfulChoice, StandstillOptions } from '../control/dispatch-control.ts'
import type { Adjustment, Grant } from '../credits/bookings.ts'
import type { TermsChange } from '../credits/credits.ts'
import type { HoldRequest } from '../credits/holding.ts'
import type { KeptMail } from '../mail/sandbox-mailer.ts'
import type { Operators } from '../operators/operators.ts'
import type { ErasureOptions } from '../retention/erasure.ts'
import type { PasskeySite } from '../second-factor/passkeys.ts'
import type { ResealOptions } from '../secrets-at-rest/secrets-at-rest.ts'
import type { Counting } from '../storage/ports/hot.ts'
import type { OperatorAuditFilter, WhichPurchases } from '../storage/ports/stores.ts'
import type { Inactivity } from '../workspaces/sessions.ts'
import { takes, takesAtOnce } from './at-border.ts'
import {
  actor,
  actorSchema,
  body,
  checked,
  fields,
  idOfA,
  name,
  operatorSlice,
  type Reader,
  workspaceId,
} from './readers.ts'

const { units, text, note, callback, signal } = fields
const channel = z.enum(CHANNELS)
/** How a session of a browser ends without a sign-out. */
export const inactivity = checked<Inactivity | undefined>(
  'inactivity',
  z.strictObject({ idle_s: z.int().min(1), is_passive: z.boolean().optional() }).optional(),
)
const amountOrNull = units.nullable().optional()
const noteOrNull = note.nullable().optional()

/** The workspaces whose names one call may ask for. */
const IDS_MAX = 1_000

/** How the functions for operators, which have no endpoint, read their parameters. Unknown fields are refused. */
export function operatorBorders() {
  return {
    workspaces: {
      list: takes(operatorSlice),
      search: takes(checked<string>('text', note), operatorSlice),
      byEmail: takes(name('email')),
      names: takes(checked<readonly string[]>('ids', z.array(z.string()).max(IDS_MAX))),
    },
    credits: creditBorders(),
    audit: {
      ofAll: takes(checked<OperatorAuditFilter>('', auditFilter), operatorSlice),
      noteSettings: takes(
        checked<Readonly<Record<string, string>>>('settings', z.record(z.string(), z.string())),
      ),
    },
    billing: billingBorders(),
    providers: providerBorders(),
    overviews: {
      overview: takes(),
      queues: takes(checked<number>('limit', z.int().min(1).max(1_000))),
      troubles: takes(
        checked<number>('limit', z.int().min(1).max(1_000)),
        checked<{ channel?: Channel | undefined } | undefined>(
          'options',
          z.strictObject({ channel: channel.optional() }).optional(),
        ),
      ),
    },
    operators: operatorsBorders(),
    recipients: {
      look: takes(name('address'), checked<ErasureOptions | undefined>('options', lookOptions)),
      erase: takes(
        name('address'),
        checked<(ErasureOptions & { forget_suppressions?: boolean | undefined }) | undefined>(
          'options',
          eraseOptions,
        ),
        actor,
      ),
    },
    dispatch: {
      pause: takes(),
      isPaused: takesAtOnce(),
      stop: takes(checked<{ reason: string; backup_at?: Date | undefined }>('', stopping), actor),
      standstill: takes(checked<StandstillOptions | undefined>('options', standstill)),
      doubtful: takes(),
      doubtfulMessages: takesAtOnce(),
      resume: takes(
        checked<DoubtfulChoice | null | undefined>(
          'choice',
          z.enum(['send', 'cancel']).nullable().optional(),
        ),
        actor,
      ),
    },
    unsubscribe: { look: takes(token), take: takes(token), undo: takes(token) },
    mails: {
      list: takesAtOnce(),
      onMail: takesAtOnce(checked<(mail: KeptMail) => void>('listener', callback)),
      idle: takes(),
    },
    count: takes(checked<Omit<Counting, 'now' | 'elapsed_ms'>[]>('', z.array(counting))),
    secret: takes(name('name')),
    secretsAtRest: {
      status: takes(),
      encrypt: takes(reseal),
      decrypt: takes(reseal),
      discard: takes(reseal),
    },
    ping: takes(),
    databaseFault: takesAtOnce(),
    databaseReplicas: takesAtOnce(),
    startDispatch: takes(),
  }
}

const auditFilter = z.strictObject({
  action: z.enum(Object.keys(AUDIT_ACTIONS) as [string, ...string[]]).optional(),
  from: z.date().optional(),
  until: z.date().optional(),
  workspace_id: z.guid().optional(),
})
const stopping = z.strictObject({ reason: text, backup_at: z.date().optional() })
const standstill = z
  .strictObject({
    provider: text.optional(),
    sender: text.optional(),
    onProgress: callback.optional(),
    signal: z.instanceof(AbortSignal).optional(),
  })
  .optional()
const erasure = { workspace_id: z.guid().optional(), onProgress: callback.optional() }
const lookOptions = z.strictObject(erasure).optional()
const eraseOptions = z
  .strictObject({ ...erasure, forget_suppressions: z.boolean().optional() })
  .optional()
const counting = z.strictObject({
  key: text,
  window_ms: z.int().min(1),
  add: z.union([z.literal(0), z.literal(1)]),
})
const reseal = checked<ResealOptions | undefined>(
  'options',
  z
    .strictObject({
      signal: signal.optional(),
      onProgress: callback.optional(),
      actor: actorSchema,
    })
    .optional(),
)

/** A token of a link. A value that is not a text is an unknown token. */
function token(given: unknown): string {
  return typeof given === 'string' && given.length <= 1_000 ? given : ''
}

const origin = checked<string>('origin', httpUrl)
const title = z.string().min(1).max(LIMITS.passkey_name_length)
const newPasskey = checked<{ registration: PasskeyRegistration; name: string }>(
  '',
  z.strictObject({ registration: passkeyRegistration, name: title }),
)

/** How the functions of passkeys read their parameters. `one` reads a person, and `adding` one who adds a passkey. */
export function passkeyBorders<P, A>(one: Reader<P>, adding: Reader<A>) {
  const current = checked<{ current_password: string }>(
    '',
    z.strictObject({ current_password: z.string().max(LIMITS.password_length_max) }),
  )
  return {
    passkeys: takes(one),
    beginPasskey: takes(
      one,
      current,
      checked<PasskeySite>('', z.strictObject({ origin: httpUrl, brand: text })),
    ),
    addPasskey: takes(adding, newPasskey, origin, actor),
    renamePasskey: takes(one, name('passkeyId'), checked<string>('name', title)),
    removePasskey: takes(one, name('passkeyId'), current, actor),
    signInWithPasskey: takes(
      checked<{ assertion: PasskeyAssertion; password?: string | undefined }>(
        '',
        z.strictObject({
          assertion: passkeyAssertion,
          password: z.string().max(LIMITS.password_length_max).optional(),
        }),
      ),
      origin,
      actor,
    ),
  }
}

/** The token of a session that stays; a member has none here. */
function tokenOrNone(given: unknown): string | null {
  return given == null ? null : token(given)
}

function operatorsBorders() {
  const named = { name: text, password: z.string().max(LIMITS.password_length_max) }
  const added = z.strictObject({ ...named, expires_at: z.date().nullable().optional() })
  const secret = checked<string>('password', named.password)
  const current = z.strictObject({ current_password: named.password })
  return {
    list: takes(),
    add: takes(checked<Parameters<Operators['add']>[0]>('', added), actor),
    remove: takes(name('name'), actor),
    reset: takes(name('name'), secret, actor),
    changePassword: takes(
      name('name'),
      checked<Parameters<Operators['changePassword']>[1]>(
        '',
        z.strictObject({ current_password: named.password, new_password: named.password }),
      ),
      actor,
    ),
    beginTotp: takes(name('name'), checked<{ current_password: string }>('', current)),
    confirmTotp: takes(name('name'), checked<string>('code', text), actor, tokenOrNone),
    endTotp: takes(
      name('name'),
      checked<Parameters<Operators['endTotp']>[1]>('', current.extend({ code: text.optional() })),
      actor,
    ),
    ...passkeyBorders(name('name'), name('name')),
    addPasskey: takes(name('name'), newPasskey, origin, actor, tokenOrNone),
    beginPasskeySignIn: takes(
      origin,
      checked<{ name: string; password: string } | undefined>('', z.strictObject(named).optional()),
      actor,
    ),
    nameOfPasskey: takes(name('credentialId')),
    signIn: takes(
      checked<Parameters<Operators['signIn']>[0]>(
        '',
        z.strictObject({ ...named, code: text.optional() }),
      ),
      actor,
    ),
    knownNetwork: takes(name('name'), checked<string | null>('address', note.nullable())),
    ofToken: takes(token, inactivity),
    note: takes(
      checked<'ledger.verified' | 'backup.made'>('act', z.enum(['ledger.verified', 'backup.made'])),
      checked<Actor>('actor', actorSchema.unwrap()),
    ),
    signOut: takes(token, actor),
  }
}

function creditBorders() {
  const grant = z.strictObject({
    amount: units,
    id: text.optional(),
    actor: text,
    description: note.optional(),
    expires_at: z.date().optional(),
  })
  const adjustment = z.strictObject({
    amount: units,
    id: text,
    actor: text,
    reason: note,
    force: z.boolean().optional(),
  })
  const terms = z.strictObject({
    credit_limit: units.optional(),
    daily_limit: amountOrNull,
    low_balance: z.literal('default').or(units).nullable().optional(),
    status: z.enum(['active', 'frozen']).optional(),
    reason: note.optional(),
  })
  const hold = z.strictObject({
    message_id: text,
    n: z.int().min(0),
    amount: units,
    expires_at: z.date(),
    channel: text,
    quantity: z.number().nullable(),
    unit_price: units.nullable(),
    actor: noteOrNull,
    description: noteOrNull,
  })
  return {
    grant: takes(workspaceId, checked<Grant>('', grant), actor),
    adjust: takes(workspaceId, checked<Adjustment>('', adjustment)),
    setTerms: takes(workspaceId, checked<TermsChange>('', terms), actor),
    account: takes(workspaceId),
    entries: takes(workspaceId, operatorSlice),
    holds: takes(workspaceId, operatorSlice),
    lots: takes(workspaceId),
    hold: takes(workspaceId, checked<HoldRequest>('', hold)),
    settle: takes(
      workspaceId,
      name('messageId'),
      checked<{ amount: Grant['amount']; actor?: string | null | undefined }>(
        '',
        z.strictObject({ amount: units, actor: noteOrNull }),
      ),
    ),
    void: takes(
      workspaceId,
      name('messageId'),
      checked<{ actor?: string | null | undefined } | undefined>(
        'options',
        z.strictObject({ actor: noteOrNull }).optional(),
      ),
    ),
  }
}

function billingBorders() {
  const which = z.strictObject({
    workspace_id: z.guid().optional(),
    status: z.enum(['pending', 'paid', 'failed', 'expired', 'refunded', 'disputed']).optional(),
    in_review: z.boolean().optional(),
    named: note.optional(),
  })
  const sync = z
    .strictObject({
      since: z.date().optional(),
      workspaceId: z.guid().optional(),
      onProgress: callback.optional(),
    })
    .optional()
  const notification = z.object({
    body: z.instanceof(Uint8Array, { error: 'body must be bytes' }),
    signature: z.string().optional(),
  })
  const purchase = idOfA('Purchase')
  const reason = checked<string | undefined>('reason', note.optional())
  return {
    notify: takes(checked<Notification>('', notification)),
    bySession: takes(name('sessionId')),
    purchase: takes(workspaceId, purchase),
    purchases: takes(checked<WhichPurchases>('', which), operatorSlice),
    refund: takes(workspaceId, purchase, actor, reason),
    check: takes(workspaceId, purchase, actor, reason),
    sync: takes(checked<SyncOptions | undefined>('options', sync)),
  }
}

function providerBorders() {
  const sender = note.optional()
  const callbackRequest = z.object({
    method: z.enum(['GET', 'POST']),
    url: z.string(),
    headers: z.record(z.string(), z.string().optional()),
    body: z.instanceof(Uint8Array, { error: 'body must be bytes' }),
  })
  const provider = name('name')
  return {
    status: takes(),
    pause: takes(
      provider,
      checked<{ reason: string; sender?: string | undefined }>(
        '',
        z.strictObject({ reason: text, sender }),
      ),
      actor,
    ),
    resume: takes(
      provider,
      checked<{ sender?: string | undefined; reason?: string | undefined } | undefined>(
        'options',
        z.strictObject({ sender, reason: note.optional() }).optional(),
      ),
      actor,
    ),
    check: takes(provider),
    // Any provider may be tried, also one that makes calls.
    send: takes(provider, body(messagesFor({ voice: true }).send)),
    callbackLimits: takesAtOnce(),
    callback: takes(provider, checked<CallbackRequest>('', callbackRequest)),
  }
}
