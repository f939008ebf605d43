import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { identityOfKeyId } from '../api-keys/identity-of-key.ts'
import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Data, Form, QueryIn } from '../contract/endpoints/endpoint.ts'
import { pageOf, sliceOf, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { CLIENT_BITS, networkOf } from '../contract/fields/client-network.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { phone } from '../contract/fields/fields.ts'
import { units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import {
  type CodeVerification,
  type ExternalCode,
  verifications as endpoints,
  type VerificationRequest,
  type VerificationStats,
} from '../contract/resources/verifications.ts'
import {
  acceptedOf,
  debitFor,
  faultOf,
  type IdempotentResult,
  idempotencyRecord,
  newMessage,
  recipientsOfOne,
  spendingOf,
  storedResponse,
  watchAccepts,
} from '../messages/acceptance.ts'
import type { BulkParts } from '../messages/bulk-accept.ts'
import { testUseOf } from '../messages/test-usage.ts'
import type { VerificationRow } from '../rows/rows.ts'
import type { CodeSource } from '../rows/verifications.ts'
import type { CodeCheck } from '../rules/check-codes.ts'
import { HOUR_MS } from '../rules/count-changes.ts'
import { SUPPRESSED_TEXT } from '../rules/recipients.ts'
import {
  attemptsLeft,
  codeWindows,
  ended,
  endWhenResent,
  isPending,
  isRecent,
  isSameStep,
  NO_COUNTRY,
  sourceOf,
  type Tally,
  withoutStep,
} from '../rules/verify.ts'
import { idFloor } from '../runtime/runtime.ts'
import { codeOf, digestUnder, isSameCode, sourceOfGiven, withCode } from '../secrets/codes.ts'
import type { CodeKey } from '../secrets/secrets.ts'
import { codeMessage, pinnedTemplate } from './code-message.ts'
import { announce, cancelMessages } from './ends.ts'
import type { FallBack } from './fallbacks.ts'
import { withState } from './pauses.ts'
import { type Started, shownVerification, startedOf } from './records.ts'
import { NOT_FOUND, overError, refusedCode } from './refusals.ts'
import { funnelOf, statsOf, statsSince } from './stats.ts'

type Checked = Data<typeof endpoints.check>

/** One-time codes of workspaces. A key with the mode `test` sees and checks only its own mode. */
export interface Verifications<F extends Form = 'given'> {
  /**
   * Sends a code to an address. When the promise resolves, the verification, its message and the debit are stored. While a
   * code for the address is pending, the same code is sent again, at the earliest at `next_send_at`.
   * @throws SvcError as a send does; `rate_limit_exceeded` for too many codes to an address or from a network; `forbidden`
   * for a paused country.
   */
  start(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.start, F>,
    options?: { idempotency_key?: string | undefined },
  ): Promise<IdempotentResult<Data<typeof endpoints.start>>>
  /**
   * Sends the code of a pending verification again. A repeated request with the same key gets its first answer, and charges
   * nothing. @throws SvcError as `start` does; `not_found`.
   */
  resend(
    identity: KeyIdentity,
    id: string,
    request: BodyIn<typeof endpoints.resend, F>,
    options?: { idempotency_key?: string | undefined },
  ): Promise<IdempotentResult<Data<typeof endpoints.start>>>
  /**
   * Checks a code. One approval ends the verification, and parallel guesses never get more attempts than one after another.
   * @throws SvcError `not_found`, also for a verification that was approved before.
   */
  check(
    identity: KeyIdentity,
    id: string,
    request: BodyIn<typeof endpoints.check, F>,
  ): Promise<Data<typeof endpoints.check>>
  /** Does the same for the newest verification of an address in the last day. */
  checkAddress(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.check_address, F>,
  ): Promise<Data<typeof endpoints.check>>
  /**
   * Sends the code of another service, which checks it itself, by SMS. The limits of an address hold, but not the guard against
   * pumping, because approvals are not known here. The same code for the same address is sent once in a day.
   * @throws SvcError as `start` does.
   */
  deliver(
    identity: KeyIdentity,
    request: ExternalCode,
  ): Promise<IdempotentResult<Data<typeof endpoints.start>>>
  /** The secret with which another service signs requests for a key, in the form of Standard Webhooks. */
  hookSecret(identity: Pick<KeyIdentity, 'workspace_id' | 'api_key_id'>): Promise<string>
  /** Ends a pending verification. @throws SvcError `not_found`; `validation_error` if it has ended. */
  cancel(viewer: Viewer, id: string): Promise<CodeVerification>
  /**
   * Approves a pending verification without its code, for a program that identified the person otherwise.
   * @throws SvcError as `cancel` does.
   */
  approve(viewer: Viewer, id: string): Promise<CodeVerification>
  /** One verification, without its code. @throws SvcError `not_found`. */
  get(viewer: Viewer, id: string): Promise<CodeVerification>
  /** Returns one page, newest first, and the total number. */
  list(
    viewer: Viewer,
    query: QueryIn<typeof endpoints.list, F>,
  ): Promise<{ verifications: CodeVerification[]; total: number; next_after: string | null }>
  /**
   * Messages with codes, approvals and credits of the last days, by country, and how far the verifications came. A test key
   * sees no counts of messages, because tests are not counted, and the funnel of the tests.
   */
  stats(viewer: Viewer, query: QueryIn<typeof endpoints.stats, F>): Promise<VerificationStats>
  /** The pauses of countries in the last day: a workspace sends no codes there, because too few of them were approved. */
  pauses(workspaceId: string): Promise<VerificationStats['paused']>
  /** Sends codes to a country for `hours`, whatever the counts are, also if it is paused. `reason`: for the audit log. */
  allow(
    workspaceId: string,
    country: string,
    hours: number,
    actor?: Actor,
    reason?: string,
  ): Promise<void>
}

/** What a message with a code needs. */
interface Asked {
  /** The next channel of a verification, as its row names it. */
  is_fallback?: boolean
  channel: Channel
  recipient: string
  row: VerificationRow
  resends: string | null
  /** The code of another service. */
  source?: CodeSource
}

interface SendOptions {
  idempotency_key?: string | undefined
  /** The request that another one with the same key must equal. */
  compared?: unknown
  /** The operation of the key. */
  route?: string
}

/** A changed name counts after this time. */
const BRAND_MS = 1_000
const BRANDS_MAX = 10_000

const ROUTE = 'verifications.start'
const RESEND = 'verifications.resend'

export function createVerifications(parts: BulkParts & { key: CodeKey; onQueued: () => void }): {
  verifications: Verifications<'decoded'>
  fallBack: FallBack
} {
  const { storage, runtime, quotas, priceOf, sequences } = parts
  const brands = new Map<string, { brand: string; read_ms: number }>()
  const watched = watchAccepts(runtime.telemetry, parts.tracing)

  /** The name of a workspace in its texts. Each read takes as long as an accept, so names are kept for a short time. */
  async function brandOf(workspaceId: string): Promise<string> {
    const now_ms = runtime.elapsed()
    const known = brands.get(workspaceId)
    if (known && now_ms - known.read_ms < BRAND_MS) return known.brand
    const workspace = await storage.read.workspaces.byId(workspaceId)
    const brand = workspace?.sender_name ?? workspace?.name ?? ''
    if (brands.size >= BRANDS_MAX) brands.clear()
    brands.set(workspaceId, { brand, read_ms: now_ms })
    return brand
  }

  async function send(
    identity: KeyIdentity,
    { channel, recipient: to, row, resends, is_fallback, source }: Asked,
    options: SendOptions = {},
  ): Promise<IdempotentResult<Started> & { is_sent?: boolean }> {
    const at = row.created_at
    const { idempotency_key: key, compared, route = ROUTE } = options
    const from = senderFor(row, channel)
    const brand = await brandOf(identity.workspace_id)
    // Another channel may have had no text in the requested language.
    const requested = { ...row, locale: row.options.locale ?? row.locale }
    const { content, locale, template } = await codeMessage(storage.read, requested, {
      channel,
      brand,
      has_validity: !source,
    })
    const request = { to, channel, content, ...(from !== undefined && { from }) } as SendRequest
    const fault = await faultOf(parts, identity, request, recipientsOfOne(request))
    if (fault !== null || sequences) {
      const known = await storedResponse(storage, identity, key, {
        route,
        request: compared,
      })
      if (known !== null) return replay(known, row.recipient)
    }
    if (fault !== null) throw invalid(fault.path, fault.message)
    await sequences?.check(identity, channel, [to])
    const price = priceOf(channel, withCode(content, '0'.repeat(row.code_length), channel))(to)
    const message = newMessage(
      identity,
      {
        channel,
        sender: from ?? (channel === 'email' ? brand : null),
        recipient: to,
        content,
        metadata: row.metadata,
        bulk_id: null,
        template,
      },
      {
        price,
        // A code that is not valid any more is not sent.
        schedule: {
          scheduled_at: null,
          expires_at: row.expires_at,
          // Quiet hours do not defer codes.
          deferred_until: null,
        },
        id: runtime.id(),
        at,
      },
    )
    const verification = { ...row, channel, locale }
    const [result] = await storage.hot.accept([
      {
        workspace_id: identity.workspace_id,
        debit: debitFor([message], [price], {
          id: runtime.id(),
          reference: { type: 'message', id: message.id },
        }),
        messages: [message],
        bulk: null,
        rejections: [],
        spending: spendingOf(identity, at),
        test_use: await testUseOf(identity, [message], { quotas, at }),
        idempotency: idempotencyRecord(identity, key, {
          route,
          request: compared,
          response: () => '',
        }),
        code: {
          ...(source && { country: await countryOf(to) }),
          verification,
          resends,
          ...(is_fallback && { is_fallback }),
          source,
          response: ({ verification, message }) => {
            const answer = startedOf(verification, message?.credits_used ?? units(0))
            // The answers of idempotency name no address, so that an erasure finds nothing in them.
            return JSON.stringify(endpoints.start.data.encode({ ...answer, to: '' }))
          },
        },
      },
    ])
    if (
      result &&
      'verification' in result &&
      result.verification &&
      result.outcome !== 'code_over'
    ) {
      const isSent = result.outcome === 'accepted'
      if (result.outcome === 'accepted' && result.canceled) {
        await cancelMessages(parts, result.canceled)
      }
      const credits_used = isSent ? message.credits_used : units(0)
      return {
        data: startedOf(result.verification, credits_used),
        replayed: false,
        is_sent: isSent,
      }
    }
    if (result?.outcome === 'country_paused') await pause(identity, result, at)
    const { outcome, ...settled } = acceptedOf(refusedCode(result), at)
    if (outcome === 'replayed')
      return replay((settled as { response: string }).response, row.recipient)
    throw invalid('to', SUPPRESSED_TEXT)
  }

  /** The key is made after the request was accepted, so that a refusal changes nothing. */
  async function withTestCode(
    { workspace_id, mode }: KeyIdentity,
    data: Started,
  ): Promise<Started> {
    if (mode === 'live') return data
    const row = await storage.read.verifications.byId(workspace_id, data.verification_id)
    if (!row?.seed) return data
    return { ...data, test_code: codeOf(await parts.key.get(), sourceOf(row)) }
  }

  /** Pauses a country whose codes are not approved, with an event, once. */
  async function pause(
    { workspace_id }: KeyIdentity,
    { country, counts, ends_at }: { country: string; counts: Tally | null; ends_at: Date },
    at: Date,
  ): Promise<void> {
    if (counts === null) return
    const isNoted = await storage.write(async (stores) => {
      const row = { workspace_id, country, paused_at: at, ...counts, allowed_until: null }
      if (!(await stores.verifications.notePause(row, codeWindows(at).recent))) return false
      await announce(stores, runtime.id, {
        event: 'verification.paused',
        workspace_id,
        data: { country, ...counts, ends_at, livemode: true, occurred_at: at },
      })
      return true
    })
    if (!isNoted) return
    runtime.log.warn({ workspace_id, country, ...counts }, 'codes to a country are paused')
    parts.onQueued()
  }

  async function checkCode(
    { workspace_id, mode }: KeyIdentity,
    of: CodeCheck['of'],
    code: string,
  ): Promise<Checked> {
    // Without a key, no message had a code: the database alone would reveal what is right under an empty key.
    const key = await parts.key.known()
    const at = runtime.now()
    const [checked] = await storage.hot.checkCodes([
      {
        workspace_id,
        livemode: mode === 'live',
        of,
        isRight(row) {
          // An unknown verification takes the time of a known one.
          const source = row?.seed ? sourceOf(row) : { seed: '', length: code.length }
          const isTestCode = row?.livemode === false && code === '0'.repeat(row.code_length)
          const isSame = isSameCode(code, codeOf(key ?? '', source))
          return (isSame && key !== null) || isTestCode
        },
        at,
      },
    ])
    runtime.telemetry?.codeChecked(checked?.status ?? 'not_found', mode)
    if (!checked) throw new SvcError('not_found', NOT_FOUND)
    const { status, verification } = checked
    if (status === 'approved') runtime.telemetry?.codeApproved(verification.channel, mode)
    // The only message of a code that was given was sent.
    const mayWait = status !== 'approved' || (verification.messages?.length ?? 1) > 1
    const endsNow = verification.ended_at?.getTime() === at.getTime()
    if (endsNow && mayWait) await cancelMessages(parts, verification)
    if (status === 'used') {
      throw new SvcError('not_found', 'This verification was approved before: a code works once')
    }
    return { verification_id: verification.id, status, attempts_left: attemptsLeft(verification) }
  }

  /** Changes the channels that are tried next, unless they have changed since `seen` was read. */
  async function changeFallback(
    seen: VerificationRow,
    change: Pick<VerificationRow, 'fallback' | 'fallback_at'>,
  ): Promise<void> {
    await storage.write(async ({ verifications }) => {
      const row = await verifications.lock(seen.workspace_id, seen.id)
      if (!row || !isSameStep(row, seen)) return
      await verifications.changeFallback({ ...row, ...change })
    })
  }

  const fallBack: FallBack = async (row, status) => {
    const at = runtime.now()
    const { workspace_id, id, api_key_id, livemode, fallback } = row
    const [channel] = fallback ?? []
    if (!channel || !isPending(row, at) || status === 'delivered' || status === 'read') {
      return changeFallback(row, { fallback, fallback_at: null })
    }
    const identity =
      api_key_id === null
        ? null
        : await identityOfKeyId({ storage, runtime }, workspace_id, api_key_id)
    if (identity === null || (identity.mode === 'live') !== livemode) {
      return changeFallback(row, { fallback: null, fallback_at: null })
    }
    try {
      await watchedSend(identity, await askedAgain(row, channel, { is_fallback: true }))
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      const { code, message } = error
      const about = { workspace_id, verification_id: id, channel, code, reason: message }
      runtime.log.info(about, 'a channel of a code was skipped')
      const rest = withoutStep(row).fallback
      await changeFallback(row, { fallback: rest, fallback_at: rest === null ? null : at })
    }
  }

  /** A further message of a verification; the next channel does not extend its life. @throws SvcError if it has no address for the channel. */
  async function askedAgain(
    row: VerificationRow,
    channel: Channel,
    more: { is_fallback?: boolean } = {},
  ): Promise<Asked> {
    const { recipient, other_recipient, options } = row
    const isMail = channel === 'email'
    const address = [recipient, other_recipient].find((one) => one?.includes('@') === isMail)
    if (!address) {
      throw invalid(
        'channel',
        'A code for a number is sent by sms, whatsapp or voice, and one for an e-mail address by email',
      )
    }
    const country = isMail ? null : (row.country ?? (await countryOf(address)))
    const at = runtime.now()
    const expires_at = more.is_fallback ? row.expires_at : endWhenResent(row, row.expires_in, at)
    return {
      ...more,
      channel,
      recipient: isMail ? (options.to ?? address) : address,
      row: { ...row, country, created_at: at, expires_at },
      resends: row.id,
    }
  }

  async function byId(viewer: Viewer, id: string): Promise<VerificationRow> {
    const view = viewOf(viewer)
    const row = seen(view, await storage.read.verifications.byId(view.workspace_id, id))
    if (!row) throw new SvcError('not_found', NOT_FOUND)
    return row
  }

  function mineOnly({ mode }: KeyIdentity, row: VerificationRow | null): VerificationRow | null {
    return row && row.livemode === (mode === 'live') ? row : null
  }

  async function newRow(
    identity: KeyIdentity,
    request: VerificationRequest,
    recipient: string,
  ): Promise<VerificationRow> {
    const { workspace_id, api_key_id, mode } = identity
    const { channel, locale, code_length, expires_in, client_ip, metadata = {} } = request
    const { from, template, domain, app_hash, fallback = [], fallback_after } = request
    const other = fallback.find(({ to }) => to !== undefined)?.to ?? null
    const mail = channel === 'email' ? request.to : other
    const at = runtime.now()
    return {
      workspace_id,
      id: runtime.id(),
      api_key_id,
      livemode: mode === 'live',
      channel,
      recipient,
      locale: locale ?? 'en',
      options: {
        ...(mail?.includes('@') && { to: mail }),
        ...(from !== undefined && { from, from_channel: channel }),
        ...{ locale, template, domain, app_hash },
        ...(fallback.length > 0 && { fallback_after }),
      },
      status: 'pending',
      seed: runtime.bytes(16).toString('base64url'),
      code_length,
      attempts: 0,
      sent_at: [],
      message_id: '',
      credits_used: units(0),
      country: channel === 'email' ? null : await countryOf(recipient),
      client_network: client_ip === undefined ? null : networkOf(client_ip, CLIENT_BITS),
      metadata,
      expires_in,
      created_at: at,
      updated_at: at,
      expires_at: new Date(at.getTime() + expires_in * 1000),
      ended_at: null,
      fallback: fallback.length > 0 ? fallback.map(({ channel }) => channel) : null,
      fallback_at: null,
      other_recipient: other === null ? null : addressOf(other),
      messages: [],
      code_removed: false,
    }
  }

  const verifications: Verifications<'decoded'> = {
    async start(identity, request, options = {}) {
      const { channel } = request
      const recipient = addressOf(request.to)
      const to = channel === 'email' ? request.to : recipient
      const { template } = request
      if (typeof template === 'object') {
        // A repeated request gets its first answer, whatever became of the template.
        const record = { route: ROUTE, request }
        const known = await storedResponse(storage, identity, options.idempotency_key, record)
        if (known !== null) {
          const repeated = replay(known, recipient)
          return { ...repeated, data: await withTestCode(identity, repeated.data) }
        }
      }
      const row = await newRow(identity, request, recipient)
      row.options.template = await pinnedTemplate(storage.read, row)
      const asked = { channel, recipient: to, row, resends: null }
      const sent = await watchedSend(identity, asked, { ...options, compared: request })
      return { ...sent, data: await withTestCode(identity, sent.data) }
    },
    async resend(identity, id, request, options = {}) {
      const row = mineOnly(identity, await byId(identity, id))
      if (!row) throw new SvcError('not_found', NOT_FOUND)
      const { idempotency_key: key } = options
      const compared = { id, ...request }
      // The verification may have ended since the first request, or its last channel may be another one.
      const known = await storedResponse(storage, identity, key, {
        route: RESEND,
        request: compared,
      })
      const sent =
        known === null
          ? await watchedSend(identity, await askedAgain(row, request.channel ?? row.channel), {
              ...options,
              route: RESEND,
              compared,
            })
          : replay(known, row.recipient)
      return { ...sent, data: await withTestCode(identity, sent.data) }
    },
    async deliver(identity, { to, code }) {
      const key = await parts.key.get()
      const seed = runtime.bytes(16).toString('base64url')
      const message = { channel: 'sms', expires_in: 600, fallback_after: 60 } as const
      const asked = { ...message, to, code_length: code.length }
      const at = runtime.now()
      const row = ended({ ...(await newRow(identity, asked, to)), country: null }, 'external', at)
      // A digest without the key would tell the code.
      const digest = digestUnder(key, `external\n${identity.workspace_id}\n${to}\n${code}`)
      return watchedSend(
        identity,
        {
          channel: 'sms',
          recipient: to,
          row,
          resends: null,
          source: sourceOfGiven(code, key, seed),
        },
        { idempotency_key: `external-${digest.toString('hex')}`, compared: { to } },
      )
    },
    async hookSecret({ workspace_id, api_key_id }) {
      const digest = digestUnder(await parts.key.get(), `hook\n${workspace_id}\n${api_key_id}`)
      return `whsec_${digest.toString('base64')}`
    },
    check: (identity, id, { code }) => checkCode(identity, { id }, code),
    checkAddress(identity, { to, code }) {
      const since = codeWindows(runtime.now()).recent
      return checkCode(identity, { recipient: addressOf(to), since }, code)
    },
    async cancel(viewer, id) {
      const { workspace_id } = await byId(viewer, id)
      const row = await storage.write(async ({ verifications }) => {
        const found = await verifications.lock(workspace_id, id)
        const at = runtime.now()
        if (!found || !isPending(found, at)) throw overError(found)
        const canceled = ended(found, 'canceled', at)
        await verifications.change(canceled)
        return canceled
      })
      await cancelMessages(parts, row)
      return shownVerification(row, runtime.now())
    },
    async approve(viewer, id) {
      const { workspace_id, livemode } = await byId(viewer, id)
      const isRight = () => true
      const [checked] = await storage.hot.checkCodes([
        { workspace_id, livemode, of: { id }, isRight, at: runtime.now() },
      ])
      if (checked?.status !== 'approved') throw overError(checked?.verification ?? null)
      runtime.telemetry?.codeApproved(checked.verification.channel, livemode ? 'live' : 'test')
      await cancelMessages(parts, checked.verification)
      return shownVerification(checked.verification, runtime.now())
    },
    async get(viewer, id) {
      return shownVerification(await byId(viewer, id), runtime.now())
    },
    async list(viewer, query) {
      const { workspace_id, livemode } = viewOf(viewer)
      const { status, channel, to } = query
      const recipient = to === undefined ? undefined : addressOf(to)
      const filter = { livemode, status, channel, recipient }
      const slice = sliceOf(query)
      const [found, total] = await Promise.all([
        storage.read.verifications.list(workspace_id, filter, withNext(slice)),
        storage.read.verifications.count(workspace_id, filter),
      ])
      const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
      const now = runtime.now()
      return { verifications: rows.map((row) => shownVerification(row, now)), total, next_after }
    },
    async stats(viewer, { days }) {
      const { workspace_id, livemode } = viewOf(viewer)
      const now = runtime.now()
      const since = statsSince(now, days)
      const isLive = livemode !== false
      const limit = LIMITS.verifications_counted
      const [counts, paused, progress] = await Promise.all([
        isLive ? storage.read.verifications.totals(workspace_id, since) : [],
        isLive ? verifications.pauses(workspace_id) : [],
        storage.read.verifications.progress(workspace_id, {
          livemode: isLive,
          since_id: idFloor(since),
          limit,
        }),
      ])
      return { ...statsOf(since, counts), paused, funnel: funnelOf(since, progress) }
    },
    async pauses(workspaceId) {
      const now = runtime.now()
      const stored = await storage.read.verifications.pauses(workspaceId)
      const pauses = await withState(storage, stored, now)
      return pauses
        .filter((one) => one.allowed_until === null && isRecent(one, now))
        .map(({ country, paused_at, is_active, ends_at, sent, approved }) => {
          return { country, paused_at, is_active, ends_at, sent, approved }
        })
    },
    async allow(workspaceId, country, hours, actor = SERVICE, reason) {
      const now = runtime.now()
      // A whole hour, as the counts are by hour: from then on, each message counts.
      const end_ms = now.getTime() + hours * HOUR_MS
      const allowed_until = new Date(Math.ceil(end_ms / HOUR_MS) * HOUR_MS)
      const pause = { paused_at: now, sent: 0, approved: 0, allowed_until }
      await storage.write(async ({ verifications, audit }) => {
        await verifications.allow({ workspace_id: workspaceId, country, ...pause })
        const change = {
          workspace_id: workspaceId,
          action: 'verification.allowed',
          target: { type: 'country', id: country },
          details: { hours, ...(reason !== undefined && { reason }) },
        } as const
        await audit.record(auditRow(runtime, actor, change))
      })
    },
  }
  return { verifications, fallBack }

  function watchedSend(
    identity: KeyIdentity,
    asked: Asked,
    options: SendOptions = {},
  ): Promise<IdempotentResult<Started>> {
    let isSent = false
    return watched(
      asked.channel,
      async () => {
        const { is_sent = false, ...result } = await send(identity, asked, options)
        isSent = is_sent
        if (asked.resends === null && !result.replayed) {
          runtime.telemetry?.codeStarted(asked.channel, identity.mode)
        }
        return result
      },
      ({ message_id }) => ({ message_ids: isSent ? [message_id] : [], bulk_id: null }),
    ).catch((error: unknown) => {
      const reason = error instanceof SvcError ? error.reason : undefined
      if (reason) runtime.telemetry?.codeRefused(reason, identity.mode)
      throw error
    })
  }
}

/** The sender of a message; the given one is that of the channel of the start. */
function senderFor(
  { options, channel: last, messages }: VerificationRow,
  channel: Channel,
): string | undefined {
  const its = options.from_channel ?? messages?.[0]?.channel ?? last
  return channel === its ? options.from : undefined
}

function replay(response: string, to: string): IdempotentResult<Started> {
  return { data: { ...endpoints.start.data.decode(JSON.parse(response)), to }, replayed: true }
}

/** A number as it is stored; an e-mail address in lower case. */
function addressOf(to: string): string {
  const number = phone.safeParse(to)
  return number.success ? number.data : emailKey(to)
}

// The metadata of numbers is large, so it is loaded for the first code. Each `import` takes 30 µs.
let loadedNumbers: Promise<typeof import('../prices/country-of.ts')> | null = null

async function countryOf(number: string): Promise<string> {
  loadedNumbers ??= import('../prices/country-of.ts')
  const { countryOf } = await loadedNumbers
  return countryOf(number) ?? NO_COUNTRY
}
